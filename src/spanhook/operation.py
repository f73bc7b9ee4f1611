"""What a hook sees: one unit of agent work, from its request to its outcome."""

from collections.abc import Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, Literal

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span

from spanhook import semconv
from spanhook.clock import clock
from spanhook.context import NOBODY, Identity, from_baggage
from spanhook.errors import HookError
from spanhook.records import DecisionRecord, Response
from spanhook.semconv import Coverage, Kind, Phase, Status
from spanhook.shape import REPLACEABLE, REWRITABLE, Args, Attributes, Change, Chunks, Kwargs, Message, Request, Shape
from spanhook.usage import Leaves, Usage


class Operation:
    """One unit of agent work with a start and an end: one span, and what hooks decide about.

    Attributes:
        kind: What sort of operation, such as ``tool.execute``.
        phase: ``pre``, ``post`` or ``error``: where in its life it is.
        name: The tool, agent or model it works on.
        model: The model asked for; empty where there is none.
        provider: The provider in the conventions' terms, such as ``openai``.
        result: What the call returned, in the library's own type. For a stream, what it would have returned unstreamed.
        error: What the call raised, or the ``Reject``.
        status: How it ended; empty while it runs.
        agent: The name of the nearest agent around it; empty outside of any.
        decisions: Every decision about it but ``allow``.
        parent: The operation around it, if any.
        span: The OpenTelemetry span; it may not be recording.
        in_hook: Whether a hook's own code made this call. Hooks are off for it.
    """

    phase: Phase = "pre"
    result: Any = None
    error: BaseException | None = None
    status: Status | Literal[""] = ""
    span: Span = INVALID_SPAN
    agent: str = ""
    in_hook: bool = False
    decisions: tuple[DecisionRecord, ...] = ()

    # The engine's own: not for hooks.
    given: Mapping[str, str] = MappingProxyType({})
    trusts_baggage = False
    plan: Any = None
    coverage: Coverage | None = None
    answer: Any = None
    called = False
    opened = False
    """The stream that its call begins with has been made."""
    accounted = False
    short_circuited = False
    replaced = False
    interrupted = False
    abandoned = False
    decided = False
    ended = False
    loose = False
    """Something inside was left for the reaper to end, which it does before it tells of the run."""
    foreign = False
    watched = False
    """A subscription is running, which must not change anything."""
    undescribed = False
    """What it is about could not be read."""
    routed = False
    streamed = False
    buffered = False
    first_chunk_ns = 0
    end_ns = 0
    end_time_ns: int | None = None
    modified: tuple[str, ...] = ()
    own_usage: Usage | None = None
    overheard: list[Chunks] | None = None
    latch: Any = None
    leaves: Leaves | None = None
    run_decisions: list[semconv.Decision] | None = None
    end_attributes: Attributes | None = None
    _identity: Identity | None = None
    _request: Request | None = None
    _state: dict[str, Any] | None = None
    _extras: dict[str, Any] | None = None
    answered = False
    _answer: Any = None
    _undo: tuple[Args, Kwargs, tuple[str, ...], str] | None = None
    """The request before the hook that is running changed it."""

    def __init__(
        self,
        shape: Shape,
        attributes: Attributes,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        parent: "Operation | None",
        ambient: Identity,
        before: Context,
        start_ns: int,
    ) -> None:
        self.shape = shape
        self.kind: Kind = shape.kind
        self.attributes = attributes
        self.instance = instance
        self.args = args
        self.kwargs = kwargs
        self.parent = parent
        self.ambient = ambient
        self.before = before
        self.start_ns = start_ns
        self._ends = count()

    # ----------------------------------------------------------------- what it is about

    @property
    def name(self) -> str:
        return str(self.attributes.get(self.shape.target_key, ""))

    @property
    def model(self) -> str:
        return str(self.attributes.get(semconv.GEN_AI_REQUEST_MODEL, ""))

    def works_on(self, names: frozenset[str]) -> bool:
        """Whether one of ``names`` is what it works on, among others or alone, or may be."""
        if self.name in names:
            return True
        if self.shape.names is None:
            return False
        several = self.shape.names(self.instance, self.args, self.kwargs)
        return several is None or not names.isdisjoint(several)

    @property
    def provider(self) -> str:
        return str(self.attributes.get(semconv.GEN_AI_PROVIDER_NAME, ""))

    @property
    def identity(self) -> Identity:
        """Tenant, user, session, run and agent ids.

        What ``spanhook.context`` says comes before what the library knows, and that before the operation around.
        """
        known = self._identity
        if known is None:
            known = self._identity = self._identify()
        return known

    def _identify(self) -> Identity:
        parent, ambient, given = self.parent, self.ambient, self.given
        if parent is None:
            if ambient is NOBODY and self.trusts_baggage:
                ambient = from_baggage(self.before)
            around = NOBODY
        else:
            around = parent.identity
            if ambient is parent.ambient and not given:
                return around if around.agent_id == self.agent else around._replace(agent_id=self.agent)
        return Identity(
            ambient.tenant_id or around.tenant_id or given.get("tenant_id", ""),
            ambient.user_id or given.get("user_id", "") or around.user_id,
            ambient.session_id or given.get("session_id", "") or around.session_id,
            around.run_id or given.get("run_id", "") or clock.run_id(),
            self.agent,
            ambient.attributes or around.attributes,
        )

    @property
    def root(self) -> "Operation":
        """The outermost operation around this one, or itself."""
        op = self
        while op.parent is not None:
            op = op.parent
        return op

    @property
    def event(self) -> str:
        """Kind and phase, such as ``tool.execute.pre``."""
        return f"{self.kind}.{self.phase}"

    @property
    def request(self) -> Request:
        """The request in common terms, made from the library's own when first asked for.

        It is a copy: changing it changes nothing, ``replace`` does.
        """
        if self._request is None:
            self._request = self.shape.request(self.instance, self.args, self.kwargs)
        return self._request

    @property
    def response(self) -> Response:
        """The result in common terms; empty before the call."""
        return Response(self.shape.output(self.result) if self.result is not None else ())

    # ----------------------------------------------------------------- what hooks share

    @property
    def state(self) -> dict[str, Any]:
        """Shared by the hooks of this one operation."""
        if self._state is None:
            self._state = {}
        return self._state

    @property
    def extras(self) -> dict[str, Any]:
        """Further facts by conventional key.

        ``usage_metadata`` (after the call): token counts per model, as LangChain writes them. ``metadata``: what the
        application told the framework about the call, such as the metadata of a ``RunnableConfig``.
        """
        if self._extras is None:
            self._extras = {}
            if self.shape.metadata is not None:
                self._extras["metadata"] = dict(self.shape.metadata(self.instance, self.args, self.kwargs))
        if self.phase != "pre" and "usage_metadata" not in self._extras:
            self._extras["usage_metadata"] = {model: one.as_metadata() for model, one in self.usage_by_model.items()}
        return self._extras

    @property
    def usage(self) -> Usage:
        """Tokens and cost: a model call's own, or the sum of the model calls inside. Zero before the call."""
        made = self.called and not self.in_hook
        if self.leaves is not None:
            used = self.leaves.total()
            if self.own_usage is not None:
                used.add_call(self._answered_by, self.own_usage)
            used.tool_calls += int(made and self.kind == "tool.execute")
            return used
        if self.own_usage is not None:
            return self.own_usage
        used = Usage()
        used.llm_calls = int(made and self.kind == "llm.call")
        used.tool_calls = int(made and self.kind == "tool.execute")
        return used

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """``usage`` per model that answered; only models that used tokens."""
        used = self.usage
        per_model = used.by_model
        if not per_model:
            per_model = {self._answered_by: used}
        return {model: one for model, one in per_model.items() if one.total_tokens}

    @property
    def _answered_by(self) -> str:
        return str((self.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_MODEL) or self.model)

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
                rewritten, or the hook is a subscription, which only watches.
        """
        change = Change(messages=messages, system=system, arguments=arguments, inputs=inputs, model=model)
        self._check_watcher("op.replace()")
        if self.phase != "pre":
            raise HookError(
                f"op.replace() was called in {self.event!r}; a request can only be rewritten before the call"
            )
        if self.shape.rewrite is None or self.kind not in REWRITABLE:
            raise HookError(
                f"op.replace() cannot rewrite {self.kind!r}; it can rewrite {', '.join(sorted(REWRITABLE))}"
            )
        fields = change.fields()
        foreign = [name for name in fields if name not in self.shape.takes]
        if foreign or not fields:
            takes = ", ".join(f"{name}=" for name in sorted(self.shape.takes))
            given = f"{', '.join(foreign)}, which this call has not got" if foreign else "nothing to replace"
            raise HookError(f"op.replace() was given {given}; for {self.kind} of {self.shape.layer} it takes {takes}")
        args, kwargs = self.shape.rewrite(self.instance, self.args, self.kwargs, change)
        if self._undo is None:
            self._undo = self.args, self.kwargs, self.modified, self.model
        self._rewrite(args, kwargs, tuple(dict.fromkeys((*self.modified, *fields))), model or self.model)

    def _rewrite(self, args: Args, kwargs: Kwargs, modified: tuple[str, ...], model: str) -> None:
        self.args, self.kwargs, self.modified = args, kwargs, modified
        self._request = None
        if model != self.model:
            self.attributes[semconv.GEN_AI_REQUEST_MODEL] = model
            self.span.set_attribute(semconv.GEN_AI_REQUEST_MODEL, model)

    def _check_watcher(self, what: str) -> None:
        if self.watched:
            raise HookError(
                f"{what} was called in a subscription, which only watches; use @hooks.before or @hooks.after"
            )

    def respond(self, value: Any) -> None:
        """Answer instead of the call (in a ``before`` hook), or replace its result (in an ``after`` hook).

        The value may be the library's own result type or plain: text for a model or tool, documents for a retriever.
        Answering skips the call, never the gates that follow.

        Raises:
            HookError: Results of this kind are read-only after the call, the call has failed, or the hook is a
                subscription, which only watches.
        """
        self._check_watcher("op.respond()")
        if self.phase == "error":
            raise HookError(
                f"op.respond() was called in {self.event!r}; to answer a call that failed, use an around hook"
            )
        if self.phase != "pre" and self.kind not in REPLACEABLE:
            raise HookError(
                f"op.respond() was called in {self.event!r}, whose result is read-only; "
                f"results of {', '.join(sorted(REPLACEABLE))} can be replaced"
            )
        self._answer, self.answered = value, True

    # ----------------------------------------------------------------- the engine's side of it

    def ends(self) -> bool:
        """Whether this is the first time that it is asked, whichever threads ask."""
        return next(self._ends) == 0

    def take_answer(self) -> Any:
        """The value given to ``respond``, once."""
        value, self._answer, self.answered = self._answer, None, False
        return value

    def keep_changes(self) -> None:
        """The hook that is running meant what it changed."""
        self._undo = None

    def undo_changes(self) -> None:
        """The hook that is running has failed: what it changed or answered is as if it had not been."""
        self.take_answer()
        if self._undo is not None:
            self._rewrite(*self._undo)
            self._undo = None

    def __repr__(self) -> str:
        return f"<Operation {self.kind} {self.name!r} {self.status or self.phase}>"
