import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.jobs import Journal

STEPS = st.lists(st.sampled_from(("publish", "publish", "read", "drop")), max_size=60)


def now() -> int:
    return 1


@given(STEPS, st.integers(1, 8), st.integers(1, 3))
def test_a_reader_that_drops_and_comes_back_sees_each_event_once_or_hears_that_it_is_lost(
    steps: list[str], most: int, most_read: int
) -> None:
    async def follow() -> None:
        journal, seen, gone = Journal(now, most=most), list[int](), set[int]()
        last = 0

        async def read(limit: int | None) -> None:
            nonlocal last
            reader = journal.read(last)
            async for event in reader:
                last = event.id
                if event.type == "lost":
                    gone.update(range(event.data["from"], event.data["to"] + 1))
                else:
                    seen.append(event.id)
                if limit is not None and (limit := limit - 1) <= 0:
                    break
            await reader.aclose()

        for step in steps:
            if step == "publish":
                journal.publish("text:delta", {})
            elif step == "read" and last < journal.last:
                await read(min(most_read, len(journal.since(last))))
        journal.publish("done", {})
        await read(None)
        assert seen == sorted(set(seen))
        assert not gone & set(seen)
        assert gone | set(seen) == set(range(1, journal.last + 1))
        assert seen[-1] == journal.last
        assert journal.publish("status", {}) is None

    asyncio.run(follow())


def test_many_readers_see_the_same() -> None:
    async def follow() -> None:
        journal = Journal(now)

        async def read() -> list[int]:
            return [event.id async for event in journal.read()]

        readers = [asyncio.create_task(read()) for _ in range(5)]
        for _ in range(20):
            journal.publish("text:delta", {})
            await asyncio.sleep(0)
        journal.publish("done", {})
        assert await asyncio.gather(*readers) == [list(range(1, 22))] * 5

    asyncio.run(follow())


@pytest.mark.parametrize("body", [{"body": "x" * 1_000_000}, ["x" * 999, {"n": "y" * 999_001}]])
def test_data_counts_towards_what_is_kept_like_text(body: Any) -> None:
    journal = Journal(now)
    for _ in range(50):
        journal.publish("tool:result", {"output": body})
    kept = journal.since(0)
    assert kept[0].type == "lost"
    assert len(kept) <= 3
    for _ in range(1500):
        journal.publish("text:delta", {"text": "x"})
    assert len(journal.since(0)) == 1001
    assert journal._characters == sum(journal._sizes) == 1000
