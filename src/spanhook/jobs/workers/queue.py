"""A queue of jobs on Redis or PostgreSQL.

What is in it are ids of jobs. A job waits there once, and leaves nothing behind.
"""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from spanhook.errors import ConfigurationError
from spanhook.jobs.job import Job
from spanhook.jobs.running import QueueError
from spanhook.store import parse_address

if TYPE_CHECKING:
    from spanhook.jobs.workers._saq import Patient

T = TypeVar("T")
TIMEOUT_S = 2.0
"""How long an answer of the queue may take, in seconds."""


class JobQueue:
    """A queue that servers put jobs into, and workers take them from. One event loop uses it.

    Args:
        url: ``redis://``, ``rediss://`` or ``postgresql://``; PostgreSQL gets the tables of SAQ.
        timeout_s: How long an answer may take, in seconds.

    Attributes:
        shown: The address for messages, without user and password.

    Raises:
        ConfigurationError: The address cannot be used, or the extra ``worker`` is not installed.
    """

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        address = parse_address(url)
        if address.scheme not in ("redis", "postgresql"):
            raise ConfigurationError(
                f"the queue {address.shown} cannot be used; expected redis://HOST:PORT/NUMBER or postgresql://HOST/NAME"
            )
        self.shown, self._url, self._redis, self._timeout_s = address.shown, url, address.scheme == "redis", timeout_s
        self._queue: Patient | None = None
        self._connecting = asyncio.Lock()
        self._connected = False
        needed = ("saq", "redis" if self._redis else "psycopg_pool")
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            raise ConfigurationError(
                f'the queue {self.shown} needs the package {missing[0]}; pip install "spanhook[worker]"'
            )

    async def ready(self) -> int:
        """How many jobs wait.

        Raises:
            QueueError: The queue cannot be used now.
        """
        return await self._asked(lambda queue: queue.count("queued"))

    async def put(self, job: Job) -> None:
        """Enqueue a job, unless it waits there already.

        Raises:
            QueueError: The queue cannot be used now.
        """
        await self._put(f"{job.job_id}.{job.attempts}", job.job_id)

    async def put_back(self, job_id: str) -> None:
        """Enqueue a job that was taken out and not begun.

        Raises:
            QueueError: The queue cannot be used now.
        """
        await self._put(f"{job_id}.{uuid4().hex}", job_id)  # SAQ is not done yet with the name that it had

    async def _put(self, key: str, job_id: str) -> None:
        from spanhook.jobs.workers._saq import enqueue

        await self._asked(lambda queue: enqueue(queue, key, job_id))

    async def queue(self) -> "Patient":
        """SAQ's queue.

        Raises:
            QueueError: It cannot be used now.
        """
        return await self._asked(self._itself)

    async def _itself(self, queue: "Patient") -> "Patient":
        return queue

    async def close(self) -> None:
        """Close the connections."""
        queue, self._queue = self._queue, None
        if queue is not None:
            try:
                async with asyncio.timeout(self._timeout_s):
                    await queue.disconnect()
            except Exception:  # it is away, and nothing is lost by it
                return

    async def _asked(self, do: "Callable[[Patient], Awaitable[T]]") -> T:
        if self._queue is None:
            from spanhook.jobs.workers._saq import make_queue

            self._queue = make_queue(self._url, redis=self._redis)
        queue = self._queue
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._connect(queue)
                return await do(queue)
        except Exception as error:  # of SAQ, of one of two clients, or of the network
            reason = f"no answer for {self._timeout_s:g} s" if isinstance(error, TimeoutError) else type(error).__name__
            raise QueueError(f"the queue {self.shown} cannot be used now: {reason}") from error

    async def _connect(self, queue: "Patient") -> None:
        async with self._connecting:
            if not self._connected:
                await queue.connect()
                await queue.count("queued")  # another process may be about to make the tables
                self._connected = True
