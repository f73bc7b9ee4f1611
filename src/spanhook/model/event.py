"""An operation as it was at one moment: what a subscription is given, which hears of it later."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from spanhook.model import _payload
from spanhook.model._clock import clock
from spanhook.model.adapter import Args, Kwargs
from spanhook.model.copying import held
from spanhook.model.event_names import alias_of
from spanhook.model.operation import WATCHING, Operation
from spanhook.model.record import Record
from spanhook.model.usage import Usage
from spanhook.semconv import Phase, Status


class Event(Operation):
    """An operation as it was at one moment, for a subscription that hears of it later.

    Everything is read when it is asked for. An id that nobody has given is an empty string.
    """

    _status: Status | Literal[""] = ""
    _ended: tuple[Any, BaseException | None] = None, None

    def __init__(self, record: Record, phase: Phase) -> None:
        super().__init__(record)
        self._locked = WATCHING
        self._phase: Phase = phase
        kwargs = record.kwargs
        self._held = held(record.args), held(kwargs) if kwargs else kwargs
        if phase != "pre":
            self._status, self._ended = record.status, (held(record.result), record.error)

    # ----------------------------------------------------------------- what has happened

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def status(self) -> Status | Literal[""]:
        return self._status

    @property
    def type(self) -> str:
        """Kind and phase, such as ``agent.invoke.post``, whichever name was subscribed to."""
        return self.event

    @property
    def alias(self) -> str:
        """The short name, such as ``agent:end``; empty where there is none."""
        return alias_of(self.kind, self.phase, self.status)

    @property
    def timestamp(self) -> datetime:
        """When the operation began, or when its call had returned or its stream had ended."""
        record = self._record
        at = record.start_ns if self._phase == "pre" else record.returned_ns or record.end_ns
        since_epoch = record.__dict__.setdefault("epoch_ns", clock.wall() - clock.now())
        return datetime.fromtimestamp((since_epoch + at) / 1e9, UTC)

    # ----------------------------------------------------------------- whose it is

    @property
    def agent_name(self) -> str:
        """The nearest agent around it, or itself; for a job or a schedule, the agent that it runs."""
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
        """The nearest job around it, or itself: its argument ``job_id``, else the id of the run."""
        return _payload.job_id(self._record)

    # ----------------------------------------------------------------- what it was about

    @property
    def input(self) -> Any:
        """A tool's arguments, a model's messages; else the user's last words, or whatever else was given."""
        return _payload.given(self)

    @property
    def output(self) -> Any:
        """What a tool returned, a model's messages; else what was said last, or whatever else was returned."""
        return _payload.returned(self)

    @property
    def usage(self) -> Usage:
        """Tokens and cost of a model's call, or of all calls inside. Zero before the call."""
        return Usage() if self._phase == "pre" else super().usage

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        return {} if self._phase == "pre" else super().usage_by_model

    @property
    def tools_used(self) -> list[str]:
        """The names of the tools executed inside, each once, in the order in which the first call of each ended."""
        return list(self.usage.tools)[: _payload.MOST_TOOLS]

    @property
    def duration(self) -> float:
        return 0.0 if self._phase == "pre" else super().duration

    @property
    def duration_ms(self) -> float:
        """Milliseconds until its call had returned, or its stream had ended. Zero before the call."""
        return round(self.duration * 1000, 3)

    def payload(self) -> dict[str, Any]:
        """All of it by name, for a log, a queue or a webhook; see docs/events.md for what is there when.

        Returns:
            The caller's own. Ids, names, numbers and texts are plain; ``input`` and ``output`` are what the
            application gave and got, whole. Where one of these cannot be read, it is ``None``.
        """
        return _payload.payload(self)

    # ----------------------------------------------------------------- where it is read from

    def _call(self) -> tuple[Args, Kwargs]:
        return self._held

    def _outcome(self) -> tuple[Any, BaseException | None]:
        return self._ended
