from typing import TYPE_CHECKING

import pytest

from spanhook.jobs import JobEvent
from tests.jobs.stores import check_store

if TYPE_CHECKING:
    from spanhook.store.control import Database

pytestmark = pytest.mark.anyio
pytest.importorskip("sqlalchemy", reason="the extra server is not in every environment")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_it_keeps_the_promises_of_a_store(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    await check_store(SQLJobs(database))


async def test_the_last_events_are_kept(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    log = SQLJobs(database, most=3)
    events = [JobEvent(number, "status", {"n": number}, number) for number in range(1, 6)]
    assert await log.last("j") == 0
    await log.append("j", events[:2])
    await log.append("j", events[2:])
    assert await log.last("j") == 5
    assert await log.read("j", 0) == events[2:]
    assert await log.read("j", 4) == events[4:]
    assert await log.read("other", 0) == []
