"""Tasks that do not end when they are cancelled, and where a task waits."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from spanhook.concurrency import ended, give_up, where
from spanhook.diagnostics import internal

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def calls(task: "asyncio.Task[Any]") -> list[str]:
    """The functions of this file in which a task waits."""
    said = where(task).splitlines()
    return [line.rpartition(" ")[2] for line in said if line.startswith(f"  {__file__}:")]


async def waiting(event: asyncio.Event) -> None:
    await event.wait()


async def parts(event: asyncio.Event) -> AsyncGenerator[int]:
    await waiting(event)
    yield 1


async def streaming(event: asyncio.Event) -> None:
    async for _ in parts(event):
        pass


@asynccontextmanager
async def opened(event: asyncio.Event) -> AsyncGenerator[None]:
    await waiting(event)
    yield


async def opening(event: asyncio.Event) -> None:
    async with opened(event):
        pass


class Awaitable:
    """Something that is awaited by ``__await__`` of a coroutine, as clients of databases have it."""

    def __init__(self, event: asyncio.Event) -> None:
        self._event = event

    def __await__(self) -> Any:
        return waiting(self._event).__await__()


async def wrapped(event: asyncio.Event) -> None:
    await Awaitable(event)


async def elsewhere(event: asyncio.Event) -> None:
    await ended(asyncio.create_task(streaming(event)))


@pytest.mark.parametrize(
    ("work", "names"),
    [
        (waiting, ["waiting"]),
        (streaming, ["streaming", "parts", "waiting"]),
        (opening, ["opening", "opened", "waiting"]),
        (wrapped, ["wrapped", "waiting"]),
        (elsewhere, ["elsewhere", "streaming", "parts", "waiting"]),
    ],
)
async def test_where_a_task_waits_is_said(work: Any, names: list[str]) -> None:
    event = asyncio.Event()
    task = asyncio.create_task(work(event))
    for _ in range(5):
        await asyncio.sleep(0)
    assert calls(task) == names
    event.set()
    await task
    assert where(task) == ""


async def test_a_task_that_has_not_begun_waits_at_its_beginning() -> None:
    event = asyncio.Event()
    event.set()
    task = asyncio.create_task(waiting(event))
    assert calls(task) == ["waiting"]
    await task


async def test_only_the_innermost_calls_are_said() -> None:
    event = asyncio.Event()

    async def deep(left: int) -> None:
        await (deep(left - 1) if left else waiting(event))

    task = asyncio.create_task(deep(300))
    await asyncio.sleep(0)
    assert len(calls(task)) == 12
    event.set()
    await task


async def test_who_waits_for_a_task_is_cancelled_without_it() -> None:
    event = asyncio.Event()
    inner = asyncio.create_task(waiting(event))
    outer = asyncio.create_task(ended(inner))
    await asyncio.sleep(0)
    outer.cancel()
    await asyncio.wait((outer,))
    assert (outer.cancelled(), inner.done()) == (True, False)
    event.set()
    await ended(inner)


async def test_tasks_are_cancelled_again_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    heard = Counter[str]()

    async def stubborn(name: str, times: int) -> None:
        while heard[name] < times:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                heard[name] += 1

    tasks = [asyncio.create_task(stubborn(name, times), name=name) for name, times in (("a", 1), ("b", 2), ("c", 3))]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await give_up(tasks, (0.05, 0.05), "tests.stop", "task")
    await asyncio.wait(tasks)  # "c" heeds the third
    assert heard == {"a": 1, "b": 2, "c": 3}
    assert internal.counts.pop("tests.stop") == 1
    (line,) = (one for one in caplog.text.splitlines() if "goes on" in one)
    assert line == "TimeoutError: task c goes on although it is cancelled; it waits in"
    assert f"  {__file__}:{stubborn.__code__.co_firstlineno + 3} stubborn\n" in f"{caplog.text}\n"
    await give_up((), (3600,), "tests.stop", "task")
