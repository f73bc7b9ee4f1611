"""Takes events of this process, commits them to an outbox within 50 milliseconds, and delivers them.

Whoever puts an event in waits for nothing: one thread commits, another one delivers. From its commit on, an event is
delivered at least once, in this process or the next one with the same outbox. What has not been committed is lost if
the process is killed.
"""

import asyncio
import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from spanhook.diagnostics import Repeats, internal, log
from spanhook.errors import ConfigurationError, StoreError
from spanhook.gating import renewed_after_fork
from spanhook.store import OutboxEntry, SQLiteOutbox
from spanhook.webhooks.deliverer import Deliverer
from spanhook.webhooks.schedule import Schedule
from spanhook.webhooks.sending import Sender

T = TypeVar("T")
MOST_WAITING = 10_000
"""Events that wait to be committed; more are dropped, and counted as lost."""
_GATHER_S = 0.01
_AGAIN_S = 0.5
_BATCH = 500


class Forwarder(Generic[T]):
    """Events of this process on their way to one URL.

    Args:
        outbox: Where they are kept.
        sender: What sends them.
        write: Makes what is sent of an event, on a thread of its own; ``None`` if there is nothing to send.
        schedule: When deliveries are tried again.
    """

    def __init__(
        self, outbox: SQLiteOutbox, sender: Sender, write: Callable[[T], OutboxEntry | None], schedule: Schedule
    ) -> None:
        self._outbox, self._sender, self._write, self._schedule = outbox, sender, write, schedule
        self.renew()
        renewed_after_fork(self)
        _open.add(self)

    def renew(self) -> None:
        """Start empty in a forked child: the parent commits what waits there."""
        self._waiting = deque[T]()
        self._writing, self._starting = threading.Lock(), threading.Lock()
        self._bell = threading.Event()
        self._started = False
        self._loop: tuple[asyncio.AbstractEventLoop, Deliverer] | None = None
        self._repeats = Repeats()

    def put(self, event: T) -> bool:
        """Take an event, unless too many wait already; never waits. Returns whether it was taken."""
        if len(self._waiting) >= MOST_WAITING:
            internal.lose("webhook", 1)
            return False
        self._waiting.append(event)
        if not self._bell.is_set():
            self._bell.set()
        if not self._started:
            self.start()
        return True

    def start(self) -> None:
        """Start the threads, unless they run: events of an earlier process are then delivered, too."""
        with self._starting:
            if self._started:
                return
            self._started = True
            for run in (self._keep_writing, self._keep_delivering):
                threading.Thread(target=run, name="spanhook-webhooks", daemon=True).start()

    def flush(self, seconds: float) -> bool:
        """Wait until all events so far have been committed, and delivered or given up. Returns whether that was in
        time.

        Raises:
            StoreError: The outbox cannot be used now.
        """
        ends = time.monotonic() + seconds
        self.commit()
        while self._outbox.count("pending"):
            if time.monotonic() >= ends:
                return False
            time.sleep(0.01)
        return True

    def commit(self) -> None:
        """Commit all events so far.

        Raises:
            StoreError: The outbox cannot be used now; they still wait.
        """
        while self._commit():
            pass
        self._wake()

    def _commit(self) -> int:
        """Commit some events. Returns how many."""
        with self._writing:
            some = [self._waiting[place] for place in range(min(len(self._waiting), _BATCH))]
            entries = [entry for one in some if (entry := self._written(one)) is not None]
            if entries:
                self._outbox.add(entries)
            for _ in some:  # only this takes any away, so these are the first ones still
                self._waiting.popleft()
            return len(some)

    def _written(self, event: T) -> OutboxEntry | None:
        try:
            return self._write(event)
        except Exception as error:
            internal.report("webhook", error, lost=1)
            return None

    def _keep_writing(self) -> None:
        bell = self._bell
        while bell.wait():
            time.sleep(_GATHER_S)  # what follows shares the transaction
            bell.clear()
            try:
                self.commit()
            except (StoreError, ConfigurationError) as error:
                self._tell(error)
                time.sleep(_AGAIN_S)
                bell.set()

    def _keep_delivering(self) -> None:
        try:
            asyncio.run(self._deliver())
        except RuntimeError:  # the interpreter ends, and lets nobody begin anything
            return

    async def _deliver(self) -> None:
        deliverer = Deliverer(self._outbox, self._sender, self._schedule)
        self._loop = asyncio.get_running_loop(), deliverer
        await deliverer.run()

    def _wake(self) -> None:
        if self._loop is not None:
            loop, deliverer = self._loop
            if not loop.is_closed():
                loop.call_soon_threadsafe(deliverer.wake)

    def _tell(self, error: Exception) -> None:
        if self._repeats.due(str(error)) is not None:
            log.warning("spanhook: events for a webhook wait: %s", error)


_open: "weakref.WeakSet[Forwarder[Any]]" = weakref.WeakSet()


def _commit_all() -> None:
    for one in list(_open):
        try:
            one.commit()
        except (StoreError, ConfigurationError) as error:
            log.warning("spanhook: events for a webhook are lost: %s", error)


atexit.register(_commit_all)
