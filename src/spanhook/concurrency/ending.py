"""The end of a process that was told to end, whatever still runs in it."""

import atexit
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Self

from spanhook.concurrency.awaiting import place
from spanhook.concurrency.coroutines import drive
from spanhook.concurrency.threads import OwnThread
from spanhook.concurrency.waiting import Bell
from spanhook.diagnostics import internal

_LAST_S = 5.0
"""How long handlers of ``atexit`` may take, which export what is left."""


class Ending:
    """Ends this process if it has not ended by itself some time after it was told to.

    Tasks that do not heed that they are cancelled, code that blocks the event loop, and threads that do not return
    would keep it alive for as long as they like.

    Args:
        seconds: How long it may take, from when it is told.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._told, self._over, self._late, self._tidied = Bell(), Bell(), Bell(), Bell()
        self._is_told = False

    @contextmanager
    def watching(self) -> Generator[Self]:
        """Watch over the process while the block runs, and then until its ``atexit`` handlers run."""
        for work in (self._watch, self._tidy):  # both now: CPython 3.12 starts no thread while it waits for others
            OwnThread(work, "spanhook-ending").start()
        try:
            yield self
        finally:
            if self._is_told:
                atexit.register(self._over.ring)  # runs first, as it is registered last: nothing hangs by then
            else:
                for bell in (self._over, self._told, self._late):  # the threads end, too
                    bell.ring()

    def tell(self) -> None:
        """The process was told to end. May be called by a handler of a signal, and again."""
        self._is_told = True
        self._told.ring()

    def _watch(self) -> None:
        drive(self._told.heard(threading.TIMEOUT_MAX))
        if drive(self._over.heard(self._seconds)):
            return
        self._late.ring()
        drive(self._tidied.heard(_LAST_S))
        os._exit(1)

    def _tidy(self) -> None:
        """Do what the end of the interpreter would do; on a thread of its own, as it may take forever."""
        drive(self._late.heard(threading.TIMEOUT_MAX))
        if not self._is_told:
            return
        message = f"the process goes on {self._seconds:g} s after it was told to end, and is ended:\n{_threads()}"
        with suppress(Exception):
            internal.report("process.end", TimeoutError(message))
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType] - `os._exit` does not
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        self._tidied.ring()


def _threads() -> str:
    """Where each thread is that keeps the process alive."""
    frames = sys._current_frames()
    alive = [(one, frames.get(one.ident or 0)) for one in threading.enumerate() if not one.daemon]
    return "\n".join(f"  {one.name}: {place(frame.f_code, frame.f_lineno)}" for one, frame in alive if frame)
