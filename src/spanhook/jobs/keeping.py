"""Journals of the jobs that this process runs: kept for a while after their end, and written to a log if any."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from spanhook.diagnostics import internal
from spanhook.jobs.events import DONE, JobEvent, Journal, lost
from spanhook.jobs.store import EventLog

GRACE_S = 60.0
"""How long events can still be read after the end of a job that no log keeps."""
WRITE_S = 0.05
POLL_S = 0.25
"""How often events are written, and how often it is looked for those that another process writes, in seconds."""


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
        self._timers: dict[str, asyncio.TimerHandle] = {}

    async def open(self, job_id: str) -> Journal:
        """The journal of a job, which goes on where its last process has left off."""
        found = self._open.get(job_id)
        if found is not None:
            return found
        last = await self._log.last(job_id) if self._log is not None else 0
        journal = self._open.setdefault(job_id, self._new(last + 1))
        if self._log is not None and job_id not in self._writers:
            self._writers[job_id] = asyncio.create_task(self._write(self._log, job_id, journal, last))
        return journal

    def _new(self, first: int) -> Journal:
        return Journal(self._clock, first=first, most=self._most, held=self._log is not None)

    async def close(self, job_id: str, data: Mapping[str, Any]) -> None:
        """End the events of a job with ``done``; they can be read for a while yet."""
        journal = self._open.get(job_id)
        if journal is None:
            return
        journal.publish(DONE, data)
        writer = self._writers.pop(job_id, None)
        if writer is not None:
            await writer
        loop = asyncio.get_running_loop()
        self._timers[job_id] = loop.call_later(self._grace_s, self.forget, job_id)

    def forget(self, job_id: str) -> None:
        """Keep the events of a job no longer; those who read them now read on."""
        self._open.pop(job_id, None)
        timer = self._timers.pop(job_id, None)
        if timer is not None:
            timer.cancel()

    async def stop(self) -> None:
        """Write what is there, and write no more."""
        for job_id in list(self._timers):
            self.forget(job_id)
        writers, self._writers = list(self._writers.values()), {}
        for journal in self._open.values():
            journal.end()
        await asyncio.gather(*writers, return_exceptions=True)

    async def read(self, job_id: str, after: int, ended: Callable[[], Any]) -> AsyncGenerator[JobEvent]:
        """The events of a job after one of them, as they come, until ``done``.

        Args:
            job_id: The job.
            after: The id of the last event that the reader has seen; 0 for none.
            ended: Gives what ``done`` says, if the job has ended; an awaitable that gives ``None`` before.
        """
        while True:
            journal = self._open.get(job_id)
            if journal is not None and (self._log is None or _has(journal, after)):
                async for event in journal.read(after):
                    yield event
                return
            told = await ended()
            if self._log is None:
                if told is not None:
                    break
                await asyncio.sleep(POLL_S)
                continue
            for event in await self._logged(job_id, after):
                after = event.id
                yield event
                if event.type == DONE:
                    return
            if told is not None and not await self._log.read(job_id, after, 1):
                break  # its process has died before it could write the last event
            await asyncio.sleep(POLL_S)
        told = await ended()
        if told is not None:
            yield JobEvent(after + 1, DONE, told, self._clock())

    async def _logged(self, job_id: str, after: int) -> list[JobEvent]:
        assert self._log is not None
        found = list(await self._log.read(job_id, after))
        if found and found[0].id > after + 1:
            found.insert(0, lost(after, found[0].id))
        return found

    async def _write(self, log: EventLog, job_id: str, journal: Journal, after: int) -> None:
        try:
            while True:
                found = [one for one in journal.since(after) if one.id > after and one.type != "lost"]
                if found:
                    await asyncio.shield(log.append(job_id, found))
                    after = found[-1].id
                    journal.release(after)
                elif journal.closed:
                    return
                else:
                    await journal.changed_after(after)
                    if not journal.closed:
                        await asyncio.sleep(WRITE_S)
        except Exception as error:  # the job goes on; its readers have the journal
            journal.release_all()
            internal.report("jobs.events", error)


def _has(journal: Journal, after: int) -> bool:
    """Whether a journal has everything after an event."""
    found = journal.since(after)
    return not found or found[0].type != "lost"
