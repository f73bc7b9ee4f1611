"""Runs jobs in this process: a bounded number at a time, each under a claim that is renewed while it runs."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from spanhook.diagnostics import internal
from spanhook.errors import Reject, StoreError
from spanhook.jobs._plain import plain
from spanhook.jobs.agents import Agent, Publish
from spanhook.jobs.events import STATUS, JobEvent, Journal
from spanhook.jobs.job import Job, JobStatus, Transition, TransitionError, new_id
from spanhook.jobs.keeping import Journals
from spanhook.jobs.performing import JOB, RUN, Outcome, decide, perform
from spanhook.jobs.running import FullError, NoAgentError, RunnerSettings, done, failure
from spanhook.jobs.store import EventLog, JobStore
from spanhook.jobs.watching import Watcher

DEAD = "the process that ran it has ended"
_NS = 1_000_000_000


class Runner:
    """Runs agents, at once or as jobs. One event loop uses it; ``start`` it before, and ``close`` it after.

    Args:
        agents: The agents, by name.
        store: Keeps the jobs.
        log: Keeps their events beyond this process; ``None`` for nothing.
        settings: How they are run.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        store: JobStore,
        log: EventLog | None = None,
        settings: RunnerSettings | None = None,
    ) -> None:
        self._agents, self.store, self._settings = agents, store, settings or RunnerSettings()
        self._worker = new_id().replace("job_", "worker_")
        self._journals = Journals(log, time.time_ns, grace_s=self._settings.grace_s, most=self._settings.events)
        self._watcher = Watcher()
        self._slots = asyncio.Semaphore(self._settings.concurrency)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._beat: asyncio.Task[None] | None = None
        self._closing = False

    # ------------------------------------------------------------------------------------------ its life

    async def start(self) -> None:
        """Begin to run jobs: those that a process has left behind, too."""
        self._watcher.start()
        self._beat = asyncio.create_task(self._beating())

    async def close(self) -> None:
        """Take no more jobs, give those that run some time to end, and leave the others as those of a dead process."""
        self._closing = True
        if self._tasks:  # under claims that are still renewed
            await asyncio.wait(list(self._tasks.values()), timeout=self._settings.drain_s)
        left = list(self._tasks.items())
        for _, task in left:
            task.cancel("drain")
        await asyncio.gather(*(task for _, task in left), return_exceptions=True)
        if self._beat is not None:
            self._beat.cancel()
            await asyncio.gather(self._beat, return_exceptions=True)
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
        agent = self.agent(job.agent)
        if job.key:
            first = await self.store.find(job.tenant_id, job.agent, job.key)
            if first is not None:
                return first
        await self._check_room()
        job = replace(job, retry=agent.retry, worker=self._worker, lease_ns=self._lease())
        job = replace(job, admission=await decide(job))
        kept = await self.store.create(job)
        if kept.job_id == job.job_id:
            await self._hand_over(kept)
        return kept

    async def _check_room(self) -> None:
        """Refuse a job that there is no room for.

        Raises:
            FullError: Too many wait.
        """
        if self._closing or not self._room():
            raise FullError("too many jobs wait; ask again later")

    def _room(self) -> bool:
        return len(self._tasks) < self._settings.concurrency + self._settings.waiting

    async def _hand_over(self, job: Job) -> None:
        """Give a queued job to whoever runs it."""
        await self._journals.open(job.job_id)
        self._begin(job)

    async def call(self, job: Job, publish: Publish | None = None) -> Outcome:
        """Run an agent while somebody waits; nothing of it is kept.

        Args:
            job: What is asked for.
            publish: Told of what happens, from here or from the event loop.

        Raises:
            NoAgentError: There is no such agent.
            Reject: A gate has refused it.
        """
        agent, tell = self.agent(job.agent), publish or _untold
        if publish is not None:
            self._watcher.watch(job.job_id, publish)
        try:
            return await perform(RUN, job, lambda: agent.run(job.input, job.session_id, tell))
        finally:
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
        task = self._tasks.get(job_id)
        if task is not None:
            task.cancel()
        return job

    def events(self, job_id: str, after: int = 0) -> AsyncGenerator[JobEvent]:
        """The events of a job after one of them, as they come; the last one is ``done``."""

        async def ended() -> Mapping[str, Any] | None:
            job = await self.store.get(job_id, None)
            return {"status": "deleted"} if job is None else done(job) if job.finished else None

        return self._journals.read(job_id, after, ended)

    async def delete(self, job_id: str, tenant_id: str | None = "") -> bool:
        """Delete a finished job; see ``JobStore.delete``."""
        deleted = await self.store.delete(job_id, tenant_id)
        if deleted:
            self._journals.forget(job_id)
        return deleted

    # ------------------------------------------------------------------------------------------ running

    def _begin(self, job: Job) -> "asyncio.Task[None]":
        task = asyncio.create_task(self._guarded(job), name=job.job_id)
        self._tasks[job.job_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(job.job_id, None))
        return task

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
        journal = await self._journals.open(job.job_id)
        try:
            if not job.attempts:
                journal.publish(STATUS, {"status": "queued"})
            async with self._slots:
                started = await self._move(job, "running", worker=self._worker, lease_ns=self._lease())
                if started is not None:
                    await self._execute(started, journal)
        finally:
            await asyncio.shield(self._end(job.job_id))

    async def _execute(self, job: Job, journal: Journal) -> None:
        journal.publish(STATUS, {"status": "running", "attempt": job.attempts})
        publish = journal.publish
        agent = self.agent(job.agent)
        self._watcher.watch(job.job_id, publish)
        try:
            outcome = await perform(JOB, job, lambda: agent.run(job.input, job.session_id, publish))
        except Reject as reject:
            outcome = Outcome(error=reject)
        finally:
            await self._watcher.settle(job.job_id)
        await asyncio.shield(self._finish(job, outcome))
        if isinstance(outcome.error, KeyboardInterrupt | SystemExit):
            raise outcome.error

    async def _finish(self, job: Job, outcome: Outcome) -> None:
        error = outcome.error
        used: dict[str, Any] = {"usage": outcome.usage, "tools": outcome.tools}
        if isinstance(error, asyncio.CancelledError):
            if error.args == ("drain",) and job.retry == "safe" and job.attempts < self._settings.attempts:
                await self._move(job, "queued", worker=self._worker, lease_ns=0, **used)
                return
            said = {"error": DEAD, "error_type": "Drained"} if error.args == ("drain",) else failure(error)
            to: JobStatus = "failed"
        elif error is not None:
            said, to = failure(error), "failed"
        else:
            said, to = {"result": plain(outcome.result)}, "completed"
        try:
            await self._move(job, to, worker=self._worker, **said, **used)
        except TransitionError:  # it was cancelled: what it used counts all the same
            await self.store.note(job.job_id, self._worker, outcome.usage, outcome.tools)

    async def _end(self, job_id: str) -> None:
        """Tell readers how a job has ended, if it has."""
        job = await self.store.get(job_id, None)
        if job is not None and job.finished:
            (await self._journals.open(job_id)).publish(STATUS, {"status": job.status})
            await self._journals.close(job_id, done(job))
        elif job is None:
            self._journals.forget(job_id)

    async def _move(
        self, job: Job, to: JobStatus, *, worker: str, lease_ns: int = 0, expired: bool = False, **changes: Any
    ) -> Job | None:
        change = Transition(to, time.time_ns(), worker, job.worker, lease_ns, changes, expired)
        return await self.store.move(job.job_id, change)

    # ------------------------------------------------------------------------------------------ claims

    def _lease(self) -> int:
        return time.time_ns() + round(self._settings.lease_s * _NS)

    async def _beating(self) -> None:
        while True:
            try:
                await self._renew()
                if not self._closing:
                    await self._take_over()
            except StoreError as error:
                internal.report("jobs.store", error)
            await asyncio.sleep(self._settings.beat_s)

    async def _renew(self) -> None:
        mine = list(self._tasks)
        held = await self.store.renew(mine, self._worker, self._lease())
        for job_id in mine:
            task = self._tasks.get(job_id)
            if job_id not in held and task is not None and not task.cancelling():
                task.cancel()  # once: what it does to end is not to be cancelled again

    async def _take_over(self) -> None:
        """Run jobs that a process has left behind, or mark them as failed."""
        for job in await self.store.expired(time.time_ns()):
            if job.job_id in self._tasks or job.agent not in self._agents:
                continue
            try:
                await self._taken(job)
            except TransitionError:
                continue  # another process was sooner

    async def _taken(self, job: Job) -> None:
        if job.status == "running":
            if job.retry != "safe" or job.attempts >= self._settings.attempts:
                change: dict[str, Any] = {"error": DEAD, "error_type": "ProcessEnded"}
                await self._move(job, "failed", worker="", expired=True, **change)
                await self._end(job.job_id)
                return
            again = await self._move(job, "queued", worker=self._worker, lease_ns=self._lease(), expired=True)
            if again is not None:
                await self._hand_over(again)
        elif self._room():
            self._begin(job)


def _untold(_type: str, _data: Mapping[str, Any]) -> None:
    """Nobody listens."""
