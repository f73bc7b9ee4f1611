"""What ends off the call: streams that nobody reads to the end, whose hooks need the application's event loop."""

import asyncio
import gc
import time

import pytest

from spanhook import Hooks, Operation
from spanhook.concurrency import reaper
from tests.stub import Library, stubbed

hooks = Hooks()
ended: list[str] = []


@hooks.after("*")
async def after(op: Operation) -> None:
    await asyncio.sleep(0)
    ended.append(op.status)


@pytest.mark.parametrize("closed", [False, True], ids=["stopped", "closed"])
def test_dropped_just_before_the_loop_stops(closed: bool) -> None:
    ended.clear()
    loop = asyncio.new_event_loop()

    async def reads_one(library: Library) -> str:
        stream = library.awords("hey")
        letter = await anext(stream)
        del stream
        gc.collect()
        time.sleep(0.2)  # noqa: ASYNC251 - the end is handed to the loop, which does not come to it
        return str(letter)

    with stubbed(hooks) as (library, seen):
        assert loop.run_until_complete(reads_one(library)) == "h"
        if closed:
            loop.close()
        assert reaper.drain(3.0)
        assert ended == ["abandoned"]
        assert [op.status for op in seen.operations] == ["abandoned"]
        if not closed:
            loop.run_until_complete(asyncio.sleep(0.01))
            loop.close()
        assert ended == ["abandoned"]
        assert len(seen.spans) == 1
