"""Schedules whose time a test sets."""

import asyncio
from collections.abc import Callable
from typing import Any

from spanhook import Reject
from spanhook.schedules import CronEntry, Execution, Made, Past, Scheduler

MINUTE = 1_000_000_020.0
"""Seconds since the epoch at a full minute."""


class Clock:
    """Seconds since the epoch, set by a test."""

    now = MINUTE

    def __call__(self) -> float:
        return self.now


class Desk:
    """Notes which ticks it was called for, and waits if told to."""

    def __init__(self) -> None:
        self.ticks: list[float] = []
        self.free = asyncio.Event()
        self.free.set()
        self.cancelled = 0

    async def __call__(self, entry: CronEntry, execution: Execution, made: Made) -> str:
        self.ticks.append(execution.tick.timestamp())
        made(f"job_{len(self.ticks)}")
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if entry.input == "fail":
            raise ValueError("a secret")
        if entry.input == "refuse":
            raise Reject("no money")
        return "done"


def entry(**given: Any) -> CronEntry:
    """A schedule that comes each minute."""
    return CronEntry.model_validate({"id": "news", "schedule": "* * * * *", "agent": "reader", **given})


async def until(found: Callable[[], bool]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(30):
        while True:
            if found():
                return
            await asyncio.sleep(0.005)


async def known(scheduler: Scheduler, rule: str = "") -> None:
    """Wait until each schedule is known, by the times it has now, so that ticks count."""
    async with asyncio.timeout(30):
        while True:
            if all(state is not None and state.rule.startswith(rule) for _, state, _ in await scheduler.known()):
                return
            await asyncio.sleep(0.005)


async def looked(scheduler: Scheduler, found: Callable[[tuple[Past, ...]], bool]) -> tuple[Past, ...]:
    """What is known of the ticks of the only schedule, once ``found`` says that it is enough."""
    async with asyncio.timeout(30):
        while True:
            ((_, state, _),) = await scheduler.known()
            if state is not None and found(state.recent):
                return state.recent
            await asyncio.sleep(0.005)
