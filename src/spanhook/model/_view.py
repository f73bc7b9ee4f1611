"""What can be read of one operation.

Readers get copies: plain data, messages and results are copied on first access; most are never accessed.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, cast

from opentelemetry.trace import Span

from spanhook import semconv
from spanhook.model._clock import clock
from spanhook.model.adapter import CallContext
from spanhook.model.arguments import Args, Kwargs
from spanhook.model.copying import copied, copied_error
from spanhook.model.decision import DecisionRecord, HookMode
from spanhook.model.encoding import exact_text
from spanhook.model.identity import Identity
from spanhook.model.record import Record
from spanhook.model.request import Request, Response
from spanhook.model.usage import Usage
from spanhook.semconv import Kind, Phase, Status

_UNREAD: Any = object()
_PARAMETER = "gen_ai.request."


class View:
    """What can be read of one operation; subclasses say which."""

    __slots__ = ("__dict__", "__weakref__", "_record")

    _record: Record
    _request: Request | None = None
    _read_from: tuple[Args, Kwargs] = (), {}
    _result: Any = _UNREAD
    _error: Any = _UNREAD
    _response: Response | None = None
    _extras: dict[str, Any] | None = None

    # ----------------------------------------------------------------- what it is about

    @property
    def kind(self) -> Kind | str:
        """The kind of operation, such as ``tool.execute`` or a kind that the application registered."""
        return self._record.kind

    @property
    def phase(self) -> Phase:
        """``pre``, ``post`` or ``error``: where in its lifecycle it is."""
        return self._record.phase

    @property
    def event(self) -> str:
        """Kind and phase, such as ``tool.execute.pre``."""
        return f"{self.kind}.{self.phase}"

    @property
    def name(self) -> str:
        """The tool, agent or model."""
        return self._record.name

    @property
    def names(self) -> tuple[str, ...]:
        """``name``, and then the other names that filters know it by, such as a tool's at its server."""
        return self._record.names or (self._record.name,)

    @property
    def model(self) -> str:
        """The requested model; empty if there is none."""
        return self._record.model

    @property
    def provider(self) -> str:
        """The provider in the conventions' terms, such as ``openai``."""
        return self._record.provider

    @property
    def agent(self) -> str:
        """The name of the nearest enclosing agent; empty outside any agent."""
        return self._record.agent

    @property
    def tool_call_id(self) -> str:
        """The id that the model gave the tool call; empty if there is none."""
        return exact_text(self._record.attributes.get(semconv.GEN_AI_TOOL_CALL_ID, ""))

    @property
    def identity(self) -> Identity:
        """Tenant, user, session, run and agent ids.

        ``spanhook.context`` takes precedence over what the library knows, and that over the parent operation.
        """
        return self._record.identity

    @property
    def span(self) -> Span:
        """The OpenTelemetry span; it may not be recording."""
        return self._record.span

    @property
    def in_hook(self) -> bool:
        """Whether a hook's own code made this call. Hooks are off for it."""
        return self._record.in_hook

    @property
    def decisions(self) -> tuple[DecisionRecord, ...]:
        """Every decision about it except ``allow``."""
        return self._record.decided.records

    @property
    def mode(self) -> HookMode:
        """``"shadow"`` for a hook in shadow mode, whose decisions are recorded but not enforced; else ``"enforce"``."""
        return "enforce" if self._record.shadow is None else "shadow"

    @property
    def shadow_decisions(self) -> tuple[DecisionRecord, ...]:
        """What hooks in shadow would have done, as far as they have seen it; ``Hooks.flush`` waits for them."""
        shadowing = self._record.shadowing
        return () if shadowing is None else tuple(shadowing.decisions)

    @property
    def request(self) -> Request:
        """The request in common terms, read from the library's call on first access.

        It is a copy, and the same object until ``replace`` is called, so you can edit it and pass it to ``replace``.
        """
        if self._request is None:
            self._read_from = args, kwargs = self._call()
            self._request = self._record.adapter.reading.request(self._record.instance, args, kwargs).own()
        return self._request

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of a model call by their names in the conventions, such as ``max_tokens``, as far as given."""
        start = len(_PARAMETER)
        return {name[start:]: value for name, value in self._record.attributes.items() if name.startswith(_PARAMETER)}

    # ----------------------------------------------------------------- its outcome

    @property
    def called(self) -> bool:
        """Whether the call was made; false if a hook refused it or answered instead."""
        return self._record.called

    @property
    def status(self) -> Status | Literal[""]:
        """How it ended; empty while it runs."""
        return self._record.status

    @property
    def result(self) -> Any:
        """What the call returned, in the library's own type. For a stream, the unstreamed equivalent."""
        if self._result is _UNREAD:
            self._result = copied(self._outcome()[0])
        return self._result

    @property
    def error(self) -> BaseException | None:
        """What the call raised, or the ``Reject``."""
        if self._error is _UNREAD:
            error = self._outcome()[1]
            self._error = None if error is None else copied_error(error)
        return self._error

    @property
    def status_code(self) -> int:
        """The HTTP status of a response to a request; 0 before it, and for other operations."""
        return self._of_response("status_code", 0)

    @property
    def response_headers(self) -> dict[str, str]:
        """The headers of a response to a request, by their names in lower case."""
        return self._of_response("headers", {})

    def _of_response(self, name: str, default: Any) -> Any:
        result = self.result if self.kind == "request" else None
        return cast("Mapping[str, Any]", result).get(name, default) if isinstance(result, Mapping) else default

    @property
    def response(self) -> Response:
        """The result in common terms; empty before the call."""
        if self._response is None:
            self._response = self._respond_in_common()
        return self._response

    def _respond_in_common(self) -> Response:
        record, result = self._record, self._outcome()[0]
        messages = copied(record.adapter.reading.output(result)) if result is not None else []
        told = (record.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_FINISH_REASONS) or ()
        value = None
        if record.kind == "tool.execute":
            value = copied(result if record.ending.raw is None else record.ending.raw)
        return Response(messages, tuple(told), value)

    @property
    def usage(self) -> Usage:
        """Tokens and cost: of a model call itself, or the sum of the model calls inside. Zero before the call."""
        return self._record.usage.copied()

    @property
    def own_usage(self) -> Usage | None:
        """What a model call itself used, without model calls made inside it; ``None`` if nothing was reported."""
        record = self._record
        if record.inner.routed:  # it only passed on what others answered, which are operations of their own
            nothing = Usage()
            nothing.charge(0)
            nothing.come_from("framework")
            return nothing
        return None if record.own_usage is None else record.own_usage.copied()

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """``usage`` by answering model; only models that used tokens."""
        return {model: used.copied() for model, used in self._record.usage_by_model.items()}

    @property
    def duration(self) -> float:
        """Seconds from its start until the call returned or its stream ended; until now while it runs."""
        record = self._record
        return ((record.returned_ns or record.end_ns or clock.now()) - record.start_ns) / 1e9

    @property
    def ended_at(self) -> datetime | None:
        """When the call returned or its stream ended; ``None`` before."""
        record = self._record
        ended = record.returned_ns or record.end_ns
        if not ended:
            return None
        return datetime.fromtimestamp((clock.wall() - (clock.now() - ended)) / 1e9, UTC)

    @property
    def extras(self) -> dict[str, Any]:
        """Further facts, by key.

        ``usage_metadata`` (after a call that used tokens): token counts per model, as LangChain writes them.
        ``metadata``: what the application passed to the framework about the call, such as the metadata of a
        ``RunnableConfig``.
        ``config``: the configuration that a run of a graph was given, such as the whole of a ``RunnableConfig``.
        """
        if self._extras is None:
            self._extras = self._facts()
        return self._extras

    def _facts(self) -> dict[str, Any]:
        record = self._record
        facts: dict[str, Any] = {}
        context = record.adapter.context or CallContext()
        for name, read in (("metadata", context.metadata), ("config", context.config)):
            if read is not None:
                facts[name] = copied(dict(read(record.instance, *self._call())))
        if self.phase != "pre" and (used := record.usage_by_model):
            facts["usage_metadata"] = {model: one.as_metadata() for model, one in used.items()}
        return facts

    # ----------------------------------------------------------------- where it is read from

    def _call(self) -> tuple[Args, Kwargs]:
        """The call to read."""
        return self._record.args, self._record.kwargs

    def _outcome(self) -> tuple[Any, BaseException | None]:
        return self._record.whole, self._record.error

    def _is_result(self, value: Any) -> bool:
        """Whether a value is the result that was read here."""
        return self._result is not _UNREAD and value is self._result

    def _reread(self) -> None:
        """Discard what was read and may have changed since: the outcome, and a rewritten call."""
        self._result = self._error = _UNREAD
        self._response = self._extras = None
        if self._read_from[0] is not self._record.args:
            self._request = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and other._record is self._record

    def __hash__(self) -> int:
        return id(self._record)

    def __repr__(self) -> str:
        return repr(self._record)
