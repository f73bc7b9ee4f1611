"""A queue on real servers."""

import pytest

from spanhook.errors import ConfigurationError
from spanhook.jobs import Job, QueueError
from tests.jobs.workers.processes import Place

pytestmark = pytest.mark.anyio


def job(number: int, attempts: int = 0) -> Job:
    return Job(job_id=f"job_{number:032x}", agent="a", attempts=attempts)


async def test_a_job_waits_once(place: Place) -> None:
    from spanhook.jobs.workers import JobQueue

    queue, other = JobQueue(place.queue), JobQueue(place.queue)
    try:
        assert await queue.ready() == 0
        await queue.put(job(1))
        await other.put(job(1))
        await queue.put(job(2))
        assert (await queue.ready(), await other.ready()) == (2, 2)
        await queue.put(job(1, attempts=1))
        await queue.put_back(job(1).job_id)
        assert await other.ready() == 4
    finally:
        await queue.close()
        await other.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///jobs.db", r"the queue sqlite:///.*jobs.db cannot be used; expected redis://"),
        ("memory://", "the queue memory:// cannot be used"),
        ("amqp://localhost", "a store cannot be opened"),
        ("redis://", "has no host"),
    ],
)
async def test_an_address_that_is_none_of_a_queue_is_refused(url: str, said: str) -> None:
    from spanhook.jobs.workers import JobQueue

    with pytest.raises(ConfigurationError, match=said):
        JobQueue(url)


@pytest.mark.parametrize("url", ["redis://user:secret@127.0.0.1:9/0", "postgresql://user:secret@127.0.0.1:9/jobs"])
async def test_a_server_that_is_away_is_named_without_its_password(url: str) -> None:
    from spanhook.jobs.workers import JobQueue

    queue = JobQueue(url, timeout_s=0.5)
    try:
        with pytest.raises(QueueError, match=r"the queue .*127.0.0.1:9/.* cannot be used now") as raised:
            await queue.ready()
        assert "secret" not in str(raised.value)
    finally:
        await queue.close()
