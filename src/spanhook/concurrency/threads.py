"""Spanhook's threads: workers for blocking hooks, and one that ends what the garbage collector found.

In CPython 3.12, no thread can start once the interpreter is exiting, so there, threads that may be needed then start
early.

All are daemons: a hung hook must not keep the process alive, and daemons stay usable until the last ``atexit`` handler
has run, unlike the pools of ``concurrent.futures``.
"""

import _thread
import atexit
import queue
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

from spanhook.diagnostics import internal
from spanhook.fork import after_fork

P = ParamSpec("P")
T = TypeVar("T")

Found = tuple[Callable[..., Any], *tuple[Any, ...]]
"""A function to call, and its arguments."""

MAX_WORKERS = 32
NONE_AT_EXIT = sys.version_info[:2] == (3, 12)
"""Whether no thread can be started while ``atexit`` handlers run."""

_renewed: "weakref.WeakSet[Workers | Reaper]" = weakref.WeakSet()


class OwnThread(threading.Thread):
    """A daemon thread of spanhook's. Even if a hook's code starts it, it does not belong to the hook."""

    def __init__(self, target: Callable[[], None], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)


def begin(target: Callable[[], None], name: str) -> None:
    """Start a thread in a forked child, without waiting until it runs, as ``Thread.start`` does.

    Under gevent, waiting would run the application's greenlets, although the child may only start a program.
    """

    def run() -> None:
        threading.current_thread().name = name
        target()

    _thread.start_new_thread(run, ())


class Workers:
    """A bounded pool of daemon threads, started as needed.

    If every thread is busy, work is queued; a waiting caller may give up by cancelling the future.
    """

    def __init__(self, name: str, limit: int = MAX_WORKERS) -> None:
        self._name, self._limit = name, limit
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Discard threads that a fork did not copy."""
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
                except RuntimeError:  # the interpreter is exiting and starts no more threads
                    pass
                else:
                    self._threads += 1
            alone = self._threads == 0
            if not alone:
                self._tasks.put((future, lambda: function(*args, **kwargs)))
        if alone:  # only the caller can do it
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

    Code that a hook runs there counts as the hook's.
    """

    def __init__(self) -> None:
        super().__init__(max_workers=1)
        self._daemons = Workers("spanhook-io")

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        return self._daemons.submit(copy_context().run, fn, *args, **kwargs)


class Dropped:
    """Calls ``hand`` when it is dropped: if that is a C function, no interrupt can come in between."""

    __slots__ = ("hand",)
    hand: Callable[[], Any]

    def __init__(self, hand: Callable[[], Any]) -> None:
        self.hand = hand

    __del__: Any = property(attrgetter("hand"))


class Reaper:
    """Runs what a finalizer must not: a finalizer may interrupt any code, even the owner of a lock it would need.

    ``start`` is called when something that may need reaping is created; finalizers and interrupted code call only
    ``put``, because an interrupt during cleanup in Python would leave it half done.

    Attributes:
        put: Queues a call, as a tuple of a function and its arguments. It is a C function, which no interrupt or
            finalizer can split.
    """

    put: Callable[[Found], None]

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Discard the thread that a fork did not copy, and what the parent will end itself."""
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
                    except RuntimeError:  # the interpreter is exiting; `drain` does the work
                        return
                    self._thread = thread
                    # Registered late, so that it runs before the exit handlers of providers created earlier.
                    atexit.unregister(self.leave)
                    atexit.register(self.leave)

    def here(self) -> bool:
        """Whether the caller is being run by the reaper."""
        return self._thread is threading.current_thread()

    def leave(self, seconds: float = 5.0) -> None:
        """At interpreter exit: what has not ended after ``seconds``, including what is in progress, is never
        reported.
        """
        found = self._found
        if not self.drain(seconds):
            internal.lose("reaper", found.qsize())  # the last item is `drain`'s own

    def drain(self, seconds: float = 5.0) -> bool:
        """End everything found so far before returning; returns whether that was done within ``seconds``."""
        found, done = self._found, threading.Event()
        if self._thread is None and found.empty():
            return True

        def last() -> None:
            # Ending something may queue more. Putting this back behind it would never end beside another `last`, such
            # as that of a caller who was interrupted.
            with suppress(queue.Empty):
                while True:
                    self._end(found.get_nowait())
            done.set()

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
        except BaseException as error:  # also `SystemExit`: nothing else would end the items after it
            late = isinstance(error, TimeoutError)  # a loop is still ending it
            try:
                internal.report("reaper", error, lost=0 if late else 1)
            except BaseException as fatal:  # the thread goes on, as others depend on it
                threading.excepthook(threading.ExceptHookArgs((type(fatal), fatal, fatal.__traceback__, self._thread)))


reaper = Reaper()


def _renew() -> None:
    for one in list(_renewed):
        one.renew()


after_fork("threads", _renew)
