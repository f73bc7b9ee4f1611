from pathlib import Path

import pytest

from spanhook.jobs import FileJobs
from tests.jobs.stores import check_store

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_it_keeps_the_promises_of_a_store(tmp_path: Path) -> None:
    await check_store(FileJobs(tmp_path / "jobs"))
    assert len(list((tmp_path / "jobs").glob("job_*.json"))) == 2
    assert not list((tmp_path / "jobs").glob(".new-*"))
