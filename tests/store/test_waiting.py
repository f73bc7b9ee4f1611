"""Waiting without holding up an event loop."""

import asyncio
import threading

import trio

from spanhook.store import in_worker, may_wait


def test_code_may_wait_where_no_loop_runs() -> None:
    async def main() -> bool:
        return may_wait()

    assert may_wait()
    assert not asyncio.run(main())
    assert not trio.run(main)
    assert may_wait()


def test_a_worker_is_another_thread() -> None:
    async def main() -> int:
        return await in_worker(threading.get_ident)

    assert asyncio.run(main()) != threading.get_ident()
