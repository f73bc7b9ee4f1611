"""Subscriptions: handlers that receive events after the fact, each on its own thread."""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

from spanhook.concurrency import drive
from spanhook.diagnostics import internal, log
from spanhook.errors import Reject, TimedOut
from spanhook.gating._hosts import SYNC
from spanhook.gating._refusals import own
from spanhook.gating._topics import Topic, Topics, parse_events, parse_level
from spanhook.gating.binding import WATCH, Bound
from spanhook.gating.hook import FunctionHook, HookSettings
from spanhook.gating.listener import Delivery, Listener, Tally
from spanhook.model import Event, InHook, Level, Looking, Record, Said, clock, current, shed, words
from spanhook.semconv import Decision, Phase


class Subscription(FunctionHook):
    """A handler and the events that wait for it.

    Args:
        function: Called with each ``Event``; may be async.
        topic: The events that it receives.
        settings: Filters, a name, a timeout for an async handler.
    """

    def __init__(self, function: Callable[..., Any], topic: Topic | Topics, settings: HookSettings) -> None:
        super().__init__(WATCH, function, topic.kinds, settings)
        self.topic, self.phases = topic, topic.phases
        self.listener = Listener(self.name, _tell_some if topic.by_status else _tell)

    def flush(self, seconds: float) -> bool:
        """Wait until every event so far has been delivered; returns whether that was in time."""
        return self.listener.flush(seconds)


class Subscriber(Subscription):
    """Base class of hooks that receive events, as a subscription does: on a thread of their own, and in order.

    Override ``receive``. A class attribute ``name`` is its name.

    Args:
        events: The events that it receives, as ``Hooks.on`` takes them.
        level: What ``"*"`` covers; see ``Hooks.on``.

    Raises:
        ConfigurationError: An event or the level is unknown, or there is no event.
    """

    def __init__(self, events: Sequence[str] = ("*",), level: Level = "summary") -> None:
        settings: HookSettings = {"name": self.name or type(self).__name__}
        super().__init__(self.receive, parse_events(events, parse_level(level)), settings)

    def receive(self, event: Event) -> Any:
        """Called with each event; may be async. What it raises is logged and counted."""
        raise NotImplementedError


def _tell_some(delivery: Delivery) -> None:
    """Call the handler if it asked for operations that ended like this one."""
    hook, event = delivery.bound.hook, delivery.event
    if isinstance(hook, Subscription) and hook.topic.includes(event.kind, event.phase, event.status):
        _tell(delivery)


def _tell(delivery: Delivery) -> None:
    """Call the handler, in the context of the operation, with hooks off."""
    event, bound = delivery.event, delivery.bound
    current.set(InHook(event._record))
    decision: Decision = "allow"
    started = clock.now()
    try:
        if bound.when is not None and not bound.when(event):
            return
        value = bound.function(event)
        if value is not None and hasattr(value, "__await__"):
            drive(SYNC.settle(event, bound.timeout_ns, value))
    except BaseException as error:
        shed(error)
        if isinstance(error, Reject):
            error = own(error)
        decision = "timeout" if isinstance(error, TimedOut) else "error"
        _failed(event, bound, error)
    delivery.tally(event._record, bound, decision, clock.now() - started, event.phase)


def _failed(event: Event, bound: Bound, error: BaseException) -> None:
    what = "timed out" if isinstance(error, TimedOut) else f"failed: {type(error).__name__}"
    unsaid = bound.repeats.due(what)
    if unsaid is not None:
        more = f" (and {unsaid} times more in the last minute)" if unsaid else ""
        said = what if isinstance(error, TimedOut) else Said.of(f"{what}: {words(error)}", what)
        log.warning("spanhook: subscription %r to %s %s%s", bound.name, event.event, said, more, exc_info=error)


def publish(op: Record, phase: Phase, tally: Tally) -> None:
    """Notify listeners that the operation has reached this phase. Its context is current."""
    plan = op.plan
    if plan is None or not plan.heard:
        return
    if phase == "pre":
        waits = _is_received_later(op)
        if waits or op.looking.unheard:
            op.part(Looking).unheard = waits
        if waits:
            return
    for bound, put in plan.heard.get(phase, ()):
        try:
            if not bound.selective or bound.concerns(op):
                put(Delivery(Event(op, phase), bound, copy_context(), tally))
        except Exception as error:
            internal.report("subscription", error, lost=1)


def _is_received_later(op: Record) -> bool:
    """Whether its call has not begun, and listeners wait for what its body receives, as the last look at it does."""
    receiving = op.adapter.receiving
    later = None if receiving is None else receiving.later
    if later is None or op.called or op.decided.answered:
        return False
    try:
        return later(op.instance, op.args, op.kwargs)
    except Exception as error:
        internal.report("extract.received", error)
        return False
