"""What the engine keeps of one operation, from its request to its outcome: who sets it, and when."""

from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Literal, Self

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span

from spanhook.model._end import End
from spanhook.model.adapter import Adapter
from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.identity import Identity
from spanhook.model.record_parts import (
    NO_CALLS,
    NO_DECISIONS,
    NO_ENDING,
    NO_STREAM,
    NOT_DEFERRED,
    NOT_LOOKING,
    NOT_SHARED,
    Deferred,
    EndDetails,
    HookDecisions,
    InnerCalls,
    Looking,
    RunState,
    Shadowing,
    Shared,
    StreamState,
)
from spanhook.model.usage import Leaves, Usage
from spanhook.semconv import Coverage, Kind, Phase, Status

_NO_IDS: Mapping[str, str] = MappingProxyType({})


class State(End):
    """The current state of one unit of agent work; a ``Record`` adds what follows from it.

    Set by the start (``spanhook.engine.beginning``), and then read only, but where something else is said:

    Attributes:
        adapter, kind: How the library's call is read, and the kind of operation.
        attributes: What was known before the call; a hook that replaces the model changes it.
        instance, args, kwargs: The library's call, as it will be made or was made. Rewriting hooks, the gates' last
            changes to the call, and the last look replace the arguments.
        parent, held: The enclosing operation, and what was current where it began.
        run: What is known of the whole run that it is in, shared by all of that.
        ambient, given: The identity set by ``spanhook.context`` where it began, or received as baggage; and the ids
            that the library knows.
        agent: The name of the agent that it belongs to.
        before: The OpenTelemetry context where it began.
        start_ns: When it began, on the monotonic clock.
        span: Its span.
        plan, coverage: The hooks of its kind, ``None`` if there are none; and whether they decide about it.
        gated: What its request carried when its gates were asked, if it has any.
        in_hook: A hook makes it.
        undescribed: Its description could not be read.
        serves: It serves the enclosing operation's call in the same process: both are counted as one call.

        runner: Runs the hooks; set by the gates, and gone at the end.

    Set by the call, as it is made and ends (``engine.calls``, ``engine._streams``, ``engine.lifecycle``):

    Attributes:
        called: The call was made, or has begun.
        returned_ns: When the call returned or its stream ended; 0 before.
        result, error: What it returned and raised, as far as hooks leave it that.
        end_attributes, own_usage: What it reports about itself.
        status, phase: The outcome, and how far it has come.
        lasting: An operation inside it that lasts over several of its calls.

    Set by accounting (``spanhook.telemetry``), once it has ended:

    Attributes:
        leaves: The usage of operations inside it.
        owing: The model or tool, its usage, which is ``None`` for a tool, and the operation to which it must be added
            next, while it has not been added to all that are around it.

    Set by whoever makes it:

    Attributes:
        foreign: It stands for a span of another instrumentation.
        shadow: The operation that it is a copy of, for a hook in shadow mode to decide about.

    Parts, made when they are needed (``part``); ``spanhook.model.record_parts`` says who writes what in each, and when:

    Attributes:
        decided: What hooks have decided about it.
        shared: What its hooks, and others that look at it, share.
        ending: How it ended, beside its result or error.
        deferred: Output through channels other than its result.
        stream: What has become of its stream, if its result is one.
        inner: What is known of calls inside it that are part of it.
        looking: What is still to be done where the call's body receives its arguments.
        shadowing: What hooks in shadow mode have to do with it.
    """

    # Slots hold what most operations set. The dict holds what few operations have, and what several threads set at
    # once: to read a class-level default takes half as long again, but to set a slot costs every operation.
    __slots__ = (
        "__weakref__",
        "_identity",
        "_result",
        "adapter",
        "agent",
        "ambient",
        "args",
        "attributes",
        "before",
        "called",
        "coverage",
        "end_attributes",
        "error",
        "gated",
        "given",
        "held",
        "instance",
        "kind",
        "kwargs",
        "owing",
        "own_usage",
        "parent",
        "phase",
        "plan",
        "returned_ns",
        "run",
        "runner",
        "span",
        "start_ns",
        "status",
    )

    stream: StreamState = NO_STREAM
    inner: InnerCalls = NO_CALLS
    looking: Looking = NOT_LOOKING
    decided: HookDecisions = NO_DECISIONS
    shared: Shared = NOT_SHARED
    ending: EndDetails = NO_ENDING
    deferred: Deferred = NOT_DEFERRED
    shadowing: Shadowing | None = None
    foreign = False
    in_hook = False
    undescribed = False
    leaves: Leaves | None = None
    lasting: Self | None = None
    shadow: Self | None = None
    serves = False

    def __init__(
        self,
        adapter: Adapter,
        attributes: Attributes,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        parent: Self | None,
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
        self.run: RunState = RunState() if parent is None else parent.run
        self.ambient = ambient
        self.before = before
        self.start_ns = start_ns
        self.held = held
        self.span: Span = INVALID_SPAN
        self.phase: Phase = "pre"
        self._result: Any = None
        self.error: BaseException | None = None
        self.status: Status | Literal[""] = ""
        self.agent: str = ""
        self.given: Mapping[str, str] = _NO_IDS
        self.plan: Any = None
        self.runner: Any = None
        self.coverage: Coverage | None = None
        self.returned_ns = 0
        self.own_usage: Usage | None = None
        self.owing: tuple[str, Usage | None, Self] | None = None
        self.gated: list[str | None] | None = None
        self.end_attributes: Attributes | None = None
        self._identity: Identity | None = None
        self.called = False
        self.endings = count()
        self.ended = self.reported = False
        self.end_ns = 0
        self.accounted, self.recorded = False, 0
