"""Threads of our own: workers for blocking hooks, and the one that ends what the garbage collector found.

CPython 3.12 starts no thread once the interpreter is leaving, so there those that may be needed then are started early.

All are daemons: a hung hook must not keep the process from ending, and they stay usable until the last ``atexit``
handler has run, which the pools of ``concurrent.futures`` do not.
"""

import atexit
import queue
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

from spanhook.diagnostics import internal
from spanhook.fork import after_fork

P = ParamSpec("P")
T = TypeVar("T")

Found = tuple[Callable[..., Any], *tuple[Any, ...]]
"""What is to be called, and with what."""

MAX_WORKERS = 32
NONE_AT_EXIT = sys.version_info[:2] == (3, 12)
"""Whether no thread can be started while ``atexit`` handlers run."""

_renewed: "weakref.WeakSet[Workers | Reaper]" = weakref.WeakSet()


class OwnThread(threading.Thread):
    """A daemon thread of ours. Started by a hook's code, it is not the hook's all the same."""

    def __init__(self, target: Callable[[], None], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)


class Workers:
    """A bounded pool of daemon threads, started as they are needed.

    Work that finds every thread busy waits its turn; whoever waits for it may give up by cancelling the future.
    """

    def __init__(self, name: str, limit: int = MAX_WORKERS) -> None:
        self._name, self._limit = name, limit
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Forget threads that a fork did not copy."""
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self.hung = 0

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run ``function`` in a worker; the future is cancellable until a worker has taken it."""
        future: Future[T] = Future()
        with self._lock:
            if self._idle <= self._tasks.qsize() and self._threads < self._limit:
                thread = OwnThread(self._work, f"{self._name}-{self._threads + 1}")
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is leaving, and starts none any more
                    pass
                else:
                    self._threads += 1
            alone = self._threads == 0
            if not alone:
                self._tasks.put((future, lambda: function(*args, **kwargs)))
        if alone:  # there is nobody but the caller to do it
            _done(future, lambda: function(*args, **kwargs))
        return future

    def abandon(self, future: "Future[Any]") -> None:
        """Stop waiting for ``future``: cancel it, or count its worker as hung until it is done."""
        if future.cancel() or future.done():
            return
        with self._lock:
            self.hung += 1
        future.add_done_callback(self._unhang)

    def _unhang(self, _future: "Future[Any]") -> None:
        with self._lock:
            self.hung -= 1

    def _work(self) -> None:
        tasks = self._tasks
        while True:
            with self._lock:
                self._idle += 1
            future, task = tasks.get()
            with self._lock:
                self._idle -= 1
            _done(future, task)
            del future, task


def _done(future: "Future[Any]", task: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = task()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class DaemonExecutor(ThreadPoolExecutor):
    """The default executor of our event loop: name resolution must work while the interpreter is exiting.

    What a hook has run there is the hook's code too.
    """

    def __init__(self) -> None:
        super().__init__(max_workers=1)
        self._daemons = Workers("spanhook-io")

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        return self._daemons.submit(copy_context().run, fn, *args, **kwargs)


class Dropped:
    """Calls ``hand`` when it is dropped: with a function of C there, no interrupt comes between."""

    __slots__ = ("hand",)
    hand: Callable[[], Any]

    def __init__(self, hand: Callable[[], Any]) -> None:
        self.hand = hand

    __del__: Any = property(attrgetter("hand"))


class Reaper:
    """Runs what a finalizer must not: a finalizer may interrupt any code, even the owner of a lock it would need.

    ``start`` is called when something that may need reaping is made; ``put`` is all that a finalizer calls, and code
    that was interrupted: an interrupt that comes while a Python function cleans up leaves it half done.

    Attributes:
        put: Hands over what is to be called, as a tuple of a function and its arguments. A function of C, which no
            interrupt and no finalizer comes between.
    """

    put: Callable[[Found], None]

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Forget the thread that a fork did not copy, and what the parent will end itself."""
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._found: queue.SimpleQueue[Found] = queue.SimpleQueue()
        self.put = self._found.put

    def start(self) -> None:
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    thread = OwnThread(self._run, "spanhook-reaper")
                    try:
                        thread.start()
                    except RuntimeError:  # the interpreter is leaving; `drain` does what is to be done
                        return
                    self._thread = thread
                    # Registered late, so that it runs before the exit handlers of providers made before.
                    atexit.unregister(self.leave)
                    atexit.register(self.leave)

    def here(self) -> bool:
        """Whether the caller is what is being reaped."""
        return self._thread is threading.current_thread()

    def leave(self, seconds: float = 5.0) -> None:
        """The interpreter exits: what has not been ended by then, the one under way included, is never told of."""
        found = self._found
        if not self.drain(seconds):
            internal.lose("reaper", found.qsize())  # of which the last is `drain`'s own

    def drain(self, seconds: float = 5.0) -> bool:
        """End what has been found so far before returning; whether that was done within ``seconds``."""
        found, done = self._found, threading.Event()
        if self._thread is None and found.empty():
            return True

        def last() -> None:
            if found.empty():
                done.set()
            else:  # what was found has handed over more
                found.put((last,))

        self.start()
        found.put((last,))
        if self._thread is None:
            while not done.is_set():
                self._end(found.get())
        return done.wait(seconds)

    def _run(self) -> None:
        found = self._found
        while True:
            self._end(found.get())

    def _end(self, found: Found) -> None:
        end, *args = found
        try:
            end(*args)
        except BaseException as error:  # `SystemExit` too: there is nobody else to end what comes after it
            late = isinstance(error, TimeoutError)  # it is still being ended, on a loop
            internal.report("reaper", error, lost=0 if late else 1)


reaper = Reaper()


def _renew() -> None:
    for one in list(_renewed):
        one.renew()


after_fork("threads", _renew)
