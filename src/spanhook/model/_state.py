"""What the engine keeps of one operation, from its request to its outcome: who sets it, and when."""

import weakref
from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Literal, Self

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span

from spanhook import semconv
from spanhook.model._end import End
from spanhook.model.adapter import Adapter
from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.decision import DecisionRecord
from spanhook.model.identity import Identity
from spanhook.model.record_parts import NO_CALLS, NO_STREAM, NOT_LOOKING, InnerCalls, Looking, Shadowing, StreamState
from spanhook.model.streaming import Withheld
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
        ambient, given: The identity set by ``spanhook.context`` where it began, or received as baggage; and the ids
            that the library knows.
        agent: The name of the agent that it belongs to.
        before: The OpenTelemetry context where it began.
        start_ns: When it began, on the monotonic clock.
        span: Its span.
        plan, coverage: The hooks of its kind, ``None`` if there are none; and whether they decide about it.
        gated: What its request carried when its gates were asked, if it has any.
        in_hook: A hook makes it.
        latch: Why its run is stopped, set by the hook that stops it.
        undescribed: Its description could not be read.
        serves: It serves the enclosing operation's call in the same process: both are counted as one call.

    Set by hooks and by the code that runs them (``spanhook.gating``, ``engine._gates``):

    Attributes:
        runner: Runs the hooks; set by the gates, and gone at the end.
        state: The dict shared by its hooks, made for the first that asks.
        view: The shared read-only view, while somebody holds it.
        short_circuited, answer, answerer: A hook answered in the call's place; the answer exactly as it gave it; and
            the hook, for a block that may not use the answer.
        decided, modified, replaced: A hook refused this operation itself; the fields of the call that hooks have
            changed; and whether they have replaced its result.
        decisions, run_decisions: What hooks have decided; and of a root, in its whole run.
        shown: The arguments that gates were shown, until the call's body receives what the framework made of them.
        unawaited: The rest of it runs in code that cannot await, although it began in a coroutine.

    Set by the call, as it is made and ends (``engine.calls``, ``engine._streams``, ``engine.lifecycle``):

    Attributes:
        called: The call was made, or has begun.
        returned_ns: When the call returned or its stream ended; 0 before.
        result, error: What it returned and raised, as far as hooks leave it that.
        handled: What the call failed with, if the library has made a result of that, such as a message for the model.
        left: How it ended without a result, if the library or the consumer says so.
        end_attributes, own_usage: What it reports about itself.
        odd: Its end attributes include values that the SDK does not accept as they are.
        fault, status, phase: The outcome; ``fault`` says why a result is an error although nothing was raised.
        withheld, spilt: Output through other channels, such as callbacks, held until hooks have decided; and whether
            some of it could not be held.
        told_error: What a listener of the library raised when it was notified of a hook's answer.
        pending: Of a root, operations inside it that the reaper may have to end before it reports the run.
        lasting: An operation inside it that lasts over several of its calls.

    Set by accounting (``spanhook.telemetry``), once it has ended:

    Attributes:
        leaves: The usage of operations inside it.
        owing: The model or tool, its usage, which is ``None`` for a tool, and the operation to which it must be added
            next, while it has not been added to all that are around it.
        routed: Its model only routes to other models, whose usage is counted on its own.

    Noted by a library or by one module, for itself:

    Attributes:
        foreign: It stands for a span of another instrumentation.
        opened: Its call begins by opening a stream, and the stream has been opened.
        raw: What a tool returned before the framework made a message of it.
        passed_as: The name under which a framework passes it on, if that is another one.
        noted: Events that a library reports inside it, for its span: name, attributes and time since the epoch.
        delegation: The run of an agent inside another agent, as a delegation; false if it is not one.
        handed_to: Agents that this agent's members have handed off to and that have not begun yet.
        epoch_ns: What its times are counted from, in nanoseconds since the epoch, once somebody has asked.
        held_call: Its arguments and their copies for events, once there has been an event.
        shadow: The operation that it is a copy of, for a hook in shadow mode to decide about.

    Parts, which ``spanhook.model.record_parts`` describes, made when they are needed:

    Attributes:
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
        "runner",
        "span",
        "start_ns",
        "status",
    )

    answer: Any = None
    decisions: tuple[DecisionRecord, ...] = ()
    modified: tuple[str, ...] = ()
    left: Literal["", "interrupted", "abandoned", "cancelled"] = ""
    withheld: tuple[Withheld, ...] = ()
    stream: StreamState = NO_STREAM
    inner: InnerCalls = NO_CALLS
    looking: Looking = NOT_LOOKING
    shadowing: Shadowing | None = None
    latch: Any = None
    odd = False
    foreign = False
    in_hook = False
    short_circuited = False
    answerer: Any = None
    decided = False
    replaced = False
    routed = False
    opened = False
    spilt = False
    state: dict[str, Any] | None = None
    told_error: Exception | None = None
    unawaited = False
    undescribed = False
    view: weakref.ref[Any] | None = None
    pending: set[Self] | tuple[()] = ()
    leaves: Leaves | None = None
    run_decisions: list[semconv.Decision] | None = None
    raw: Any = None
    delegation: Self | bool | None = None
    epoch_ns: int | None = None
    handed_to: set[str] | None = None
    handled: BaseException | None = None
    lasting: Self | None = None
    noted: list[tuple[str, Attributes, int]] | tuple[()] = ()
    held_call: tuple[Args, Kwargs, Args, Kwargs] | None = None
    shadow: Self | None = None
    fault = ""
    passed_as = ""
    serves = False
    shown: Any = None

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
