"""Journals of the jobs that this process runs: kept for a while after their end, and written to a log if any."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from spanhook.concurrency import ended, where
from spanhook.diagnostics import internal
from spanhook.errors import StoreError
from spanhook.jobs.events import DONE, LOST, JobEvent, Journal, lost
from spanhook.jobs.store import EventLog, EventsTakenError

GRACE_S = 60.0
"""How long events can still be read after the end of a job that no log keeps."""
WRITE_S = 0.05
POLL_S = 0.25
"""How often events are written, and how often it is looked for those that another process writes, in seconds."""
LATE_S = 2.0
"""How long the last events of a job may be written after it has ended, before they count as never said, in seconds."""
_HELD_S, _LAST_HELD_S = 5.0, 1.0
"""For how long events wait for a log that cannot be used: usually, and when the process ends."""
_LAST_WRITES_S = 3.0
"""How long a log may take for the last events when the process ends."""
_MOST_ENDED, _MOST_REMEMBERED = 1_000, 10_000
_BATCH = 500
Ended = Callable[[], Awaitable[Mapping[str, Any] | None]]
"""Gives what ``done`` says, if a job has ended; ``None`` before."""


class _Last(NamedTuple):
    """The last event of a journal that is kept no longer, and whether it was ``done``."""

    id: int
    done: bool


_NONE = _Last(0, done=False)


class Journals:
    """The events of jobs.

    Args:
        log: Keeps them beyond this process; ``None`` for nothing.
        clock: Gives the time in nanoseconds since the epoch.
        grace_s: Seconds for which the events of a finished job are kept here.
        most: How many events of a job are kept here.
    """

    def __init__(self, log: EventLog | None, clock: Callable[[], int], *, grace_s: float, most: int) -> None:
        self._log, self._clock, self._grace_s, self._most = log, clock, grace_s, most
        self._open: dict[str, Journal] = {}
        self._writers: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, asyncio.TimerHandle] = {}
        self._lasts = OrderedDict[str, _Last]()
        self._stopped = False

    async def open(self, job_id: str) -> Journal:
        """The journal of a job, which goes on where its last process has left off."""
        found = self._open.get(job_id)
        if found is not None:
            return found
        last = await self._log.last(job_id) if self._log is not None else self._lasts.get(job_id, _NONE).id
        return self.begin(job_id, last)

    def begin(self, job_id: str, last: int = 0) -> Journal:
        """The journal of a job whose last event is known; 0 for none, as of a new job."""
        found = self._open.get(job_id)
        if found is not None:
            return found
        held = self._log is not None
        journal = self._open[job_id] = Journal(self._clock, first=last + 1, most=self._most, held=held)
        if self._log is not None and not self._stopped:
            writer = self._writers[job_id] = asyncio.create_task(self._write(self._log, job_id, journal, last))
            writer.add_done_callback(lambda _: self._stopped_writing(job_id, writer))
        return journal

    async def close(self, job_id: str, data: Mapping[str, Any]) -> None:
        """End the events of a job with ``done``; they can be read for a while yet."""
        journal = self._open.get(job_id)
        if journal is None:
            return
        journal.publish(DONE, data)
        await self._written(job_id)
        if self._open.get(job_id) is not journal or job_id in self._ended:
            return
        self._ended[job_id] = asyncio.get_running_loop().call_later(self._grace_s, self.forget, job_id)
        while len(self._ended) > _MOST_ENDED:
            self.forget(next(iter(self._ended)))

    async def leave(self, job_id: str) -> None:
        """Take no more events of a job that another process runs from now on; readers follow that one."""
        journal = self._open.get(job_id)
        if journal is not None and not journal.done:
            journal.end()
            await self._written(job_id)
            self.forget(job_id)

    def forget(self, job_id: str) -> None:
        """Keep the events of a job no longer; those who read them now read on."""
        journal = self._open.pop(job_id, None)
        if journal is not None:
            journal.end()
            self._lasts[job_id] = _Last(journal.last, journal.done)
            while len(self._lasts) > _MOST_REMEMBERED:
                self._lasts.popitem(last=False)
        timer = self._ended.pop(job_id, None)
        if timer is not None:
            timer.cancel()

    async def _written(self, job_id: str) -> None:
        writer = self._writers.get(job_id)
        if writer is not None:
            await ended(writer)

    def _stopped_writing(self, job_id: str, writer: asyncio.Task[None]) -> None:
        if self._writers.get(job_id) is writer:
            del self._writers[job_id]

    async def stop(self) -> None:
        """Write what is there, and write no more. Readers come to an end."""
        self._stopped = True
        writers = {writer: self._open.get(job_id) for job_id, writer in self._writers.items()}
        for job_id, journal in list(self._open.items()):
            journal.end()
            if job_id in self._ended:
                self.forget(job_id)
        if writers:
            _, left = await asyncio.wait(writers, timeout=_LAST_WRITES_S)
            for writer in left:
                _tell_of_lost(writers[writer], writer)

    # ------------------------------------------------------------------------------------------ reading

    async def recorded(self, job_id: str, most: int) -> Sequence[JobEvent]:
        """The last events of a job that are kept, without waiting for more."""
        journal = self._open.get(job_id)
        if journal is not None:
            found = [one for one in journal.since(max(0, journal.readable - most)) if one.type != LOST]
            return [one for one in found if one.id <= journal.readable]
        if self._log is None:
            return ()
        return await self._log.read(job_id, max(0, await self._log.last(job_id) - most), most)

    async def exhausted(self, job_id: str, after: int) -> bool:
        """Whether a reader that has seen this event has seen the last one of a job that has ended."""
        if not after:
            return False
        journal = self._open.get(job_id)
        if journal is not None:
            return journal.done and after >= journal.last
        if self._log is None:
            last = self._lasts.get(job_id, _NONE)
            return last.done and after >= last.id
        logged = await self._log.last(job_id)
        return after >= logged and any(one.type == DONE for one in await self._log.read(job_id, logged - 1, 1))

    async def read(self, job_id: str, after: int, ended: Ended) -> AsyncGenerator[JobEvent]:
        """The events of a job after one of them, as they come, until ``done``.

        Args:
            job_id: The job.
            after: The id of the last event that the reader has seen; 0 for none. Higher ones than there are count as
                the last there is.
            ended: Gives what ``done`` says, if the job has ended.
        """
        if await self.exhausted(job_id, after):
            return
        if self._log is not None and after and job_id not in self._open:
            after = min(after, await self._log.last(job_id))
        over_s = 0.0
        while not self._stopped:
            journal = self._open.get(job_id)
            if journal is not None and (self._log is None or journal.has(min(after, journal.readable))):
                after = min(after, journal.readable)
                async with aclosing(journal.read(after)) as events:
                    async for event in events:
                        if event.type == LOST and self._log is not None:
                            break  # the log still has what this reader was too slow for
                        after = event.id
                        yield event
                if journal.done and after >= journal.last:
                    return
                continue  # or another process goes on with it
            told = await ended()  # before looking: so nothing is written afterwards but by a process that is late
            found = await self._missed(job_id, after, told)
            for event in found:
                after = event.id
                yield event
                if event.type == DONE:
                    return
            if len(found) < _BATCH:
                over_s = 0.0 if told is None or found else over_s + POLL_S
                if told is not None and over_s > LATE_S:  # its process has died before it could write the last event
                    yield JobEvent(after + 1, DONE, told, self._clock())
                    return
                await asyncio.sleep(POLL_S)

    async def _missed(self, job_id: str, after: int, told: Mapping[str, Any] | None) -> Sequence[JobEvent]:
        """What is known of events that no journal here has any more."""
        if self._log is not None:
            found = list(await self._log.read(job_id, after, _BATCH))
            if found and found[0].id > after + 1:
                found.insert(0, lost(after, found[0].id))
            return found
        if told is None:
            return ()
        known = self._lasts.get(job_id, _NONE)
        last = max(known.id if known.done else known.id + 1, after + 1)
        ending = JobEvent(last, DONE, told, self._clock())
        return (ending,) if last == after + 1 else (lost(after, last), ending)

    # ------------------------------------------------------------------------------------------ writing

    async def _write(self, log: EventLog, job_id: str, journal: Journal, after: int) -> None:
        """Write events until there are no more, and show each to readers once it is written."""
        failing_ns = 0
        while True:
            found = [one for one in journal.since(after) if one.type != LOST]
            if not found:
                if journal.closed:
                    return
                await journal.changed_after(after)
                if not journal.closed:
                    await asyncio.sleep(WRITE_S)
                continue
            try:
                await log.append(job_id, found)
            except StoreError as error:
                failing_ns = failing_ns or time.monotonic_ns()
                if time.monotonic_ns() - failing_ns > (_LAST_HELD_S if self._stopped else _HELD_S) * 1e9:
                    journal.release_all()  # the job goes on; its readers have the journal
                    if journal.closed:
                        internal.report("jobs.events", error, lost=len(found))
                        return
                await asyncio.sleep(POLL_S)
            except EventsTakenError:
                journal.cut()
                if self._open.get(job_id) is journal:
                    self.forget(job_id)  # readers follow what the other process writes
                return
            except Exception as error:
                journal.release_all()
                internal.report("jobs.events", error, lost=len(found))
                return
            else:
                failing_ns, after = 0, found[-1].id
                journal.release(after)


def _tell_of_lost(journal: Journal | None, writer: "asyncio.Task[None]") -> None:
    lost = 0 if journal is None else journal.last - journal.readable
    message = f"the log of events does not answer; it is waited for in\n{where(writer)}"
    internal.report("jobs.events", TimeoutError(message), lost=lost)
