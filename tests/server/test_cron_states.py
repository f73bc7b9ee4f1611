"""What webhooks are told of ticks: with the state of the schedule, or not at all."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, select

from spanhook.schedules import CronEntry, Execution, Ticker
from spanhook.server import LOCAL
from spanhook.server.cron_states import CRON_EVENTS, CronStates, telling
from spanhook.server.sealing import Seal
from spanhook.server.webhook_store import WebhookStore
from spanhook.store.control import Database, tables

pytestmark = pytest.mark.anyio
NINE = datetime(2026, 1, 30, 9, tzinfo=UTC)
NEWS = CronEntry(id="news", schedule="* * * * *", agent="reporter", tenant_id="acme", missed="skip", overlap="skip")
OTHER = CronEntry(id="other", schedule="* * * * *", agent="reporter", tenant_id="globex")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class At:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = NINE

    def __call__(self) -> float:
        return self.now.timestamp()


def ticker(database: Database, clock: At, lease: float = 60) -> Ticker:
    entries = [NEWS, OTHER]
    return Ticker(entries, CronStates(database, telling(entries)), lease, clock)


async def listening(database: Database, *events: str) -> None:
    given = {"url": "https://hooks.example/", "events": list(events), "enabled": True, "ordered": False}
    await WebhookStore(database, Seal(b"k" * 32)).create(LOCAL, "acme", given)


async def told(database: Database) -> list[tuple[str, dict[str, str]]]:
    import json

    query = select(tables.webhook_deliveries.c.body).order_by(tables.webhook_deliveries.c.id)
    async with database.reading() as connection:
        bodies = [json.loads(body) for body in (await connection.execute(query)).scalars()]
    return [(body["type"].removeprefix("spanhook."), body["data"]) for body in bodies]


def ticked(database: Database) -> None:
    """One tick that is completed, one that fails, one that comes meanwhile, one whose process dies, and one missed."""
    clock = At()
    one = ticker(database, clock)

    def begun() -> Execution:
        ((_, decided),) = [each for each in one.poll() if each[0] is NEWS]
        (execution,) = decided.run
        return execution

    one.poll()
    clock.now += timedelta(minutes=1)
    one.end("news", begun(), job_id="job_1")
    clock.now += timedelta(minutes=1)
    failing = begun()
    clock.now += timedelta(seconds=55)
    one.extend("news", failing)
    clock.now += timedelta(seconds=5)
    one.poll()
    one.end("news", failing, "failed", error="ValueError")
    clock.now += timedelta(minutes=1)
    begun()
    clock.now += timedelta(minutes=5, seconds=30)
    one.poll()


async def test_each_tick_is_told_to_its_tenant_with_what_became_of_it(database: Database) -> None:
    await listening(database, "cron.*")
    await asyncio.to_thread(ticked, database)
    events = await told(database)
    assert {data["cron_id"] for _, data in events} == {"news"}
    assert {data["agent_name"] for _, data in events} == {"reporter"}
    seen = [(name, data["tick"][11:16], data.get("job_id"), data.get("reason")) for name, data in events]
    assert seen[:5] == [
        ("cron.started", "09:01", None, None),
        ("cron.completed", "09:01", "job_1", None),
        ("cron.started", "09:02", None, None),
        ("cron.overlapping", "09:03", None, None),
        ("cron.failed", "09:02", None, "ValueError"),
    ]
    assert seen[5] == ("cron.started", "09:04", None, None)
    assert ("cron.lost", "09:04", None, None) in seen[6:]
    assert {name for name, *_ in seen} <= {*CRON_EVENTS}
    with_id = [data for name, data in events if name in ("cron.started", "cron.lost") and "T09:04" in data["tick"]]
    assert len({data["execution_id"] for data in with_id}) == 1


async def test_many_ticks_that_were_missed_together_are_one_event(database: Database) -> None:
    await listening(database, "cron.*")

    def missed() -> None:
        clock = At()
        one = ticker(database, clock)
        one.poll()
        clock.now += timedelta(hours=2, seconds=90)
        one.poll()

    await asyncio.to_thread(missed)
    (event, data), *rest = await told(database)
    assert (event, data["count"]) == ("cron.missed", 120)
    assert (data["first_tick"][11:], data["tick"][11:]) == ("09:01:00Z", "11:00:00Z")
    assert [name for name, _ in rest] == ["cron.started"]


async def test_the_state_does_not_change_if_nobody_can_be_told(database: Database) -> None:
    def failing(_connection: Connection, _key: str, _before: str | None, _after: str, _result: object) -> None:
        raise RuntimeError("no")

    states = CronStates(database, failing)
    with pytest.raises(RuntimeError, match="no"):
        await asyncio.to_thread(states.change, "cron:news", lambda _: ("new", None))
    assert await asyncio.to_thread(states.read, ["cron:news"]) == {}


async def test_threads_change_one_after_the_other(database: Database) -> None:
    states = CronStates(database)

    def count() -> None:
        for _ in range(20):
            states.change("cron:news", lambda before: (str(int(before or 0) + 1), None))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        await asyncio.to_thread(one.join)
    assert await asyncio.to_thread(states.read, ["cron:news", "cron:none"]) == {"cron:news": "80"}
