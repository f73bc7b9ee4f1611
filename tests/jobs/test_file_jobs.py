import os
from pathlib import Path

import pytest

from spanhook.jobs import FileJobs
from tests.jobs.stores import check_bounds, check_store

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_it_keeps_the_promises_of_a_store(tmp_path: Path) -> None:
    await check_store(FileJobs(tmp_path / "jobs"))
    assert len(list((tmp_path / "jobs").glob("job_*.json"))) == 2
    assert not list((tmp_path / "jobs").glob(".new-*"))


async def test_it_does_not_grow_for_ever(tmp_path: Path) -> None:
    (tmp_path / ".new-of-a-crash").write_text("{")
    await check_bounds(FileJobs(tmp_path, most=2, kept_s=5))
    assert len([one for one in os.listdir(tmp_path / "keys") if one]) < 20
    assert not [one for one in os.listdir(tmp_path) if one.startswith(".new-")]
