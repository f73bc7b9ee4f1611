"""Ticks of schedules as jobs of the agents that are served."""

import asyncio
from typing import Any

from spanhook.errors import Reject, SpanhookError
from spanhook.jobs import Job, Runner, new_job
from spanhook.schedules import CronEntry, Execution, LostError, Made


class JobFailedError(SpanhookError):
    """The job of a tick has failed.

    Attributes:
        error_type: The name of its exception.
    """

    def __init__(self, job: Job) -> None:
        super().__init__(f"{job.job_id} has failed: {job.error_type}")
        self.error_type = job.error_type


class Jobs:
    """Makes a job of each tick, and waits for its end. Its gates are asked first, as for a request.

    Args:
        runner: Runs the jobs.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def __call__(self, entry: CronEntry, execution: Execution, made: Made) -> Any:
        """What the job has returned.

        Raises:
            Reject: A gate has refused the job; before it, there is none.
            JobFailedError: It has failed.
            FullError: Too many jobs wait.
            CancelledError: It was cancelled, or goes on in another process.
        """
        asked = new_job(
            entry.agent,
            entry.input,
            tenant_id=entry.tenant_id,
            session_id=entry.session_id,
            key=_key(execution),
        )
        job = await self._runner.submit(asked)
        return await self._result(job, made)

    async def follow(self, entry: CronEntry, execution: Execution, made: Made) -> Any:
        """What the job has returned that another process has made of a tick.

        Raises:
            LostError: There is none.
            Reject, JobFailedError, CancelledError: As when it is made here.
        """
        job = await self._runner.store.find(entry.tenant_id, entry.agent, _key(execution))
        if job is None:
            raise LostError(f"execution {execution.execution_id} has no job: its process has died")
        return await self._result(job, made)

    async def _result(self, job: Job, made: Made) -> Any:
        made(job.job_id)
        async for _ in self._runner.events(job.job_id):
            pass
        ended = await self._runner.store.get(job.job_id, None)
        if ended is None or ended.status != "failed":
            if ended is not None and ended.status == "completed":
                return ended.result
            raise asyncio.CancelledError
        if ended.error_type == "Reject":
            raise Reject(ended.error, status_code=ended.status_code or 403)
        raise JobFailedError(ended)


def _key(execution: Execution) -> str:
    return f"cron:{execution.execution_id}"
