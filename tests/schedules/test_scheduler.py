"""Schedules that run: what each tick comes to, in one process and in several, and after one of them has died."""

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Reject, testing
from spanhook.diagnostics import internal
from spanhook.engine import registry
from spanhook.model import Event
from spanhook.schedules import Fate, Past, Scheduler, Ticker
from spanhook.store import MemoryStates, PostgresStates, SQLiteStates, States
from tests.forking import children
from tests.schedules.clocked import MINUTE, Clock, Desk, entry, known, looked, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> States:
    if request.param == "postgresql":
        return PostgresStates(request.getfixturevalue("postgres_url"))
    return MemoryStates() if request.param == "memory" else SQLiteStates(str(tmp_path / "states.db"))


@pytest.mark.slow
async def test_a_tick_is_run_and_remembered(states: States) -> None:
    desk, clock = Desk(), Clock()
    async with Scheduler([entry()], desk, states, clock=clock) as scheduler:
        await known(scheduler)
        clock.now += 60
        scheduler.replace([entry()])
        (past,) = await looked(scheduler, bool)
        ((_, _, next_at),) = await scheduler.known()
    assert desk.ticks == [MINUTE + 60]
    assert (past.fate, past.job_id, past.error, past.tick.timestamp()) == ("completed", "job_1", "", MINUTE + 60)
    assert next_at is not None
    assert next_at.timestamp() == MINUTE + 120


@pytest.mark.parametrize(
    ("given", "fate", "error"), [("fail", "failed", "ValueError"), ("refuse", "failed", "no money")]
)
async def test_how_a_run_fails_is_remembered_without_what_it_said(given: str, fate: Fate, error: str) -> None:
    clock = Clock()
    async with Scheduler([entry(input=given)], Desk(), clock=clock) as scheduler:
        await known(scheduler)
        clock.now += 60
        scheduler.replace(scheduler.entries)
        (past,) = await looked(scheduler, bool)
    assert (past.fate, past.error) == (fate, error)


async def test_a_hook_refuses_a_tick() -> None:
    hooks, told, desk, clock = Hooks(), list[dict[str, Any]](), Desk(), Clock()

    @hooks.before("cron.execute", names={"news"})
    async def closed(op: Any) -> None:
        assert op.request.arguments["scheduled_at"] == "2001-09-09T01:48:00+00:00"
        raise Reject("closed today")

    def tell(event: Event) -> None:
        told.append(event.payload())

    hooks.on("cron:executed", tell)
    registry.swap(None, hooks)
    try:
        async with Scheduler([entry(tenant_id="acme")], desk, clock=clock) as scheduler:
            await known(scheduler)
            clock.now += 60
            scheduler.replace(scheduler.entries)
            (past,) = await looked(scheduler, bool)
        hooks.flush()
    finally:
        registry.swap(hooks, None)
    assert (past.fate, past.error, desk.ticks) == ("failed", "closed today", [])
    assert [(one["cron_id"], one["agent_name"], one["tenant_id"]) for one in told] == [("news", "reader", "acme")]
    assert told[0]["execution_id"] == past.execution_id


@pytest.mark.parametrize("overlap", ["skip", "wait", "allow"])
async def test_ticks_overlap_as_they_may(overlap: str) -> None:
    desk, clock = Desk(), Clock()
    desk.free.clear()
    with testing.recorder() as recorded:
        found = await overlapped(overlap, desk, clock)
    ran = [one.tick.timestamp() - MINUTE for one in found if one.fate == "completed"]
    assert sorted(ran) == ([60] if overlap == "skip" else [60, 120])
    counts = {told["spanhook.cron.outcome"]: number for told, number in recorded.metrics()["spanhook.cron.ticks"]}
    assert counts == ({"completed": 1, "overlapping": 1} if overlap == "skip" else {"completed": 2})


async def overlapped(overlap: str, desk: Desk, clock: Clock) -> tuple[Past, ...]:
    """What becomes of two ticks, the second of which comes while the first is under way."""
    async with Scheduler([entry(overlap=overlap)], desk, lease=1000, clock=clock) as scheduler:
        await known(scheduler)
        clock.now += 60
        scheduler.replace(scheduler.entries)
        await until(lambda: len(desk.ticks) == 1)
        clock.now += 60
        scheduler.replace(scheduler.entries)
        if overlap == "skip":
            (past,) = await looked(scheduler, bool)
            assert past.fate == "overlapping"
        elif overlap == "allow":
            await until(lambda: len(desk.ticks) == 2)
        desk.free.set()
        return await looked(scheduler, lambda recent: len(recent) == 2)


async def test_a_schedule_that_changes_counts_from_then_on() -> None:
    desk, clock = Desk(), Clock()
    async with Scheduler([entry(schedule="0 0 * * *")], desk, clock=clock) as scheduler:
        await known(scheduler)
        scheduler.replace([entry(missed="all")])
        ((changed, _, next_at),) = await scheduler.known()
        assert changed.schedule == "* * * * *"
        assert next_at is not None
        assert next_at.timestamp() == MINUTE + 60

        await known(scheduler, "* * *")
        clock.now += 60
        scheduler.replace(scheduler.entries)
        await looked(scheduler, bool)
        scheduler.replace([])
        clock.now += 60
        assert await scheduler.known() == []
    assert desk.ticks == [MINUTE + 60]


async def test_closing_cancels_what_does_not_end() -> None:
    desk, clock, states = Desk(), Clock(), MemoryStates()
    desk.free.clear()
    async with Scheduler([entry()], desk, states, clock=clock, drain_s=0.05) as scheduler:
        await known(scheduler)
        clock.now += 60
        scheduler.replace(scheduler.entries)
        await until(lambda: len(desk.ticks) == 1)
    assert desk.cancelled == 1
    ((_, state, _),) = Ticker([entry()], states, clock=clock).known()
    assert state is not None
    assert ([one.fate for one in state.recent], state.running) == (["cancelled"], ())


async def test_what_goes_on_although_it_is_cancelled_does_not_stop_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    monkeypatch.setattr(internal, "_seen", set[str]())
    monkeypatch.setattr("spanhook.schedules.scheduler._STOPS_S", (0.05, 0.05))
    began, enough, clock = asyncio.Event(), asyncio.Event(), Clock()

    async def stubborn(*_given: Any) -> None:
        began.set()
        while not enough.is_set():
            with suppress(asyncio.CancelledError):
                await enough.wait()

    async with asyncio.timeout(30), Scheduler([entry()], stubborn, clock=clock, drain_s=0) as scheduler:
        await known(scheduler)
        clock.now += 60
        scheduler.replace(scheduler.entries)
        await began.wait()
    enough.set()
    assert internal.counts.pop("schedules.stop") == 1
    assert "schedule news goes on although it is cancelled; it waits in\n" in caplog.text
    assert f"  {__file__}:{stubborn.__code__.co_firstlineno + 4} stubborn\n" in f"{caplog.text}\n"


async def test_an_execution_is_kept_while_it_runs_and_stops_once_it_was_given_up() -> None:
    desk, clock, states = Desk(), Clock(), MemoryStates()
    desk.free.clear()
    async with Scheduler([entry()], desk, states, clock=clock, lease=0.06) as scheduler:
        await known(scheduler)
        clock.now += 60
        scheduler.replace(scheduler.entries)
        await until(lambda: len(desk.ticks) == 1)
        clock.now += 3600  # its process stood still
        other = Ticker([entry()], states, clock=clock)
        ((_, decided),) = other.poll()
        assert "lost" in [one.reason for one in decided.passed]
        await until(lambda: desk.cancelled == 1)


async def test_a_store_that_fails_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    desk, clock = Desk(), Clock()
    states = SQLiteStates(str(tmp_path / "gone" / "states.db"))
    scheduler = Scheduler([entry()], desk, states, clock=clock)
    try:
        await scheduler.start()
        await until(lambda: internal.counts["schedules.store"] > 0)
        (tmp_path / "gone").mkdir()
        scheduler.replace(scheduler.entries)
        await known(scheduler)
        clock.now += 60
        scheduler.replace(scheduler.entries)
        await looked(scheduler, bool)
    finally:
        await scheduler.close()
    assert desk.ticks == [MINUTE + 60]


DYING = """if True:
    import asyncio, os, signal, sys
    from spanhook.schedules import Scheduler
    from tests.schedules.clocked import Clock, entry
    from spanhook.store import SQLiteStates
    async def work(_entry, execution, made):
        print("began", flush=True)
        await asyncio.sleep(3600)
    async def main():
        clock = Clock()
        clock.now += 60
        async with Scheduler([entry()], work, SQLiteStates(sys.argv[1]), clock=clock):
            await asyncio.sleep(3600)
    asyncio.run(main())
"""


async def test_a_tick_of_a_process_that_is_killed_is_recorded_as_lost_and_told(tmp_path: Path) -> None:
    path = str(tmp_path / "states.db")
    clock, hooks, told = Clock(), Hooks(), list[dict[str, Any]]()
    states = SQLiteStates(path)
    Ticker([entry()], states, clock=clock).poll()
    with children.Piped("-W", "error", "-c", DYING, path) as dying:
        assert await asyncio.to_thread(dying.stdout.readline) == "began\n"

    asked = list[str]()

    @hooks.before("cron.execute")
    async def gate(op: Any) -> None:
        asked.append(op.name)

    def tell(event: Event) -> None:
        told.append({**event.payload(), "error": type(event.error).__name__})

    hooks.on("cron:executed", tell)
    registry.swap(None, hooks)
    desk = Desk()
    clock.now += 60
    try:
        async with Scheduler([entry()], desk, states, clock=clock) as scheduler:
            clock.now += 61
            scheduler.replace(scheduler.entries)
            found = await looked(scheduler, lambda recent: len(recent) >= 2)
        hooks.flush()
    finally:
        registry.swap(hooks, None)
    assert found[0].fate == "lost"
    assert MINUTE + 60 not in desk.ticks, "it is run at most once"
    lost = [one for one in told if one["execution_id"] == found[0].execution_id]
    assert [(one["error"], one["cron_id"]) for one in lost] == [("LostError", "news")]
    assert len(asked) == len(told) - 1, "gates were asked about it before it was lost"


MANY = """if True:
    import asyncio, sys
    from spanhook.schedules import Scheduler
    from tests.schedules.clocked import Clock, entry
    from spanhook.store import PostgresStates, SQLiteStates
    async def work(_entry, execution, made):
        print(int(execution.tick.timestamp()), flush=True)
    async def main():
        clock = Clock()
        states = (PostgresStates if sys.argv[1].startswith("postgresql:") else SQLiteStates)(sys.argv[1])
        cron = [entry(missed="all", overlap="allow")]
        async with Scheduler(cron, work, states, lease=1_000_000, clock=clock, drain_s=30) as scheduler:
            for _ in range(30):
                clock.now += 60
                scheduler.replace(cron)
                await asyncio.sleep(0.01)
            while True:
                ((_, state, _),) = await scheduler.known()
                if state.last.timestamp() >= clock.now:
                    break
                await asyncio.sleep(0.01)
    asyncio.run(main())
"""


@pytest.mark.one_value
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_two_processes_run_each_tick_once(tmp_path: Path, request: pytest.FixtureRequest, kind: str) -> None:
    path = request.getfixturevalue("postgres_url") if kind == "postgresql" else str(tmp_path / "states.db")
    states = PostgresStates(path) if kind == "postgresql" else SQLiteStates(path)
    Ticker([entry()], states, clock=Clock()).poll()
    states.close()
    processes = [children.Piped("-W", "error", "-c", MANY, path) for _ in range(2)]
    told = [await asyncio.to_thread(one.communicate) for one in processes]
    assert [one.wait() for one in processes] == [0, 0]
    ticks = Counter(int(line) for text in told for line in text.splitlines())
    assert ticks == Counter(int(MINUTE) + 60 * (number + 1) for number in range(30))
