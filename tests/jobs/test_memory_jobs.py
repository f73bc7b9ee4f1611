import pytest

from spanhook.jobs import MemoryJobs
from tests.jobs.stores import check_bounds, check_store

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_it_keeps_the_promises_of_a_store() -> None:
    await check_store(MemoryJobs())


async def test_it_does_not_grow_for_ever() -> None:
    await check_bounds(MemoryJobs(most=2, kept_s=5))
