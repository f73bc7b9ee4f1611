"""What a hook sees: one unit of agent work, from its request to its outcome.

Each run of a hook gets a view of its own. What it reads is copied, and what it changes is kept in the view until the
engine takes it over, so a hook that failed, timed out or has returned changes nothing.
"""

import weakref
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

from opentelemetry.trace import Span

from spanhook import semconv
from spanhook.errors import HookError, SealedError
from spanhook.model._arrival import check
from spanhook.model._clock import clock
from spanhook.model._kinds import REPLACEABLE, REWRITABLE
from spanhook.model.adapter import Args, Kwargs
from spanhook.model.copying import copied, copied_error
from spanhook.model.decision import DecisionRecord
from spanhook.model.identity import Identity
from spanhook.model.record import Record, Rewritten
from spanhook.model.request import Change, Message, Request, Response
from spanhook.model.usage import Usage
from spanhook.semconv import Kind, Phase, Status

RETURNED = "the hook has returned; a hook changes its operation only while it runs"
TIMED_OUT = "the hook has timed out; the operation goes on without it"
CALLING = "the call is being made; change it before, or its result afterwards"
READING = "it is only to be read here; a hook changes its own operation alone"
FILTERING = "a filter only looks; use @hooks.before or @hooks.after"
WATCHING = "a subscription only watches; use @hooks.before or @hooks.after"

_UNREAD: Any = object()


class Operation:
    """One unit of agent work with a start and an end: one span, and what hooks decide about.

    What is read of it is the reader's own: changing it in place changes nothing, ``replace`` and ``respond`` do. Plain
    data, messages and results are copies; other objects of the application are handed over as they are.
    """

    __slots__ = ("__dict__", "__weakref__", "_answered", "_changed", "_locked", "_record")

    _rewritten: Rewritten | None = None
    _answer: Any = None
    _request: Request | None = None
    _read_from: tuple[Args, Kwargs] = (), {}
    _result: Any = _UNREAD
    _error: Any = _UNREAD
    _response: Response | None = None
    _extras: dict[str, Any] | None = None

    def __init__(self, record: Record) -> None:
        self._record = record
        self._locked = ""  # why nothing can be changed; empty while the hook runs
        self._changed = False  # the hook has asked for something to be different
        self._answered = False

    # ----------------------------------------------------------------- what it is about

    @property
    def kind(self) -> Kind | str:
        """What sort of operation, such as ``tool.execute``, or one of the application's own."""
        return self._record.kind

    @property
    def phase(self) -> Phase:
        """``pre``, ``post`` or ``error``: where in its life it is."""
        return self._record.phase

    @property
    def event(self) -> str:
        """Kind and phase, such as ``tool.execute.pre``."""
        return f"{self.kind}.{self.phase}"

    @property
    def name(self) -> str:
        """The tool, agent or model it works on."""
        return self._record.name

    @property
    def model(self) -> str:
        """The model asked for; empty where there is none."""
        return self._record.model if self._rewritten is None else self._rewritten.model

    @property
    def provider(self) -> str:
        """The provider in the conventions' terms, such as ``openai``."""
        return self._record.provider

    @property
    def agent(self) -> str:
        """The name of the nearest agent around it; empty outside of any."""
        return self._record.agent

    @property
    def tool_call_id(self) -> str:
        """The id that the model gave the tool call; empty where there is none."""
        return str(self._record.attributes.get(semconv.GEN_AI_TOOL_CALL_ID, ""))

    @property
    def identity(self) -> Identity:
        """Tenant, user, session, run and agent ids.

        What ``spanhook.context`` says comes before what the library knows, and that before the operation around.
        """
        return self._record.identity

    @property
    def parent(self) -> "Operation | None":
        """The operation around it, to be read; ``None`` for the outermost."""
        around = self._record.parent
        return None if around is None else view_of(around)

    @property
    def root(self) -> "Operation":
        """The outermost operation around this one, or itself; to be read."""
        op = self
        while (parent := op.parent) is not None:
            op = parent
        return op

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
        """Every decision about it but ``allow``."""
        return self._record.decisions

    @property
    def request(self) -> Request:
        """The request in common terms, read from the library's own when first asked for.

        It is a copy, and the same object until ``replace`` is called, so it can be edited and given to that.
        """
        if self._request is None:
            self._read_from = args, kwargs = self._call()
            self._request = self._record.adapter.request(self._record.instance, args, kwargs).own()
        return self._request

    # ----------------------------------------------------------------- what came of it

    @property
    def status(self) -> Status | Literal[""]:
        """How it ended; empty while it runs."""
        return self._record.status

    @property
    def result(self) -> Any:
        """What the call returned, in the library's own type. For a stream, what it would have returned unstreamed."""
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
    def response(self) -> Response:
        """The result in common terms; empty before the call."""
        if self._response is None:
            self._response = self._respond_in_common()
        return self._response

    def _respond_in_common(self) -> Response:
        record, result = self._record, self._outcome()[0]
        messages = copied(record.adapter.output(result)) if result is not None else []
        told = (record.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_FINISH_REASONS) or ()
        value = None
        if record.kind == "tool.execute":
            value = copied(result if record.raw is None else record.raw)
        return Response(messages, tuple(told), value)

    @property
    def usage(self) -> Usage:
        """Tokens and cost: a model call's own, or the sum of the model calls inside. Zero before the call."""
        return self._record.usage.copied()

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """``usage`` per model that answered; only models that used tokens."""
        return {model: used.copied() for model, used in self._record.usage_by_model.items()}

    @property
    def duration(self) -> float:
        """Seconds from its start until the call had returned or its stream had ended; until now while it lasts."""
        record = self._record
        return ((record.returned_ns or record.end_ns or clock.now()) - record.start_ns) / 1e9

    @property
    def ended_at(self) -> datetime | None:
        """When the call had returned or its stream had ended; ``None`` before."""
        record = self._record
        ended = record.returned_ns or record.end_ns
        if not ended:
            return None
        return datetime.fromtimestamp((clock.wall() - (clock.now() - ended)) / 1e9, UTC)

    # ----------------------------------------------------------------- what hooks share

    @property
    def state(self) -> dict[str, Any]:
        """Shared by the hooks of this one operation, which may change it while they run."""
        if not self._locked:
            return self._record.shared()
        if self._locked is TIMED_OUT:
            raise SealedError(f"op.state was asked for, but {self._locked}")
        return MappingProxyType(self._record.state or {})  # pyright: ignore[reportReturnType]

    @property
    def extras(self) -> dict[str, Any]:
        """Further facts by conventional key.

        ``usage_metadata`` (after a call that used tokens): token counts per model, as LangChain writes them.
        ``metadata``: what the application told the framework about the call, such as the metadata of a
        ``RunnableConfig``.
        """
        if self._extras is None:
            self._extras = self._facts()
        return self._extras

    def _facts(self) -> dict[str, Any]:
        record = self._record
        facts: dict[str, Any] = {}
        if record.adapter.metadata is not None:
            facts["metadata"] = copied(dict(record.adapter.metadata(record.instance, *self._call())))
        if self.phase != "pre" and (used := record.usage_by_model):
            facts["usage_metadata"] = {model: one.as_metadata() for model, one in used.items()}
        return facts

    # ----------------------------------------------------------------- what a hook may do

    def replace(
        self,
        *,
        messages: Sequence[Message] | Sequence[Sequence[Message]] | None = None,
        system: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        inputs: Any = None,
        model: str | None = None,
    ) -> None:
        """Rewrite the request before the call is made. Gates that ran before this hook run once more.

        Args:
            messages: Chat messages in role/parts form (a list of such lists for a batch of prompts).
            system: System instructions.
            arguments: A tool's arguments; those left out of a given mapping are dropped.
            inputs: What an agent, step or store is given.
            model: Another model of the same provider.

        Raises:
            HookError: The call has been made already, operations of this kind or this field of them cannot be
                rewritten, the hook only watches, or the rewritten call does not say what was asked for.
            SealedError: The hook has returned or timed out, or the operation is not its own.
        """
        self._check_open("op.replace()")
        if self.phase != "pre":
            raise HookError(
                f"op.replace() was called in {self.event!r}; a request can only be rewritten before the call"
            )
        record = self._record
        adapter = record.adapter
        if adapter.rewrite is None or self.kind not in REWRITABLE:
            raise HookError(
                f"op.replace() cannot rewrite {self.kind!r}; it can rewrite {', '.join(sorted(REWRITABLE))}"
            )
        change = Change(messages=messages, system=system, arguments=arguments, inputs=inputs, model=model)
        fields = change.fields()
        foreign = [name for name in fields if name not in adapter.takes]
        if foreign or not fields:
            takes = ", ".join(f"{name}=" for name in sorted(adapter.takes))
            given = ", ".join(f"{name}=" for name in foreign) or "nothing"
            raise HookError(f"op.replace() was given {given}; {self.kind} of {adapter.layer} takes {takes}")
        change = copied_change(change)
        args, kwargs = adapter.rewrite(record.instance, *self._call(), change)
        check(adapter, record.instance, args, kwargs, change)
        if self._rewritten is not None:
            fields = (*self._rewritten.fields, *fields)
        self._rewritten = Rewritten(args, kwargs, fields, model or self.model)
        self._request, self._changed = None, True

    def respond(self, value: Any) -> None:
        """Answer instead of the call (in a ``before`` hook), or replace its result (in an ``after`` hook).

        The value may be the library's own result type or plain: text for a model or tool, documents for a retriever.
        Answering skips the call, never the gates that follow.

        Raises:
            HookError: Results of this kind are read-only after the call, the call has failed, or the hook only
                watches.
            SealedError: The hook has returned or timed out, or the operation is not its own.
        """
        self._check_open("op.respond()")
        if self.phase == "error":
            raise HookError(
                f"op.respond() was called in {self.event!r}; to answer a call that failed, use an around hook"
            )
        if self.phase != "pre" and self.kind not in REPLACEABLE:
            raise HookError(
                f"op.respond() was called in {self.event!r}, whose result is read-only; "
                f"results of {', '.join(sorted(REPLACEABLE))} can be replaced"
            )
        self._answer, self._answered, self._changed = value, True, True

    def _check_open(self, what: str) -> None:
        locked = self._locked
        if not locked:
            return
        if locked is WATCHING or locked is FILTERING:
            raise HookError(f"{what} was called, but {locked}")
        raise SealedError(f"{what} was called on {self!r}, but {locked}")

    # ----------------------------------------------------------------- the engine's side of it

    def _call(self) -> tuple[Args, Kwargs]:
        """The call as this hook would have it."""
        rewritten, record = self._rewritten, self._record
        return (record.args, record.kwargs) if rewritten is None else (rewritten.args, rewritten.kwargs)

    def _outcome(self) -> tuple[Any, BaseException | None]:
        return self._record.result, self._record.error

    def _take(self) -> tuple[Rewritten | None, bool, Any]:
        """What the hook has asked for since it was last asked: a rewritten call; whether it answered, and with what."""
        taken = self._rewritten, self._answered, self._answer
        self._rewritten, self._answered, self._answer, self._changed = None, False, None, False
        return taken

    def _reread(self) -> None:
        """Forget what has been read of what others may have changed since: the outcome, and a call rewritten."""
        self._result = self._error = _UNREAD
        self._response = self._extras = None
        if self._read_from[0] is not self._record.args:
            self._request = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and other._record is self._record

    def __hash__(self) -> int:
        return id(self._record)

    def __repr__(self) -> str:
        return repr(self._record)


def view_of(record: Record) -> Operation:
    """The view of an operation for everybody who only reads it."""
    known = record.view
    view = None if known is None else known()
    if view is None:
        view = Operation(record)
        view._locked = READING
        record.view = weakref.ref(view)
    return view


def copied_change(change: Change) -> Change:
    """A change whose values are nobody's but ours."""
    return Change(**{name: copied(getattr(change, name)) for name in change.fields()})
