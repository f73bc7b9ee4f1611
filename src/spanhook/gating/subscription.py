"""Subscriptions: handlers that are told of events, after the fact and on a thread of their own.

A call never waits for one. Each handler hears its events in the order in which they happened; one that is too slow for
them loses events, which are counted.
"""

import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, NamedTuple

from spanhook.concurrency import OwnThread, drive
from spanhook.diagnostics import internal, log
from spanhook.errors import Reject, TimedOut
from spanhook.fork import after_fork
from spanhook.gating._hosts import SYNC
from spanhook.gating._topics import Topic
from spanhook.gating.binding import WATCH, Bound
from spanhook.gating.hook import FunctionHook, HookSettings, own
from spanhook.model import (
    DELEGATION,
    Event,
    InHook,
    Record,
    Said,
    clock,
    current,
    delegation_of,
    note_handoff,
    shed,
    words,
)
from spanhook.semconv import Decision, Phase

MAX_WAITING = 1000
"""Events that wait for one handler; more are dropped."""
IDLE_S = 5.0
"""Seconds after which a thread that has nothing to tell ends."""
NAP_S, QUIET = 0.005, 20
"""How long a thread sleeps while there is nothing to tell, and how often, before it has to be woken."""
EXIT_S = 2.0

Tally = Callable[[Record, Bound, Decision, int, Phase], None]
"""Told of each event that was handled, or could not be, and of the handler's nanoseconds."""

_leaving = False
"""Set in the exit handlers of the interpreter, which does not wait for our threads."""

_renewed: "weakref.WeakSet[Subscription]" = weakref.WeakSet()


class Delivery(NamedTuple):
    """One event on its way to one handler."""

    event: Event
    bound: Bound
    context: Context
    tally: Tally


class Subscription(FunctionHook):
    """A handler and the events that wait for it.

    Args:
        function: Called with each ``Event``; may be async.
        topic: What it is told of.
        settings: Filters, a name, a timeout for an async one.
    """

    def __init__(self, function: Callable[..., Any], topic: Topic, settings: HookSettings) -> None:
        super().__init__(WATCH, function, topic.kinds, settings)
        self.topic, self.phases = topic, topic.phases
        self._starting = threading.Lock()
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Start from nothing in a forked child: what waits is the parent's to tell."""
        self._starting = threading.Lock()
        self._waiting: deque[Delivery | threading.Event] = deque()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._asleep = True
        self._thread: threading.Thread | None = None

    def put(self, delivery: Delivery) -> None:
        """Have an event told; never waits."""
        if len(self._waiting) >= MAX_WAITING:
            internal.lose("subscription", 1)
            return
        self._waiting.append(delivery)
        if self._asleep:
            self._wake()

    def _wake(self) -> None:
        self._asleep = False
        if self._thread is None:
            self._start()
        with suppress(RuntimeError):  # it has been rung already
            self._bell.release()

    def _start(self) -> None:
        with self._starting:
            if self._thread is not None:
                return
            thread = OwnThread(self._work, f"spanhook-on-{self.name}")
            self._thread = thread  # before it starts, since a handler may ask
            try:
                thread.start()
            except RuntimeError:  # the interpreter is leaving; `flush` tells what waits
                self._thread = None
                return
            atexit.unregister(leave)  # registered late, so that it runs before the exit handlers of providers
            atexit.register(leave)

    def _work(self) -> None:
        waiting, bell, quiet = self._waiting, self._bell, 0
        while True:
            while waiting:
                quiet = 0
                _handle(waiting.popleft())
            if quiet < QUIET:
                # Events come in bursts, and waking a thread for each would cost more than telling it.
                quiet += 1
                time.sleep(NAP_S)
                continue
            self._asleep = True
            if waiting or bell.acquire(timeout=IDLE_S):
                self._asleep, quiet = False, 0
                continue
            with self._starting:
                if not waiting:
                    if waiting is self._waiting:
                        self._thread = None
                    return

    def flush(self, seconds: float) -> bool:
        """Wait until every event so far has been told; whether that was so in time."""
        thread = self._thread
        if thread is threading.current_thread():
            return False  # it is this very handler that asks
        if thread is None:
            while self._waiting:
                _handle(self._waiting.popleft())
            return True
        told = threading.Event()
        self._waiting.append(told)
        self._wake()
        return told.wait(max(0.0, seconds))


def _handle(delivery: Delivery | threading.Event) -> None:
    if isinstance(delivery, threading.Event):
        delivery.set()
        return
    try:
        delivery.context.run(_tell, delivery)
    except Exception as error:
        internal.report("subscription", error, lost=1)


def _tell(delivery: Delivery) -> None:
    """Call the handler, in the context of the operation, with hooks off."""
    event, bound = delivery.event, delivery.bound
    current.set(InHook(event._record))
    decision: Decision = "allow"
    started = clock.now()
    try:
        if isinstance(bound.hook, Subscription) and not bound.hook.topic.includes(event.phase, event.status):
            return
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
    """Tell the subscriptions of the operation's plan that it has come to this phase. Its context is current."""
    plan = op.plan
    if plan is None or not plan.heard:
        return
    _tell_all(op, phase, tally, plan.heard.get(phase, ()))
    if plan.delegated:
        try:
            delegation = delegation_of(op)
        except Exception as error:
            internal.report("subscription", error, lost=1)
        else:
            if delegation is not None:
                _tell_all(delegation, phase, tally, plan.delegated.get(phase, ()))
    elif op.kind == DELEGATION and phase == "post":
        note_handoff(op)


def _tell_all(op: Record, phase: Phase, tally: Tally, those: Iterable[Bound]) -> None:
    for bound in those:
        try:
            if not bound.selective or bound.concerns(op):
                bound.hook.put(Delivery(Event(op, phase), bound, copy_context(), tally))
                if _leaving:
                    bound.hook.flush(EXIT_S)
        except Exception as error:
            internal.report("subscription", error, lost=1)


def leave() -> None:
    """The interpreter exits: tell what can still be told within a moment, and from here on everything at once."""
    global _leaving
    _leaving = True
    until = time.monotonic() + EXIT_S
    for subscription in list(_renewed):
        left = len(subscription._waiting)
        if not subscription.flush(until - time.monotonic()):
            internal.lose("subscription", left)


def _renew() -> None:
    for subscription in list(_renewed):
        subscription.renew()


after_fork("subscriptions", _renew)
