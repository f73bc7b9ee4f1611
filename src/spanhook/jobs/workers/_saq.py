"""SAQ's queues and worker, with what they lack. Only functions import this, as it imports ``saq``."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final

import saq
from saq.queue import Queue
from saq.types import PartialTimersDict

from spanhook.diagnostics import internal
from spanhook.jobs.queued import tell
from spanhook.jobs.running import QueueError

NAME: Final = "spanhook"
"""The queue's name on its server."""
_FUNCTION = "spanhook.job"
_HEARTBEAT_S = 20
_PAUSE_S = 1.0
_DEQUEUE_S = 2.0
_ANSWER_S = 10.0
_SWEEP_S = 15
_CONNECTIONS = 8


class Patient(Queue):
    """A queue that is not asked again at once after it has failed, which SAQ's worker does without a pause.

    Attributes:
        paused: Whether it delivers nothing.
    """

    paused = False

    async def dequeue(
        self,
        timeout: float = 0.0,  # noqa: ASYNC109 - SAQ's own
        poll_interval: float = 0.0,
    ) -> saq.Job | None:
        if not self.paused:
            try:
                return await super().dequeue(timeout, poll_interval)
            except Exception as error:
                tell(QueueError(f"the queue cannot be used now: {type(error).__name__}"))
        await asyncio.sleep(_PAUSE_S)
        return None

    async def sweep(self, lock: int = _SWEEP_S, abort: float = 5.0) -> list[str]:
        """Forget what workers have taken that are dead by now, and what was taken just now: the store has it.

        Args:
            lock: How long no other worker sweeps, in seconds. SAQ's 60 would keep what a worker had just taken when
                it was killed for longer than a minute.
            abort: How long a job has to end before it is forgotten, in seconds.
        """
        try:
            return await super().sweep(lock, abort)
        except RuntimeError:  # it came to its end meanwhile, and SAQ looks for it
            return []


def make_queue(url: str, *, redis: bool) -> Patient:
    """A queue of SAQ's; it connects later."""
    return _redis_queue(url) if redis else _postgres_queue(url)


async def enqueue(queue: Queue, key: str, job_id: str) -> None:
    """Enqueue a job under a key, unless there is one under it.

    It has no time limit, one try, and nothing is kept of it. SAQ's own limits are 10 s, and results for 10 minutes.
    """
    job = saq.Job(_FUNCTION, {"job_id": job_id}, key=key, timeout=0, heartbeat=_HEARTBEAT_S, retries=1, ttl=-1)
    await queue.enqueue(job)


def _redis_queue(url: str) -> Patient:
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from saq.queue.redis import RedisQueue

    class PatientRedis(Patient, RedisQueue):
        pass

    once = Retry(NoBackoff(), 0)
    client: Any = Redis.from_url(url, socket_connect_timeout=_ANSWER_S, socket_timeout=_ANSWER_S, retry=once)
    return PatientRedis(client, name=NAME)


def _postgres_queue(url: str) -> Patient:
    from saq.queue.postgres import PostgresQueue

    class PatientPostgres(Patient, PostgresQueue):
        pass

    return PatientPostgres(url=url, name=NAME, min_size=1, max_size=_CONNECTIONS)


class Worker(saq.Worker[Any]):
    """A worker that leaves signals to others.

    Args:
        queue: The queue.
        run: Runs the job of an id to its end.
        concurrency: How many at a time.
    """

    SIGNALS: ClassVar[list[signal.Signals]] = []  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, queue: Queue, run: Callable[[str], Awaitable[None]], concurrency: int) -> None:
        timers: PartialTimersDict = {"schedule": 1, "worker_info": 10, "sweep": _SWEEP_S, "abort": 1}
        super().__init__(
            queue,
            [(_FUNCTION, self._job)],
            concurrency=concurrency,
            dequeue_timeout=_DEQUEUE_S,
            timers=timers,
        )
        self._run = run
        logger = logging.getLogger("saq")
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)  # it warns of every end, and of a server that is away once a second

    async def _job(self, ctx: Any, *, job_id: str) -> None:
        beating = asyncio.create_task(_beating(ctx["job"]))
        try:
            await self._run(job_id)
        except QueueError as error:
            tell(error)
        except Exception as error:
            internal.report("jobs.worker", error)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)


async def _beating(job: saq.Job) -> None:
    """Show that a job is still run: else SAQ forgets it, so that it could be enqueued beside itself."""
    while True:
        await asyncio.sleep(_HEARTBEAT_S / 3)
        try:
            await job.update()
        except Exception as error:
            tell(QueueError(f"the queue cannot be used now: {type(error).__name__}"))
