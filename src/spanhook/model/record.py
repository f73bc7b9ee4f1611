"""One operation as the engine keeps it, from its request to its outcome.

Hooks never get it: they get an ``Operation``, a view of it that is made for each run of a hook.
"""

import weakref
from collections.abc import Callable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span

from spanhook import semconv
from spanhook.model._clock import clock
from spanhook.model.adapter import Adapter, Args, Attributes, Chunks, Kwargs, Withheld
from spanhook.model.decision import DecisionRecord
from spanhook.model.encoding import encodable
from spanhook.model.identity import NOBODY, Identity
from spanhook.model.request import Request
from spanhook.model.usage import Leaves, Usage
from spanhook.semconv import Coverage, Kind, Phase, Status

_NO_IDS: Mapping[str, str] = MappingProxyType({})


class Rewritten(NamedTuple):
    """A call as a hook has rewritten it."""

    args: Args
    kwargs: Kwargs
    fields: tuple[str, ...]
    """What is different, in terms of ``Change``."""
    model: str


class Record:
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
        endings: Gives 0 to the first who asks, which is who ends it.
        ended: Nobody sees it through any more: it has come to its end, or whoever did was interrupted. From then on
            it is nobody's current operation, whatever stands there.
        reported: Nothing is left to be told of it.
        handed: Somebody else is about to end it or to tell of it: the reaper, or a task of its own.
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
        attempts: Told how it has ended, for refusals inside of it of which nobody knows whether they held.
        mark: The id of what a stream has been made of, by which a result is known that is another call's.
        streamed, buffered: Its result is a stream; it is held back until hooks have seen it.
        withheld: What was to leave by other ways, such as callbacks, and is kept until hooks have decided.
        spilt: Some of that left all the same.
        returned_ns: When the call had returned, or its stream had ended; 0 before.
        state: What its hooks share.
        owed, owing: What it used, and the operation around that has still to be told of it.
        published, summed, marked, described, measured, emitted, heard: How far it has got with telling of its end;
            should an interrupt stop that, the reaper goes on from there, so that nothing is told twice.
        resumed: It has done so.
        view: The one for everybody who only reads it, as long as somebody does.
        answerer: The hook that has answered, of a block that may not take the answer.
        unawaited: What comes after its call is driven by code that cannot await, though it began in a coroutine.
        raw: What a tool returned before the framework made a message of it.
        odd: What its end tells is nothing that the SDK takes as it is.
    """

    # In slots is what every operation sets or is asked for: CPython 3.11 finds defaults of a class ten times as slowly.
    # In the dict is what few have, and what is put there by several threads at once.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_identity",
        "accounted",
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
        "described",
        "end_attributes",
        "end_ns",
        "end_time_ns",
        "ended",
        "endings",
        "error",
        "first_chunk_ns",
        "foreign",
        "gated",
        "given",
        "handed",
        "heard",
        "held",
        "in_hook",
        "instance",
        "kind",
        "kwargs",
        "latch",
        "left",
        "measured",
        "modified",
        "odd",
        "owed",
        "owing",
        "own_usage",
        "parent",
        "phase",
        "plan",
        "published",
        "replaced",
        "reported",
        "result",
        "resumed",
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
    spans: dict[str, int] | None = None
    span_usage: dict[str, Usage] | None = None
    attempts: "list[Callable[[BaseException | None], None]] | None" = None
    mark: Any = None
    tapped: list[Chunks] | None = None
    summed = False
    marked = emitted = 0
    carried: dict[str, list[str | None]] | None = None
    nested: "list[Record] | None" = None
    leaves: Leaves | None = None
    run_decisions: list[semconv.Decision] | None = None
    raw: Any = None

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
        self.in_hook = False
        self.decisions: tuple[DecisionRecord, ...] = ()
        self.given: Mapping[str, str] = _NO_IDS
        self.plan: Any = None
        self.coverage: Coverage | None = None
        self.called = False
        self.accounted = False
        self.short_circuited = False
        self.replaced = False
        self.left: Literal["", "interrupted", "abandoned"] = ""
        self.decided = False
        self.ended = False
        self.reported = self.handed = False
        self.foreign = False
        self.routed = False
        self.streamed = False
        self.withheld: list[Withheld] | None = None
        self.first_chunk_ns = 0
        self.returned_ns = 0
        self.end_ns = 0
        self.end_time_ns: int | None = None
        self.modified: tuple[str, ...] = ()
        self.own_usage: Usage | None = None
        self.owed: tuple[str, Usage | None] | None = None
        self.owing: Record | None = None
        self.published = self.described = self.measured = self.resumed = False
        self.heard = 0
        self.gated: list[str | None] | None = None
        self.latch: Any = None
        self.end_attributes: Attributes | None = None
        self.odd = False
        self._identity: Identity | None = None
        self.endings = count()

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
            known = self._identity = self._identify()
        return known

    def _identify(self) -> Identity:
        parent, ambient, given = self.parent, self.ambient, self.given
        if parent is None:
            if ambient is NOBODY and not given:
                return Identity(run_id=clock.run_id(), agent_id=self.agent)
            around = NOBODY
        else:
            around = parent.identity
            if ambient is parent.ambient and not given:
                return around if around.agent_id == self.agent else around._replace(agent_id=self.agent)
        return Identity(
            ambient.tenant_id or around.tenant_id or given.get("tenant_id", ""),
            ambient.user_id or given.get("user_id", "") or around.user_id,
            ambient.session_id or given.get("session_id", "") or around.session_id,
            around.run_id or encodable(given.get("run_id", "")) or clock.run_id(),
            self.agent,
            ambient.attributes or around.attributes,
        )

    def request(self) -> Request:
        """The request in common terms; parts of it are the application's own objects."""
        return self.adapter.request(self.instance, self.args, self.kwargs)

    # ----------------------------------------------------------------- what it used

    @property
    def usage(self) -> Usage:
        """Tokens and cost, as ``Operation.usage``; a model call's own is the one that is counted."""
        made = self.called and not self.in_hook
        if self.leaves is not None:
            used = self.leaves.total()
            if self.own_usage is not None:
                used.add_call(self._answered_by, self.own_usage)
            if made and self.kind == "tool.execute":
                used.add_tool(self.name)
            return used
        if self.own_usage is not None:
            return self.own_usage
        used = Usage()
        used.llm_calls = int(made and self.kind == "llm.call")
        if made and self.kind == "tool.execute":
            used.add_tool(self.name)
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

    def leave_to_reaper(self) -> None:
        """Have the end of the run told of by the reaper, which may have to end this one before."""
        self.root.__dict__.setdefault("pending", set()).add(self)

    def take_from_reaper(self) -> None:
        """It has come to its end by itself after all."""
        pending = self.root.pending
        if pending:
            pending.discard(self)

    def ends_again(self) -> None:
        """Its end was interrupted, and is gone on with by somebody else."""
        self.resumed, self.ended = True, False
        self.endings = count()

    def shared(self) -> dict[str, Any]:
        """What its hooks share."""
        if self.state is None:
            self.state = {}
        return self.state

    def __repr__(self) -> str:
        return f"<Operation {self.kind} {self.name!r} {self.status or self.phase}>"
