import asyncio

import pytest

from spanhook.errors import StoreError
from spanhook.jobs.patience import Turns, patiently, uninterrupted

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_is_not_interrupted_ends_before_the_cancellation_is_raised() -> None:
    go, done = asyncio.Event(), list[str]()

    async def work() -> None:
        await go.wait()
        done.append("work")

    async def around() -> None:
        try:
            await uninterrupted(work())
        finally:
            done.append("left")

    task = asyncio.create_task(around())
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["work", "left"]


async def test_what_it_returns_and_raises_is_passed_on() -> None:
    async def returns() -> int:
        return 3

    async def raises() -> int:
        raise ValueError("no")

    assert await uninterrupted(returns()) == 3
    with pytest.raises(ValueError, match="no"):
        await uninterrupted(raises())


async def test_a_store_that_comes_back_is_waited_for() -> None:
    tries = list[int]()

    async def at_third() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise StoreError("away")
        return "there"

    assert await patiently(at_third, lambda: 10) == "there"
    tries.clear()
    with pytest.raises(StoreError):
        await patiently(at_third, lambda: 0)


async def test_turns_are_taken_one_at_a_time_for_each_key() -> None:
    turns, inside, most = Turns(), list[int](), list[int]()

    async def take(key: str) -> None:
        async with turns.of(key):
            inside.append(1)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.pop()

    await asyncio.gather(*(take("a") for _ in range(10)))
    assert max(most) == 1
    await asyncio.gather(take("a"), take("b"))
    assert max(most) == 2
