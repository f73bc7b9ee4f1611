import time
from pathlib import Path

import pytest

from spanhook.jobs import FileJobs, JobStatus, MemoryJobs, Retry, RunnerSettings, TransitionError, new_job
from spanhook.jobs.claims import Claims

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("status", "retry", "attempts", "after"),
    [
        ("queued", "never", 0, "queued"),
        ("running", "never", 1, "failed"),
        ("running", "safe", 1, "queued"),
        ("running", "safe", 3, "failed"),
    ],
)
async def test_what_nobody_holds_is_taken_by_one(
    status: JobStatus, retry: Retry, attempts: int, after: JobStatus
) -> None:
    store = MemoryJobs()
    left = await store.create(new_job("a", None, status=status, retry=retry, attempts=attempts, worker="dead"))
    settings = RunnerSettings()
    first, second = (Claims(store, name, settings) for name in ("w1", "w2"))
    taken = await first.take(left)
    assert taken is not None
    assert taken.status == after
    with pytest.raises(TransitionError):
        await second.take(left)
    if after == "queued":
        assert taken.worker == "w1"
        assert await first.lost([taken.job_id]) == frozenset()
        assert await second.lost([taken.job_id]) == {taken.job_id}


async def test_what_is_given_back_can_be_taken_at_once() -> None:
    store = MemoryJobs()
    first, second = (Claims(store, name, RunnerSettings()) for name in ("w1", "w2"))
    job = await store.create(new_job("a", None, worker="w1", lease_ns=first.until_ns()))
    with pytest.raises(TransitionError):
        await second.take(job)
    given = await first.give_back(job)
    assert given is not None
    taken = await second.take(given)
    assert taken is not None
    assert taken.worker == "w2"


async def test_claims_that_hold_shortly_are_renewed_too(tmp_path: Path) -> None:
    """Stores leave out renewals that change little; of two seconds, half of one is not little."""
    store = FileJobs(tmp_path)
    claims = Claims(store, "w1", RunnerSettings(lease_s=2))
    before = time.time_ns()
    job = await store.create(new_job("a", None, worker="w1", lease_ns=before + 1_500_000_000))
    assert await claims.lost([job.job_id]) == frozenset()
    [renewed] = await store.expired(before + 3_600_000_000_000)
    assert renewed.lease_ns >= before + 2_000_000_000
