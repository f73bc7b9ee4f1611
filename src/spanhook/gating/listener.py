"""Listeners: they receive events of operations, each on its own thread.

A call never waits for one. Each receives its events in the order in which they happened; if it is too slow, events are
dropped and counted.
"""

import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple

from spanhook.concurrency import OwnThread
from spanhook.diagnostics import internal
from spanhook.fork import after_fork
from spanhook.model import Event, Record
from spanhook.semconv import Decision, Phase

if TYPE_CHECKING:
    from spanhook.gating.binding import Bound

MAX_WAITING = 1000
"""Events that wait for one listener; more are dropped."""
IDLE_S = 5.0
"""Seconds after which an idle thread ends."""
NAP_S, QUIET = 0.005, 20
"""How long an idle thread sleeps, and how often, before it has to be woken."""
EXIT_S = 2.0

Tally = Callable[[Record, "Bound", Decision, int, Phase], None]
"""Called with each decision and the hook's nanoseconds."""

_leaving = False
"""Set in the exit handlers of the interpreter, which does not wait for our threads."""

_renewed: "weakref.WeakSet[Listener]" = weakref.WeakSet()


class Delivery(NamedTuple):
    """One event on its way to one listener."""

    event: Event
    bound: "Bound"
    context: Context
    tally: Tally


class Listener:
    """The events that wait for one handler, and the thread that delivers them.

    Args:
        name: The handler's name.
        tell: Delivers one event, in the context of the operation.
    """

    def __init__(self, name: str, tell: Callable[[Delivery], None]) -> None:
        self._name, self._tell = name, tell
        self._late = False
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Start empty in a forked child: waiting events are delivered by the parent."""
        self._starting = threading.Lock()
        self._waiting: deque[Delivery | threading.Event] = deque()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._asleep = True
        self._thread: threading.Thread | None = None

    def put(self, delivery: Delivery) -> bool:
        """Queue an event, unless too many wait already; never waits. Returns whether it was queued."""
        if len(self._waiting) >= MAX_WAITING:
            internal.lose("subscription", 1)
            return False
        self.add(delivery)
        return True

    def add(self, delivery: Delivery) -> None:
        """Queue an event, however many wait."""
        self._waiting.append(delivery)
        if self._asleep:
            self._wake()
        if _leaving and not self._late:  # one that was not in time once is not waited for again
            self._late = not self.flush(EXIT_S)

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
            thread = OwnThread(self._work, f"spanhook-on-{self._name}")
            self._thread = thread  # before it starts, since a handler may ask
            try:
                thread.start()
            except RuntimeError:  # the interpreter is leaving; `flush` delivers what waits
                self._thread = None
                return
            atexit.unregister(leave)  # registered late, so that it runs before the exit handlers of providers
            atexit.register(leave)

    def _work(self) -> None:
        try:
            self._deliver()
        except BaseException:
            with self._starting:
                if self._thread is threading.current_thread():
                    self._thread = None  # so that the next event starts another
            raise

    def _deliver(self) -> None:
        waiting, bell, quiet = self._waiting, self._bell, 0
        while True:
            while waiting:
                quiet = 0
                self._handle(waiting.popleft())
            if quiet < QUIET:
                # Events come in bursts, and waking a thread for each would cost more than delivering it.
                quiet += 1
                time.sleep(NAP_S)
                continue
            self._asleep = True
            if waiting or bell.acquire(timeout=IDLE_S):
                self._asleep, quiet = False, 0
                continue
            with self._starting:
                if waiting is not self._waiting:
                    return
                self._thread = None
                if not waiting:
                    return
                # Somebody who saw this thread, and so started none, has put something meanwhile.
                self._thread, self._asleep, quiet = threading.current_thread(), False, 0

    def flush(self, seconds: float) -> bool:
        """Wait until every event so far has been delivered; returns whether that was in time."""
        thread = self._thread
        if thread is threading.current_thread():
            return False  # called by this very handler
        if thread is None:
            while self._waiting:
                self._handle(self._waiting.popleft())
            return True
        told = threading.Event()
        self._waiting.append(told)
        self._wake()
        return told.wait(max(0.0, seconds))

    def _handle(self, delivery: Delivery | threading.Event) -> None:
        if isinstance(delivery, threading.Event):
            delivery.set()
            return
        try:
            delivery.context.run(self._tell, delivery)
        except Exception as error:
            internal.report("subscription", error, lost=1)
        except BaseException as error:
            if self._thread is not threading.current_thread():
                raise  # Ctrl-C, perhaps, while a caller delivers what waits
            internal.report("subscription", error, lost=1)  # a filter may raise anything, and must not end the thread


def leave() -> None:
    """Called when the interpreter exits: deliver what is possible within a moment, and from then on at once."""
    global _leaving
    _leaving = True
    until = time.monotonic() + EXIT_S
    for listener in list(_renewed):
        left = len(listener._waiting)
        listener._late = not listener.flush(until - time.monotonic())
        if listener._late:
            internal.lose("subscription", left)


def _renew() -> None:
    for listener in list(_renewed):
        listener.renew()


after_fork("listeners", _renew)
