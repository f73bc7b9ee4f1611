"""Runs what schedules ask for, on one event loop, together with all processes that have the same store."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Self

from spanhook import semconv
from spanhook.concurrency import give_up
from spanhook.diagnostics import internal
from spanhook.errors import Reject, StoreError
from spanhook.gating import Measures
from spanhook.schedules.deciding import Decided, Execution
from spanhook.schedules.entry import CronEntry
from spanhook.schedules.executing import LostError, Outcome, execute, follow, report_lost
from spanhook.schedules.state import CronState, Fate
from spanhook.schedules.ticking import LEASE_S, Ticker
from spanhook.store import MemoryStates, States

POLL_S = 15.0
"""Seconds after which it looks at the latest: for clocks that were set, and for executions of processes that died."""
_DRAIN = "drain"
_STOPS_S = (3.0, 1.0)
"""For how long what is cancelled may take, after the first time and after the second."""

Run = tuple[CronEntry, Execution]
Made = Callable[[str], None]
Work = Callable[[CronEntry, Execution, Made], Awaitable[Any]]
"""Does what a tick is for; says which job it has made of it, if any."""


class Scheduler:
    """The schedules of this process, as an async context manager. One event loop uses it.

    Args:
        entries: The schedules.
        work: Called for each tick that is run, as the operation ``cron.execute``.
        states: What is known of the schedules, shared by all processes that have them, so that one of them runs a tick.
            In memory by default: then every process runs each tick.
        follow: Called instead of ``work`` for an execution that another process has begun and not ended, because it has
            died or was told to end: waits for the end of that, or raises ``LostError``. ``None`` if there is nothing to
            wait for: it counts as lost, and as cancelled if its process was told to end.
        lease: Seconds after which an execution of a process that has died is followed, or counts as lost.
        drain_s: Seconds that executions have to end when it is closed; then they are cancelled here.
        clock: Seconds since the epoch.

    Raises:
        ConfigurationError: Two schedules have the same id.
    """

    def __init__(
        self,
        entries: Iterable[CronEntry],
        work: Work,
        states: States | None = None,
        *,
        follow: Work | None = None,
        lease: float = LEASE_S,
        drain_s: float = 2.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._states = MemoryStates() if states is None else states
        self._ticker = Ticker(entries, self._states, lease, clock, follows=follow is not None)
        self._follow = follow
        self._work, self._lease, self._drain_s = work, lease, drain_s
        self._tasks = set[asyncio.Task[None]]()
        self._wake = asyncio.Event()
        self._closing = False
        self._ticks = Measures("", scope="spanhook.schedules").counter(
            semconv.METRIC_CRON_TICKS, "{tick}", "Ticks of schedules, by what became of them"
        )
        self._loop: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Begin to run what comes. Ticks of schedules that the store does not know yet count from now on."""
        self._loop = asyncio.create_task(self._ticking(), name="spanhook-schedules")

    async def close(self) -> None:
        """Take no more ticks, and give executions some time to end. Others are left to whoever follows them."""
        self._closing = True
        self._wake.set()
        if self._loop is not None:
            await self._loop
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._drain_s)
        left = list(self._tasks)
        for task in left:
            task.cancel(_DRAIN)
        await give_up(left, _STOPS_S, "schedules.stop", "schedule")
        await asyncio.to_thread(self._states.close)

    def replace(self, entries: Iterable[CronEntry]) -> None:
        """Go on with these schedules; what runs is not touched. See ``Ticker.replace``.

        Raises:
            ConfigurationError: Two have the same id; nothing has changed.
        """
        self._ticker.replace(entries)
        self._wake.set()

    @property
    def entries(self) -> tuple[CronEntry, ...]:
        """The schedules."""
        return self._ticker.entries

    async def known(self) -> "list[tuple[CronEntry, CronState | None, datetime | None]]":
        """The schedules, what is known of each, and when each comes next.

        Raises:
            StoreError: The store cannot be used now.
        """
        return await asyncio.to_thread(self._ticker.known)

    # ------------------------------------------------------------------------------------------ ticks

    async def _ticking(self) -> None:
        while not self._closing:
            self._wake.clear()
            found, wait_s = await asyncio.to_thread(self._look)
            for entry, decided in found:
                self._take(entry, decided)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), wait_s)

    def _look(self) -> tuple[list[tuple[CronEntry, Decided]], float]:
        """What has come, and how many seconds to wait for more; on a thread."""
        found: list[tuple[CronEntry, Decided]] = []
        try:
            found = self._ticker.poll()
        except StoreError as error:
            internal.report("schedules.store", error)
        except Exception as error:
            internal.report("schedules.poll", error)
        return found, min(self._ticker.wait_s(), POLL_S)

    def _take(self, entry: CronEntry, decided: Decided) -> None:
        for one in decided.passed:
            self._count(entry, one.reason)
            if one.reason == "lost":
                self._begin(report_lost, entry, Execution(one.execution_id, one.tick))
        for execution in (*decided.followed, *decided.run):
            self._begin(self._run, entry, execution)

    def _begin(
        self, do: Callable[[CronEntry, Execution], Awaitable[None]], entry: CronEntry, execution: Execution
    ) -> None:
        async def guarded() -> None:
            try:
                await do(entry, execution)
            except Exception as error:
                internal.report("schedules.run", error)

        task = asyncio.create_task(guarded(), name=entry.id)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ------------------------------------------------------------------------------------------ executions

    async def _run(self, entry: CronEntry, execution: Execution) -> None:
        running = asyncio.current_task()
        assert running is not None
        keeper = asyncio.create_task(self._keeping((entry, execution), running))
        jobs = list[str]()

        def left(error: BaseException) -> bool:
            elsewhere = keeper.done() or (self._closing and bool(jobs))
            return elsewhere and self._follow is not None and isinstance(error, asyncio.CancelledError)

        try:
            if execution.turn and (follow_it := self._follow) is not None:
                outcome = await follow(entry, execution, lambda: follow_it(entry, execution, jobs.append), left)
            else:
                outcome = await execute(entry, execution, lambda: self._work(entry, execution, jobs.append), left)
        finally:
            keeper.cancel()
        await asyncio.shield(self._end((entry, execution), outcome, "".join(jobs[-1:])))
        if isinstance(outcome.error, KeyboardInterrupt | SystemExit):
            raise outcome.error

    async def _keeping(self, run: Run, running: "asyncio.Task[Any]") -> None:
        """Extend the lease of an execution. One that has been given up is cancelled: others may have begun."""
        entry, execution = run
        while True:
            await asyncio.sleep(self._lease / 3)
            try:
                held = await asyncio.to_thread(self._ticker.extend, entry.id, execution)
            except StoreError as error:
                internal.report("schedules.store", error)
                continue
            if not held:
                running.cancel()
                return

    async def _end(self, run: Run, outcome: Outcome, job_id: str) -> None:
        entry, execution = run
        fate, error = _fate(outcome.error)
        try:
            if outcome.left:
                await asyncio.to_thread(self._ticker.release, entry.id, execution)
            elif await asyncio.to_thread(self._ticker.end, entry.id, execution, fate, job_id=job_id, error=error):
                self._count(entry, fate)  # otherwise it was counted as lost, or is by whoever follows it
        except StoreError as failure:  # its lease runs out
            internal.report("schedules.store", failure)
        self._wake.set()  # another one may have waited for this

    def _count(self, entry: CronEntry, fate: Fate) -> None:
        self._ticks(1, {semconv.CRON_ID: entry.id, semconv.CRON_OUTCOME: fate})


def _fate(error: BaseException | None) -> tuple[Fate, str]:
    if error is None:
        return "completed", ""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled", ""
    if isinstance(error, LostError):
        return "lost", ""
    if isinstance(error, Reject):
        return "failed", error.reason[:200]
    return "failed", str(getattr(error, "error_type", "") or type(error).__name__)[:200]
