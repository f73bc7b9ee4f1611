"""The jobs that this process has claimed: each runs in a task of its own, and comes to one end."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from spanhook.concurrency import give_up
from spanhook.diagnostics import internal
from spanhook.errors import StoreError
from spanhook.jobs._plain import plain
from spanhook.jobs.agents import Agent, thread_of
from spanhook.jobs.claims import Claims
from spanhook.jobs.events import STATUS, Journal
from spanhook.jobs.failures import tell_of_failure
from spanhook.jobs.figures import Figures
from spanhook.jobs.job import Job, JobStatus, TransitionError
from spanhook.jobs.keeping import Journals
from spanhook.jobs.patience import patiently, uninterrupted
from spanhook.jobs.performing import JOB, Outcome, perform
from spanhook.jobs.running import done, failure, used_in_all
from spanhook.jobs.store import JobStore
from spanhook.jobs.watching import Watcher

DRAINED = "the process that ran it was told to end"
_PATIENCE_S, _LAST_PATIENCE_S = 10.0, 1.0
"""For how long the end of a job waits for a store that cannot be used: usually, and when the process ends."""
_STOPS_S = (3.0, 1.0)
"""For how long jobs that are cancelled when the process ends may take, after the first time and after the second."""
WaitUntil = Callable[[Awaitable[None]], object]
"""Told of each job that begins; the host must not end before the awaitable has."""
Told = Callable[[Job], object]


class Work:
    """Runs the jobs of one process.

    Args:
        agents: The agents, by name.
        store: Keeps the jobs.
        claims: This process's.
        journals: Keep what happens in them.
        watcher: Tells what happens in them.
        concurrency: How many run at a time.
        wait_until: See ``WaitUntil``; ``None`` for nothing.
        told: Told of each job that has come to its end here.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        store: JobStore,
        claims: Claims,
        journals: Journals,
        watcher: Watcher,
        *,
        concurrency: int,
        wait_until: WaitUntil | None,
        told: Told,
    ) -> None:
        self._agents, self._store, self._claims = agents, store, claims
        self._journals, self._watcher = journals, watcher
        self._slots = asyncio.Semaphore(concurrency)
        self._wait_until, self._told = wait_until, told
        self._figures = Figures()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._begun, self._stopping, self._handed_back = set[str](), set[str](), set[str]()
        self._unended: dict[str, str] = {}
        self._closing = False

    @property
    def jobs(self) -> Collection[str]:
        """The ids of the jobs that run or wait here."""
        return self._tasks.keys()

    @property
    def running(self) -> int:
        """How many of them run."""
        return len(self._begun)

    async def close(self, drain_s: float) -> None:
        """Begin no more jobs, give those that run some time to end, and cancel the others.

        Jobs that wait, and those that may run again, can be taken over at once; others have failed. One that goes on
        although it is cancelled twice is left behind: it is taken over once its claim has run out.
        """
        self._closing = True
        for job_id in self._tasks.keys() - self._begun:
            self.stop(job_id)
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=drain_s)
        for job_id in list(self._tasks):
            self.stop(job_id)
        await give_up(self._tasks.values(), _STOPS_S, "jobs.stop", "job")

    def begin(self, job: Job) -> None:
        """Run a job that this process has claimed, when there is room."""
        task = asyncio.create_task(self._guarded(job), name=job.job_id)
        self._tasks[job.job_id] = task
        task.add_done_callback(lambda ended: self._left(job.job_id, ended))
        if self._wait_until is not None:
            try:
                self._wait_until(asyncio.shield(task))
            except Exception as error:
                internal.report("jobs.wait_until", error)

    def stop(self, job_id: str) -> None:
        """Cancel the work of a job, once: what ends it must not be cancelled too."""
        task = self._tasks.get(job_id)
        if task is not None and job_id not in self._stopping:
            self._stopping.add(job_id)
            asyncio.get_running_loop().call_soon(task.cancel)  # never before its first step: it would have no end

    def _patience(self) -> float:
        return _LAST_PATIENCE_S if self._closing else _PATIENCE_S

    def _left(self, job_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(job_id) is task:
            del self._tasks[job_id]
            for held in (self._begun, self._stopping, self._handed_back):
                held.discard(job_id)

    # ------------------------------------------------------------------------------------------ one job

    async def _guarded(self, job: Job) -> None:
        try:
            await self._run(job)
        except TransitionError:
            pass  # it was cancelled, or is another's
        except StoreError as error:
            internal.report("jobs.store", error)  # the claim runs out, and the job is taken over
        except Exception as error:
            internal.report("jobs.run", error)

    async def _run(self, job: Job) -> None:
        try:
            journal = await uninterrupted(self._journals.open(job.job_id))
            if job.attempts or not journal.last:
                journal.publish(STATUS, {"status": "queued"})
            async with self._slots:
                if self._closing:
                    return
                self._begun.add(job.job_id)
                started = await self._started(job)
                if started is not None:
                    await self._execute(started, journal)
        finally:
            await uninterrupted(self.end(job.job_id, job.worker))

    async def _started(self, job: Job) -> Job | None:
        try:
            return await uninterrupted(self._claims.begin(job))
        except asyncio.CancelledError:
            await uninterrupted(self._unstarted(job.job_id))
            raise

    async def _unstarted(self, job_id: str) -> None:
        """Give back a job that has begun, if it has, whose agent was not called: whoever takes it may begin it."""
        job = await patiently(lambda: self._store.get(job_id, None), self._patience)
        if job is not None and job.status == "running" and job.worker == self._claims.worker:
            await self.give_back(job)

    async def give_back(self, job: Job) -> None:
        """Let any process begin a job at once that has begun here, but whose agent was not called.

        Raises:
            StoreError: The store cannot be used; the claim runs out.
        """
        with suppress(TransitionError):  # it was cancelled meanwhile
            await patiently(lambda: self._claims.give_back(job), self._patience)

    async def _execute(self, job: Job, journal: Journal) -> None:
        journal.publish(STATUS, {"status": "running", "attempt": job.attempts})
        self._figures.began(job)
        publish, agent = journal.publish, self._agents[job.agent]
        self._watcher.watch(job, publish)
        thread = thread_of(job.tenant_id, job.session_id)

        async def goes_on(outcome: Outcome) -> bool:
            if self._drained(job, outcome) and self._claims.may_repeat(job):
                await uninterrupted(self._hand_back(job, outcome))
            return job.job_id in self._handed_back

        try:
            outcome = await perform(JOB, job, lambda: agent.run(job.input, thread, publish), goes_on)
        except BaseException as error:
            outcome = Outcome(error=error)
        tell_of_failure("job", job, outcome.error)
        if job.job_id not in self._handed_back and not await goes_on(outcome):
            await uninterrupted(self._finish(job, outcome))
        if isinstance(outcome.error, KeyboardInterrupt):
            raise outcome.error

    def _drained(self, job: Job, outcome: Outcome) -> bool:
        cancelled = isinstance(outcome.error, asyncio.CancelledError)
        return cancelled and self._closing and job.job_id in self._stopping

    async def _hand_back(self, job: Job, outcome: Outcome) -> None:
        """Let any process run a job again at once, unless it was cancelled."""
        await self._watcher.settle(job.job_id)
        try:
            await patiently(lambda: self._claims.give_back(job, **_used(job, outcome)), self._patience)
        except TransitionError:
            return
        except StoreError as error:
            internal.report("jobs.store", error)  # the claim runs out, and the job is taken over
        self._handed_back.add(job.job_id)

    async def _finish(self, job: Job, outcome: Outcome) -> None:
        await self._watcher.settle(job.job_id)
        try:
            await patiently(lambda: self._finished(job, outcome), self._patience)
        except TransitionError:  # it was cancelled: what it used counts all the same
            await patiently(lambda: self._store.note(job, **_used(job, outcome)), self._patience)

    async def _finished(self, job: Job, outcome: Outcome) -> Job | None:
        error = outcome.error
        to: JobStatus = "failed"
        if self._drained(job, outcome):
            said = {"error": DRAINED, "error_type": "Drained"}
        elif error is not None:
            said = failure(error)
        else:
            said, to = {"result": plain(outcome.result)}, "completed"
        return await self._claims.finish(job, to, **said, **_used(job, outcome))

    # ------------------------------------------------------------------------------------------ its end

    async def end(self, job_id: str, worker: str) -> None:
        """Tell readers how a job has ended, if it has; otherwise let others go on with it.

        Args:
            job_id: The job.
            worker: Whose it was last, as far as is known here.

        Raises:
            StoreError: The store cannot be used; ``end_late`` does it then.
        """
        self._unended[job_id] = worker
        await patiently(lambda: self._tell_end(job_id, worker), self._patience)

    async def end_late(self) -> None:
        """Do what ``end`` could not do.

        Raises:
            StoreError: The store still cannot be used.
        """
        for job_id, worker in list(self._unended.items()):
            if job_id not in self._tasks:
                await self._tell_end(job_id, worker)

    async def _tell_end(self, job_id: str, worker: str) -> None:
        job = await self._store.get(job_id, None)
        mine = job is not None and job.worker in (worker, self._claims.worker)
        if job is None:
            self._journals.forget(job_id)
        elif job.finished and mine:
            journal = await self._journals.open(job_id)
            if journal.publish(STATUS, {"status": job.status}) is not None:
                self._tell(job)
            await self._journals.close(job_id, done(job))
        else:
            await self._journals.leave(job_id)
            if mine and self._closing and job.status == "queued" and job.lease_ns:
                await self._claims.give_back(job)
        self._unended.pop(job_id, None)

    def _tell(self, job: Job) -> None:
        self._figures.ended(job)
        try:
            self._told(job)
        except Exception as error:
            internal.report("jobs.told", error)


def _used(job: Job, outcome: Outcome) -> dict[str, Any]:
    """What a job has used in this attempt and those before it, as fields of it."""
    tools = dict.fromkeys((*job.tools, *outcome.tools))
    return {"usage": used_in_all(job.usage, outcome.usage), "tools": tuple(tools)}
