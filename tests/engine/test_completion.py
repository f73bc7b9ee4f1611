"""What ends off the call: streams that nobody reads to the end, whose hooks need the application's event loop."""

import asyncio
import gc
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.concurrency import drive, reaper
from spanhook.engine._completion import interrupted
from spanhook.engine._gates import apasses, passes
from spanhook.engine.beginning import begin
from spanhook.model import Adapter, Editing, Following, Record, current
from spanhook.testing import recorder
from tests.stub import WHOLE, Library, passing, stubbed, use

hooks = Hooks()
ended: list[str] = []


@hooks.after("*")
async def after(op: Operation) -> None:
    await asyncio.sleep(0)
    ended.append(op.status)


# A closed loop closes no generators that were dropped: CPython 3.13 warns of that, as it does without spanhook.
@pytest.mark.filterwarnings("ignore:coroutine method 'aclose':RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning")
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
        assert reaper.drain(60.0)
        assert ended == ["abandoned"]
        assert [op.status for op in seen.operations] == ["abandoned"]
        if not closed:
            loop.run_until_complete(asyncio.sleep(0.01))
            loop.close()
        assert ended == ["abandoned"]
        assert len(seen.spans) == 1


FOLLOWING = Adapter(
    kind="agent.delegate",
    start=lambda *_call: {},
    editing=Editing(rejected=lambda *_call: "stayed"),
)


@pytest.mark.parametrize("chained", [True, False])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_hooks_after_a_call_see_what_came_of_the_operations_that_follow_from_it(
    mode: str, chained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Hooks()
    told: list[Any] = []
    asked.around("llm.call", timeout=None if chained else 1.0)(passing)

    @asked.before("agent.delegate")
    def stay(op: Operation) -> None:
        told.append(op.kind)
        raise Reject("stay")

    @asked.around("llm.call")
    def around(op: Operation) -> Iterator[None]:
        yield
        told.append(op.result)

    @asked.after("llm.call")
    def look(op: Operation) -> None:
        told.append(op.result)

    made = replace(WHOLE, follows=lambda *_call: (Following(FOLLOWING, None),))
    monkeypatch.setattr("tests.stub.WHOLE", made)
    with stubbed(asked) as (library, _):
        assert use(library, mode, "went") == "stayed"
    assert told == ["agent.delegate", "stayed", "stayed"]


def test_the_thread_that_ends_what_is_dropped_is_there_before_anything_can_be() -> None:
    """A finalizer, which may run anywhere, cannot start one."""
    guarded = Hooks()
    guarded.around("llm.call")(passing)
    reaper.drain()
    reaper.renew()
    before = threading.enumerate()
    with stubbed(guarded) as (library, seen):
        call = library.awork("given")
        call.send(None)
        started = [thread.name for thread in threading.enumerate() if thread not in before]
        call.close()
        assert reaper.drain()
        assert [op.status for op in seen.operations] == ["abandoned"]
    assert started == ["spanhook-reaper"]


@pytest.mark.parametrize("is_async", [True, False])
def test_an_interrupt_before_the_call_returns_reaches_the_hooks_that_wait_around_it(is_async: bool) -> None:
    asked, told = Hooks(), list[str]()

    @asked.around("llm.call")
    def around(_op: Operation) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            told.append(type(error).__name__)
            raise

    asked.on_error("llm.call")(lambda op: told.append(op.status))
    with stubbed(asked) as (library, _):
        op = begin(WHOLE, library, ("given",), {})
        assert type(op) is Record
        with being_current(op):
            assert drive(apasses(op)) if is_async else passes(op)
        interrupted(op, is_async, None, KeyboardInterrupt())
    assert told == ["KeyboardInterrupt", "cancelled"]


@contextmanager
def being_current(op: Record) -> Generator[None]:
    """Make an operation current, as a call does."""
    current.set(op)
    try:
        yield
    finally:
        current.set(None)


# ------------------------------------------------------------------------------------- gates that are interrupted

BEFORE = ("plain", "around")
ON_ERROR = ("none", "plain", "blocking", "async", "subscription")
CALLS = ("plain", "stream", "block")


def interrupting(form: str, told: str) -> Hooks:
    """Hooks whose gate is interrupted, as by Ctrl-C."""
    hooks = Hooks()

    def gate(_op: Operation) -> None:
        raise KeyboardInterrupt

    def around(_op: Operation) -> Iterator[None]:
        raise KeyboardInterrupt
        yield

    async def notes(_op: Operation) -> None:
        await asyncio.sleep(0)

    if form == "plain":
        hooks.before("tool.execute")(gate)
    else:
        hooks.around("tool.execute")(around)
    if told == "async":
        hooks.on_error("tool.execute")(notes)
    elif told == "subscription":
        hooks.on("tool.execute", lambda _event: None)
    elif told != "none":
        hooks.on_error("tool.execute", blocking=told == "blocking")(lambda _op: None)
    return hooks


@pytest.mark.parametrize("told", ON_ERROR)
@pytest.mark.parametrize("form", BEFORE)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_not_made_whose_gate_is_interrupted(call: str, form: str, told: str) -> None:
    ran: list[str] = []

    @spanhook.tool("plain")
    def plain() -> None:
        ran.append("plain")

    @spanhook.tool("stream")
    def stream() -> Iterator[int]:
        ran.append("stream")
        yield 1

    with recorder(interrupting(form, told)), pytest.raises(KeyboardInterrupt):
        if call == "plain":
            plain()
        elif call == "stream":
            list(stream())
        else:
            with spanhook.operation("tool.execute", "block"):
                ran.append("block")
    assert not ran
