"""Executions that one process begins and another one follows to their end."""

from typing import Any

import pytest

from spanhook import Hooks
from spanhook.engine import registry
from spanhook.schedules import CronEntry, Execution, LostError, Made, Scheduler, Ticker
from spanhook.store import MemoryStates
from tests.schedules.clocked import MINUTE, Clock, Desk, entry, known, looked, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_process_that_ends_leaves_what_goes_on_to_the_next_one() -> None:
    first, second, clock, states = Desk(), Desk(), Clock(), MemoryStates()
    hooks, told = Hooks(), list[tuple[str, Any]]()
    for desk in (first, second):
        desk.free.clear()

    @hooks.after("cron.execute")
    def after(op: Any) -> None:
        told.append(("after", op.request.arguments["scheduled_at"][11:16]))

    @hooks.on_error("cron.execute")
    def on_error(op: Any) -> None:
        told.append(("error", op.request.arguments["scheduled_at"][11:16]))

    registry.swap(None, hooks)
    try:
        async with Scheduler(
            [entry()], first, states, lease=1000, clock=clock, drain_s=0.05, follow=first
        ) as scheduler:
            await known(scheduler)
            clock.now += 60
            scheduler.replace(scheduler.entries)
            await until(lambda: len(first.ticks) == 1)
        assert (first.cancelled, told) == (1, [])
        followed = Desk()
        followed.free.clear()
        async with Scheduler([entry()], second, states, lease=1000, clock=clock, follow=followed) as scheduler:
            await until(lambda: followed.ticks == [MINUTE + 60])
            clock.now += 60
            scheduler.replace(scheduler.entries)
            (past,) = await looked(scheduler, bool)
            assert past.fate == "overlapping"
            followed.free.set()
            _, past = await looked(scheduler, lambda recent: len(recent) == 2)
    finally:
        registry.swap(hooks, None)
    assert (past.fate, past.tick.timestamp(), past.job_id, second.ticks) == ("completed", MINUTE + 60, "job_1", [])
    assert told == [("after", "01:48")]


async def test_a_run_that_another_process_follows_is_told_there_alone() -> None:
    desk, clock, states, hooks, told = Desk(), Clock(), MemoryStates(), Hooks(), list[str]()
    desk.free.clear()

    @hooks.after("cron.execute")
    @hooks.on_error("cron.execute")
    def over(op: Any) -> None:
        told.append(op.status)

    registry.swap(None, hooks)
    try:
        async with Scheduler([entry()], desk, states, clock=clock, lease=0.06, follow=desk) as scheduler:
            await known(scheduler)
            clock.now += 60
            scheduler.replace(scheduler.entries)
            await until(lambda: len(desk.ticks) == 1)
            clock.now += 3600  # its process stood still
            ((_, decided),) = Ticker([entry()], states, lease=10_000, clock=clock, follows=True).poll()
            assert [one.turn for one in decided.followed] == [1]
            await until(lambda: desk.cancelled == 1)
        ((_, state, _),) = Ticker([entry()], states, clock=clock).known()
    finally:
        registry.swap(hooks, None)
    assert told == []
    assert state is not None
    assert [one.turn for one in state.running] == [1]


async def test_what_a_dead_process_has_not_begun_is_lost() -> None:
    desk, clock, states = Desk(), Clock(), MemoryStates()
    before = Ticker([entry()], states, clock=clock)
    before.poll()
    clock.now += 60
    before.poll()
    clock.now += 61

    async def follow(_entry: CronEntry, _execution: Execution, _made: Made) -> None:
        raise LostError("it had begun nothing")

    async with Scheduler([entry()], desk, states, clock=clock, follow=follow) as scheduler:
        found = await looked(scheduler, lambda recent: "lost" in [one.fate for one in recent])
    assert [(one.tick.timestamp(), one.error) for one in found if one.fate == "lost"] == [(MINUTE + 60, "")]
    assert MINUTE + 60 not in desk.ticks
