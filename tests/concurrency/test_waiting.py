"""What threads wait with for hooks on our loops: cheap, bounded, and never taken at its word."""

import asyncio
import gc
import os
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.concurrency import Bell, bell_of_loop, drive, waiting
from tests.forking import children
from tests.stub import stubbed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="event descriptors are Linux's")


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> "deque[Any]":
    """No bells but those of the test."""
    monkeypatch.setattr(waiting, "_idle", deque())
    monkeypatch.setattr(waiting, "_left", deque(range(waiting.MAX_DESCRIPTORS)))
    return waiting._idle


def events() -> int:
    """How many event descriptors this process has open."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # of this very list
            found += "eventfd" in os.readlink(f"/proc/self/fd/{number}")
    return found


def test_a_bell_is_heard_once_whenever_it_was_rung() -> None:
    bell = bell_of_loop()
    assert not drive(bell.heard(0.001))
    bell.ring()
    bell.ring()
    assert drive(bell.heard(0.0))
    assert not drive(bell.heard(0.0))
    threading.Timer(0.01, bell.ring).start()
    assert drive(bell.heard(60.0))


def test_bells_are_used_again_and_bounded() -> None:
    before = events()
    bells = [bell_of_loop() for _ in range(waiting.MAX_DESCRIPTORS + 8)]
    assert events() == before + waiting.MAX_DESCRIPTORS
    assert [type(one) for one in bells[-8:]] == [Bell] * 8
    first = bells[0]
    first.put_back()
    assert bell_of_loop() is first
    del first, bells
    gc.collect()
    assert events() == before
    assert type(bell_of_loop()) is not Bell


def test_a_process_without_more_files_waits_by_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: int) -> int:
        raise OSError("Too many open files")

    monkeypatch.setattr(os, "eventfd", full)
    assert type(bell_of_loop()) is Bell
    assert len(waiting._left) == waiting.MAX_DESCRIPTORS


def test_a_bell_that_is_rung_for_nothing_lets_no_call_pass(idle: "deque[Any]") -> None:
    """Somebody who waited before may have left before it was rung; a forked child may ring it, too."""
    hooks = Hooks()
    rung = list[Bell]()

    @hooks.before("llm.call", timeout=None)
    async def gate(op: Operation) -> None:
        for _ in range(5):
            rung[0].ring()
            await asyncio.sleep(0.005)
        raise Reject("no")

    with stubbed(hooks) as (library, _):
        for _ in range(3):
            bell = bell_of_loop()
            rung[:] = [bell]
            bell.ring()
            bell.put_back()
            with pytest.raises(Reject, match="no"):
                library.work("x")
            assert list(idle) == [bell]
            bell.ring()
    assert library.calls == []


def test_more_threads_than_bells() -> None:
    count = 3 * waiting.MAX_DESCRIPTORS
    hooks = Hooks()
    together = threading.Barrier(count)

    @hooks.before("llm.call", timeout=None)
    async def gate(op: Operation) -> None:
        await asyncio.to_thread(int)
        if op.request.inputs % 3 == 0:
            raise Reject("no")

    def call(index: int) -> Any:
        together.wait(60.0)
        for _ in range(5):
            try:
                given = library.work(index)
            except Reject:
                given = "refused"
            assert given == ("refused" if index % 3 == 0 else index)
        return index

    before = events()
    with stubbed(hooks) as (library, _), ThreadPoolExecutor(count) as pool:
        assert list(pool.map(call, range(count))) == list(range(count))
    assert events() <= before + waiting.MAX_DESCRIPTORS + 1  # the loop itself


def test_a_forked_child_shares_none_with_its_parent() -> None:
    code = """if True:
        import asyncio, os, spanhook
        from spanhook import Hooks, Reject
        from spanhook.concurrency import waiting

        hooks = Hooks()

        @hooks.before("tool.execute", timeout=60.0)
        async def gate(op):
            await asyncio.sleep(0.001)
            if op.request.arguments["given"] % 2:
                raise Reject("no")

        @hooks.around("tool.execute", timeout=60.0, fail_mode="open")
        async def around(op, call_next):
            return await call_next()

        @spanhook.tool
        def work(given):
            return given if given != 4 else os.fork()

        def calls():
            refused = 0
            for given in range(40):
                if given != 4:
                    try:
                        work(given)
                    except Reject:
                        refused += 1
            return refused == 20

        spanhook.instrument(hooks)
        assert calls() and waiting._idle
        if (child := os.fork()) == 0:
            os._exit(0 if not waiting._idle and calls() and waiting._idle else 1)
        assert calls()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        kept = len(waiting._idle)
        if (inside := work(4)) == 0:  # forked between what a hook did before the call and after it
            os._exit(0 if calls() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1]) == 0
        assert calls() and len(waiting._idle) == kept
    """
    children.run("-c", code, check=True)
