"""The benchmark of workers measures what it says."""

from pathlib import Path

import pytest
from benchmarks.control_plane.workers import in_workers

from tests.jobs.workers.processes import Place

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_workers_are_measured(place: Place, tmp_path: Path) -> None:
    found = await in_workers(place.database, place.queue, 4, 2, tmp_path)
    assert found["ms_of_cpu"] > 0
    assert found["per_minute_of_cpu"] == pytest.approx(60_000 / found["ms_of_cpu"])
    for where in ("cancel_ms", "cancel_in_worker_ms"):
        assert 0 < found[where]["median"] <= found[where]["worst"]
