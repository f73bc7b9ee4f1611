"""One operation as the engine keeps it, from its request to its outcome.

Hooks never get it: they get an ``Operation``, a view of it that is made for each run of a hook.
"""

import weakref
from array import array
from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Literal

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span

from spanhook import semconv
from spanhook.model._end import End
from spanhook.model._rewriting import Rewritten
from spanhook.model.adapter import Adapter, Args, Attributes, Chunks, Kwargs, Withheld
from spanhook.model.decision import DecisionRecord
from spanhook.model.encoding import encodable
from spanhook.model.identity import NOBODY, Identity, identity_of
from spanhook.model.request import Request
from spanhook.model.usage import Leaves, Usage
from spanhook.semconv import Coverage, Kind, Phase, Status

_NO_IDS: Mapping[str, str] = MappingProxyType({})


class Record(End):
    """One unit of agent work, as far as it has come.

    Attributes:
        adapter: How the library's call reads.
        attributes: What was known before the call.
        instance, args, kwargs: The library's call, as it will be or was made.
        parent: The operation around it.
        ambient: The identity that ``spanhook.context`` had set where it began, or that came with its baggage.
        before: The OpenTelemetry context where it began.
        start_ns: When, on the clock that only goes forward.
        given: Ids that the library knows.
        plan: The hooks of its kind; ``None`` where there are none.
        answer: What a hook answered with, as it gave it.
        held: What was current where it began.
        called: The call was made, or has begun.
        opened: The stream that its call begins with has been made.
        decided: A hook refused this very operation.
        pending: What inside of the run may be left for the reaper to end, which it does before it tells of the run.
        foreign: It stands for a span of another instrumentation.
        undescribed: What it is about could not be read.
        routed: Its model calls others, which are counted themselves, and used nothing else.
        nested: The model calls directly inside of it that have been counted.
        gated: What its request carried when the gates were asked, where there are any.
        carried: What its transport has yet to carry, by layer; see ``absorption``.
        transported: A transport of its own has answered.
        transport_usage: What that told that it used.
        below: How its transport describes the call: to which server, with which parameters.
        spans: How many spans of others for the same call are still to be expected, by their scope.
        span_usage: What those told that it used, by their scope.
        mark: The id of what a stream has been made of, by which a result is known that is another call's.
        later_chunks_ns: When each chunk of its stream came, but the first, where somebody wants to know.
        streamed, buffered: Its result is a stream; it is held back until hooks have seen it.
        withheld: What was to leave by other ways, such as callbacks, and is kept until hooks have decided.
        spilt: Some of that left all the same.
        returned_ns: When the call had returned, or its stream had ended; 0 before.
        state: What its hooks share.
        owed, owing: What it used, and the operation around that has still to be told of it.
        view: The one for everybody who only reads it, as long as somebody does.
        answerer: The hook that has answered, of a block that may not take the answer.
        unawaited: What comes after its call is driven by code that cannot await, though it began in a coroutine.
        raw: What a tool returned before the framework made a message of it.
        odd: What its end tells is nothing that the SDK takes as it is.
        shadow: It is a copy, for a hook in shadow to decide about.
        shadow_decisions: What hooks in shadow would have done.
        trials: How far hooks in shadow have come with it, by their id.
    """

    # In slots is what every operation sets or is asked for: CPython 3.11 finds defaults of a class ten times as slowly.
    # In the dict is what few have, and what is put there by several threads at once.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_identity",
        "adapter",
        "agent",
        "ambient",
        "args",
        "attributes",
        "before",
        "called",
        "coverage",
        "decided",
        "decisions",
        "end_attributes",
        "error",
        "first_chunk_ns",
        "foreign",
        "gated",
        "given",
        "held",
        "in_hook",
        "instance",
        "kind",
        "kwargs",
        "latch",
        "left",
        "modified",
        "odd",
        "owed",
        "owing",
        "own_usage",
        "parent",
        "phase",
        "plan",
        "replaced",
        "result",
        "returned_ns",
        "routed",
        "short_circuited",
        "span",
        "start_ns",
        "status",
        "streamed",
        "withheld",
    )

    answer: Any = None
    answerer: Any = None
    buffered = False
    opened = False
    spilt = False
    state: dict[str, Any] | None = None
    unawaited = False
    undescribed = False
    view: weakref.ref[Any] | None = None
    pending: "set[Record] | tuple[()]" = ()
    transported = False
    transport_usage: Usage | None = None
    below: Attributes | None = None
    later_chunks_ns: "array[int] | None" = None
    spans: dict[str, int] | None = None
    span_usage: dict[str, Usage] | None = None
    mark: Any = None
    tapped: list[Chunks] | None = None
    carried: dict[str, list[str | None]] | None = None
    nested: "list[Record] | None" = None
    leaves: Leaves | None = None
    run_decisions: list[semconv.Decision] | None = None
    raw: Any = None
    shadow = False
    shadow_decisions: tuple[DecisionRecord, ...] = ()
    trials: dict[int, Any] | None = None

    def __init__(
        self,
        adapter: Adapter,
        attributes: Attributes,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        parent: "Record | None",
        ambient: Identity,
        before: Context,
        start_ns: int,
        held: Any = None,
    ) -> None:
        self.adapter = adapter
        self.kind: Kind = adapter.kind
        self.attributes = attributes
        self.instance = instance
        self.args = args
        self.kwargs = kwargs
        self.parent = parent
        self.ambient = ambient
        self.before = before
        self.start_ns = start_ns
        self.held = held
        self.span: Span = INVALID_SPAN
        self.phase: Phase = "pre"
        self.result: Any = None
        self.error: BaseException | None = None
        self.status: Status | Literal[""] = ""
        self.agent: str = ""
        self.decisions: tuple[DecisionRecord, ...] = ()
        self.given: Mapping[str, str] = _NO_IDS
        self.plan: Any = None
        self.coverage: Coverage | None = None
        self.left: Literal["", "interrupted", "abandoned"] = ""
        self.withheld: list[Withheld] | None = None
        self.first_chunk_ns = 0
        self.returned_ns = 0
        self.modified: tuple[str, ...] = ()
        self.own_usage: Usage | None = None
        self.owed: tuple[str, Usage | None] | None = None
        self.owing: Record | None = None
        self.gated: list[str | None] | None = None
        self.latch: Any = None
        self.end_attributes: Attributes | None = None
        self._identity: Identity | None = None
        self.called = self.decided = self.foreign = self.in_hook = self.odd = False
        self.replaced = self.routed = self.short_circuited = self.streamed = False
        self.endings = count()
        self.ended = self.handed = self.reported = self.resumed = False
        self.end_ns, self.end_time_ns = 0, None
        self.accounted = self.published = self.described = self.measured = False
        self.heard = 0

    # ----------------------------------------------------------------- what it is about

    @property
    def name(self) -> str:
        return str(self.attributes.get(self.adapter.target_key, ""))

    @property
    def model(self) -> str:
        return str(self.attributes.get(semconv.GEN_AI_REQUEST_MODEL, ""))

    @property
    def provider(self) -> str:
        return str(self.attributes.get(semconv.GEN_AI_PROVIDER_NAME, ""))

    @property
    def event(self) -> str:
        """Kind and phase, such as ``tool.execute.pre``."""
        return f"{self.kind}.{self.phase}"

    def works_on(self, names: frozenset[str]) -> bool:
        """Whether one of ``names`` is what it works on, among others or alone, or may be."""
        if self.name in names:
            return True
        if self.adapter.names is None:
            return False
        several = self.adapter.names(self.instance, self.args, self.kwargs)
        return several is None or not names.isdisjoint(several)

    @property
    def root(self) -> "Record":
        """The outermost operation around this one, or itself."""
        op = self
        while op.parent is not None:
            op = op.parent
        return op

    @property
    def identity(self) -> Identity:
        """Whose it is: ``spanhook.context`` first, then what the library knows, then the operation around."""
        known = self._identity
        if known is None:
            parent, agent = self.parent, self.agent
            if parent is None or self.given or self.ambient is not parent.ambient:
                known = identity_of(self.ambient, self.given, NOBODY if parent is None else parent.identity, agent)
            else:
                known = parent.identity
                if known.agent_id != agent:
                    known = known._replace(agent_id=agent)
            self._identity = known
        return known

    def request(self) -> Request:
        """The request in common terms; parts of it are the application's own objects."""
        return self.adapter.request(self.instance, self.args, self.kwargs)

    # ----------------------------------------------------------------- what it used

    @property
    def usage(self) -> Usage:
        """Tokens and cost, as ``Operation.usage``; a model call's own is the one that is counted."""
        own, leaves, made = self.own_usage, self.leaves, self.called and not self.in_hook
        if leaves is not None:
            used = leaves.total()
            if own is not None:
                used.add_call(self._answered_by, own)
        elif own is not None:
            return own
        else:
            used = Usage()
            used.llm_calls = int(made and self.kind == "llm.call")
        if made and self.kind == "tool.execute":
            used.add_tool(self.name)
        return used

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """``usage`` per model that answered; only models that used tokens."""
        used = self.usage
        per_model = used.by_model or {self._answered_by: used}
        return {model: one for model, one in per_model.items() if one.total_tokens}

    @property
    def _answered_by(self) -> str:
        return str((self.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_MODEL) or self.model)

    # ----------------------------------------------------------------- what becomes of it

    @property
    def out(self) -> bool:
        """Whether the result, or part of it, has been handed out already."""
        return self.streamed and not self.buffered

    def rewrite(self, rewritten: Rewritten) -> None:
        """Have another call made."""
        self.args, self.kwargs = rewritten.args, rewritten.kwargs
        self.modified = tuple(dict.fromkeys((*self.modified, *rewritten.fields)))
        if rewritten.model != self.model:
            self.attributes[semconv.GEN_AI_REQUEST_MODEL] = rewritten.model
            self.span.set_attribute(semconv.GEN_AI_REQUEST_MODEL, encodable(rewritten.model))

    def __repr__(self) -> str:
        return f"<Operation {self.kind} {self.name!r} {self.status or self.phase}>"
