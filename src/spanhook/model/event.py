"""An operation as it was at one moment: what the handler of a subscription receives."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from spanhook.model import _payload
from spanhook.model._clock import clock
from spanhook.model._later import resolved
from spanhook.model.arguments import Args, Kwargs
from spanhook.model.copying import held
from spanhook.model.delegation import DELEGATION
from spanhook.model.event_names import alias_of
from spanhook.model.failures import words
from spanhook.model.operation import WATCHING, Operation
from spanhook.model.record import Record
from spanhook.model.record_parts import Shared
from spanhook.model.usage import Usage
from spanhook.semconv import Phase, Status

_NOTHING_YET = None, None
_OF_KIND: dict[str, tuple[str, ...]] = {
    "llm.call": ("model",),
    "tool.execute": ("tool_name", "tool_call_id"),
    "agent.delegate": ("parent_agent", "child_agent"),
    "cron.execute": ("cron_id", "execution_id"),
}
_AT_THE_END: dict[str, tuple[str, ...]] = {
    "llm.call": ("prompt_tokens", "completion_tokens"),
    "tool.execute": (),
    "embeddings.create": (),
    "retrieval.query": (),
    "memory.store": (),
}
"""The keys that only payloads of some kinds have."""


class Event(Operation):
    """An operation as it was at one moment, to be read later by the handler of a subscription.

    Nothing is computed before it is asked for. An unknown id is an empty string.
    """

    __slots__ = ("_ended", "_given", "_phase", "_status")

    _status: Status | Literal[""]
    _ended: tuple[Any, BaseException | None]

    def __init__(self, record: Record, phase: Phase) -> None:
        # Does what its base class does, without calling it: the operation waits for this.
        self._record = record
        self._locked = WATCHING
        self._changed = self._answered = False
        self._phase: Phase = phase
        call = record.shared.call
        if call is None or call[0] is not record.args or call[1] is not record.kwargs:
            call = record.part(Shared).call = _hold(record.args, record.kwargs)
        self._given = call
        if phase == "pre":
            self._status, self._ended = "", _NOTHING_YET
        else:
            answered = record.decided.answered or record.decided.replaced
            result = record.whole if answered else record._result
            self._status, self._ended = record.status, (held(result), record.error)

    # ----------------------------------------------------------------- what has happened

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def status(self) -> Status | Literal[""]:
        return self._status

    @property
    def type(self) -> str:
        """Kind and phase, such as ``agent.invoke.post``, even for a subscription by short name."""
        return self.event

    @property
    def alias(self) -> str:
        """The short name, such as ``agent:end``; empty where there is none."""
        return alias_of(self.kind, self.phase, self.status)

    @property
    def timestamp(self) -> datetime:
        """When the operation began; after the call, when it returned or its stream ended."""
        record = self._record
        at = record.start_ns if self._phase == "pre" else record.returned_ns or record.end_ns
        since_epoch = record.part(Shared).__dict__.setdefault("epoch_ns", clock.wall() - clock.now())
        return datetime.fromtimestamp((since_epoch + at) / 1e9, UTC)

    # ----------------------------------------------------------------- whose it is

    @property
    def agent_name(self) -> str:
        """The agent itself, or the nearest enclosing one; for a job or a schedule, the agent that it runs."""
        return _payload.agent_name(self)

    @property
    def conversation_id(self) -> str:
        """The conversation: ``identity.session_id``."""
        return self.identity.session_id

    @property
    def tenant_id(self) -> str:
        """The tenant: ``identity.tenant_id``."""
        return self.identity.tenant_id

    @property
    def run_id(self) -> str:
        """The run: ``identity.run_id``."""
        return self.identity.run_id

    @property
    def job_id(self) -> str:
        """The job itself, or the nearest enclosing one: its argument ``job_id``, else the id of its run."""
        return _payload.job_id(self._record)

    # ----------------------------------------------------------------- of one kind; empty for the others

    @property
    def tool_name(self) -> str:
        """The tool that was executed."""
        return self.name if self.kind == "tool.execute" else ""

    @property
    def prompt_tokens(self) -> int:
        """Input tokens of a model call."""
        return self.usage.input_tokens if self.kind == "llm.call" else 0

    @property
    def completion_tokens(self) -> int:
        """Output tokens of a model call."""
        return self.usage.output_tokens if self.kind == "llm.call" else 0

    @property
    def parent_agent(self) -> str:
        """The agent that delegated."""
        return self.agent if self.kind == DELEGATION else ""

    @property
    def child_agent(self) -> str:
        """The agent that it delegated to; several, with commas between, if one hand-off is to several."""
        return self.name if self.kind == DELEGATION else ""

    @property
    def cron_id(self) -> str:
        """The schedule: the argument ``cron_id`` of its operation."""
        return _payload.argument(self._record, "cron_id") if self.kind == "cron.execute" else ""

    @property
    def execution_id(self) -> str:
        """One execution of a schedule: the argument ``execution_id`` of its operation, else the id of the run."""
        if self.kind != "cron.execute":
            return ""
        return _payload.argument(self._record, "execution_id") or self.run_id

    # ----------------------------------------------------------------- what it was about

    @property
    def input(self) -> Any:
        """A tool's arguments; a model's messages; otherwise the user's last message, or whatever was given instead."""
        return _payload.given(self)

    @property
    def output(self) -> Any:
        """What a tool returned; a model's messages; otherwise the resulting text, or whatever was returned instead."""
        return _payload.returned(self)

    @property
    def usage(self) -> Usage:
        """Tokens and cost of a model call, or of all model calls inside. Zero before the call."""
        return Usage() if self._phase == "pre" else super().usage

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        return {} if self._phase == "pre" else super().usage_by_model

    @property
    def tools_used(self) -> list[str]:
        """Names of the tools executed inside, each once, in the order in which their first calls ended; at most 100."""
        return list(self.usage.tools)[: _payload.MOST_TOOLS]

    @property
    def duration(self) -> float:
        return 0.0 if self._phase == "pre" else super().duration

    @property
    def duration_ms(self) -> float:
        """Milliseconds until the call returned or its stream ended. Zero before the call."""
        return round(self.duration * 1000, 3)

    def payload(self, *, content: bool = True) -> dict[str, Any]:
        """The event as a dict, for a log, a queue or a webhook; docs/events.md lists its keys.

        Args:
            content: Whether ``input`` and ``output`` are in it; otherwise they are not even read.

        Returns:
            A dict that the caller may change. Ids, names, numbers and texts are plain. ``input`` and ``output`` are
            complete, in the application's own types; ``None`` if they cannot be read.
        """
        told: dict[str, Any] = {
            "type": self.type,
            "alias": self.alias,
            "timestamp": self.timestamp.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "agent_name": self.agent_name,
            "conversation_id": self.conversation_id,
            "tenant_id": self.tenant_id,
            "run_id": self.run_id,
            "job_id": self.job_id,
            **{name: getattr(self, name) for name in _OF_KIND.get(self.kind, ())},
        }
        if content:
            told["input"] = _payload.readable(lambda: self.input)
        if self._phase == "pre":
            return told
        told |= {
            "status": self.status,
            **({"output": _payload.readable(lambda: self.output)} if content else {}),
            "usage": self.usage.as_metadata(),
            "duration_ms": self.duration_ms,
            **{name: getattr(self, name) for name in _AT_THE_END.get(self.kind, ("tools_used",))},
        }
        error = self.error
        if self._phase == "error" and error is not None:
            told |= {"error": words(error) or type(error).__name__, "error_type": type(error).__name__}
        return told

    # ----------------------------------------------------------------- where it is read from

    def _call(self) -> tuple[Args, Kwargs]:
        return self._given[2:]

    def _outcome(self) -> tuple[Any, BaseException | None]:
        result, error = self._ended
        return resolved(result), error


def _hold(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs, Args, Kwargs]:
    """A call and a copy of its arguments, shared by all events of an operation: readers get copies of that."""
    return args, kwargs, held(args), held(kwargs, 2) if kwargs else kwargs
