"""Runs jobs in this process: a bounded number at a time, each under a claim that is renewed while it runs."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

from spanhook.diagnostics import internal
from spanhook.errors import StoreError
from spanhook.jobs.agents import Agent, Publish, thread_of
from spanhook.jobs.claims import Claims
from spanhook.jobs.events import JobEvent
from spanhook.jobs.failures import tell_of_failure
from spanhook.jobs.job import Job, Transition, TransitionError, new_id
from spanhook.jobs.keeping import Journals
from spanhook.jobs.patience import Turns
from spanhook.jobs.performing import RUN, Outcome, decide, perform
from spanhook.jobs.running import FullError, NoAgentError, RunnerSettings, done
from spanhook.jobs.store import EventLog, JobStore
from spanhook.jobs.watching import Watcher
from spanhook.jobs.working import Told, WaitUntil, Work
from spanhook.model import made

_KINDS = ("run", "job")
"""What is made of runs that somebody waits for, and of jobs."""
_TAKES_S = 1.5
"""Seconds between two looks for jobs that nobody holds."""
_LAST_S = 3.0


class Runner:
    """Runs agents, at once or as jobs. One event loop uses it; ``start`` it before, and ``close`` it after.

    Args:
        agents: The agents, by name.
        store: Keeps the jobs.
        log: Keeps their events beyond this process; ``None`` for nothing.
        settings: How they are run.
        wait_until: Called with an awaitable of each job that begins, for hosts that end after a response unless they
            are told to wait.
        told: Told of each job that has come to its end here.
    """

    WORK: ClassVar[type[Work]] = Work

    def __init__(
        self,
        agents: Mapping[str, Agent],
        store: JobStore,
        log: EventLog | None = None,
        settings: RunnerSettings | None = None,
        *,
        wait_until: WaitUntil | None = None,
        told: Told | None = None,
    ) -> None:
        made.update(_KINDS)
        self._agents, self.store, self._settings = agents, store, settings or RunnerSettings()
        self._claims = Claims(store, new_id().replace("job_", "worker_"), self._settings)
        self._journals = Journals(log, time.time_ns, grace_s=self._settings.grace_s, most=self._settings.events)
        self._watcher = Watcher()
        self._work = self.WORK(
            agents,
            store,
            self._claims,
            self._journals,
            self._watcher,
            concurrency=self._settings.concurrency,
            wait_until=wait_until,
            told=told or _untold,
        )
        self._asking, self._calls, self._turns = 0, 0, Turns()
        self._beat: asyncio.Task[None] | None = None
        self._closing, self._closed = False, asyncio.Event()

    @property
    def agents(self) -> list[str]:
        """The names of the agents, in order."""
        return sorted(self._agents)

    @property
    def running(self) -> int:
        """How many jobs run here."""
        return self._work.running

    @property
    def waiting(self) -> int:
        """How many jobs wait here."""
        return len(self._work.jobs) - self._work.running

    # ------------------------------------------------------------------------------------------ its life

    async def start(self) -> None:
        """Begin to run jobs: those that a process has left behind, too."""
        self._watcher.start()
        self._beat = asyncio.create_task(self._beating())

    async def close(self) -> None:
        """Take no more jobs, give those that run some time to end, and leave the others to other processes.

        Jobs that wait, and those that may run again, can be taken over at once; others have failed.
        """
        self._closing = True
        await self._work.close(self._settings.drain_s)
        self._closed.set()
        if self._beat is not None:
            await asyncio.wait((self._beat,), timeout=_LAST_S)  # longer if the store does not answer
        await self._journals.stop()
        self._watcher.stop()

    def agent(self, name: str) -> Agent:
        """The agent of a name.

        Raises:
            NoAgentError: There is none.
        """
        found = self._agents.get(name)
        if found is None:
            raise NoAgentError(f"there is no agent {name!r}")
        return found

    # ------------------------------------------------------------------------------------------ asking for runs

    async def submit(self, job: Job) -> Job:
        """Ask for a job. Its gates are asked first: if they refuse, there is no job.

        Args:
            job: What is asked for; ``new_job`` makes it.

        Returns:
            The job, or the first one that was asked for with the same key.

        Raises:
            NoAgentError: There is no such agent.
            FullError: Too many wait.
            Reject: A gate has refused it.
            StoreError: It cannot be kept now.
        """
        self.agent(job.agent)
        if not job.key:
            return await self._accept(job)
        key = job.tenant_id, job.agent, job.key
        async with self._turns.of(key):  # so the gates are asked once, if requests come together
            return await self.store.find(*key) or await self._accept(job)

    async def _accept(self, job: Job) -> Job:
        if self._closing or self._asking + len(self._work.jobs) >= self._most:
            raise FullError("too many jobs wait; ask again later")
        self._asking += 1
        try:
            job = replace(job, retry=self.agent(job.agent).retry, worker=self._claims.worker)
            job = replace(job, admission=await decide(job))
            kept = await self.store.create(replace(job, lease_ns=self._claims.until_ns()))
        finally:
            self._asking -= 1
        if kept.job_id == job.job_id:
            self._journals.begin(kept.job_id)
            self._work.begin(kept)
        return kept

    @property
    def _most(self) -> int:
        return self._settings.concurrency + self._settings.waiting

    async def call(self, job: Job, publish: Publish | None = None) -> Outcome:
        """Run an agent while somebody waits; nothing of it is kept.

        Args:
            job: What is asked for.
            publish: Told of what happens, from here or from the event loop.

        Raises:
            NoAgentError: There is no such agent.
            FullError: As many run so as jobs may, or the process is told to end.
            Reject: A gate has refused it.
        """
        agent, tell = self.agent(job.agent), publish or _untold
        if self._closing or self._calls >= self._settings.concurrency:
            raise FullError("too many agents run; ask again later, or for a job")
        self._calls += 1
        if publish is not None:
            self._watcher.watch(job, publish)
        try:
            thread = thread_of(job.tenant_id, job.session_id)
            outcome = await perform(RUN, job, lambda: agent.run(job.input, thread, tell))
            tell_of_failure("run", job, outcome.error)
            return outcome
        finally:
            self._calls -= 1
            if publish is not None:
                await self._watcher.settle(job.job_id)

    async def cancel(self, job_id: str, tenant_id: str | None = "") -> Job | None:
        """Cancel a job, wherever it runs; ``None`` if there is none.

        Raises:
            TransitionError: It has finished.
            StoreError: The store cannot be used now.
        """
        if await self.store.get(job_id, tenant_id) is None:
            return None
        job = await self.store.move(job_id, Transition("cancelled", time.time_ns()))
        self._work.stop(job_id)
        return job

    def events(self, job_id: str, after: int = 0) -> AsyncGenerator[JobEvent]:
        """The events of a job after one of them, as they come; the last one is ``done``."""

        async def ended() -> Mapping[str, Any] | None:
            job = await self.store.get(job_id, None)
            return {"status": "deleted"} if job is None else done(job) if job.finished else None

        return self._journals.read(job_id, after, ended)

    async def recorded(self, job_id: str, most: int) -> Sequence[JobEvent]:
        """The last events of a job that are kept, without waiting for more."""
        return await self._journals.recorded(job_id, most)

    async def exhausted(self, job_id: str, after: int) -> bool:
        """Whether there are no events after this one, and will be none: the job has ended."""
        return await self._journals.exhausted(job_id, after)

    async def delete(self, job_id: str, tenant_id: str | None = "") -> bool:
        """Delete a finished job; see ``JobStore.delete``."""
        deleted = await self.store.delete(job_id, tenant_id)
        if deleted:
            self._journals.forget(job_id)
        return deleted

    # ------------------------------------------------------------------------------------------ claims

    async def _beating(self) -> None:
        took = float("-inf")
        while not self._closed.is_set():
            try:
                for job_id in await self._claims.lost(list(self._work.jobs)):
                    self._work.stop(job_id)
                if time.monotonic() - took >= min(_TAKES_S, self._settings.lease_s / 4) and not self._closing:
                    took = time.monotonic()
                    await self._work.end_late()
                    await self._take_over()
            except StoreError as error:
                internal.report("jobs.store", error)
            except Exception as error:
                internal.report("jobs.claims", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), self._settings.beat_s)

    async def _take_over(self) -> None:
        """Run jobs that a process has left behind, or mark them as failed."""
        for job in await self.store.expired(time.time_ns(), agents=self._agents):
            if job.job_id in self._work.jobs or len(self._work.jobs) >= self._most or self._closing:
                continue
            try:
                taken = await self._claims.take(job)
            except TransitionError:
                continue  # another process was sooner
            if taken is not None and taken.finished:
                await self._work.end(taken.job_id, taken.worker)
            elif taken is not None:
                self._work.begin(taken)


def _untold(*_told: Any) -> None:
    """Nobody listens."""
