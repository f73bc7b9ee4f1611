"""Streams that are dropped: their ``finally`` runs there, and what others inside used is known to those around."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation
from spanhook.concurrency import reaper
from spanhook.testing import recorder


@spanhook.operation("llm.call", "a-model", provider="acme")
def words(question: str) -> Iterator[str]:
    spanhook.record_usage(input_tokens=7, output_tokens=3)
    yield f"{question} "
    yield "two"


@spanhook.operation("llm.call", "a-model", provider="acme")
async def awords(question: str) -> AsyncIterator[str]:
    spanhook.record_usage(input_tokens=7, output_tokens=3)
    yield f"{question} "
    yield "two"


@spanhook.agent("desk")
def desk(question: str) -> Iterator[str]:
    for word in words(question):
        yield word.lower()


@spanhook.agent("desk")
async def adesk(question: str) -> AsyncIterator[str]:
    async for word in awords(question):
        yield word


def dropped() -> None:
    next(desk("hi"))
    gc.collect()


@pytest.mark.every_value
@pytest.mark.parametrize("form", ["sync", "async", "none"])
def test_what_a_stream_inside_used_is_known_around_it(form: str) -> None:
    hooks, billed = Hooks(), list[tuple[str, int, int]]()

    def bill(op: Operation) -> None:
        billed.append((op.status, op.usage.total_tokens, op.usage.llm_calls))

    async def abill(op: Operation) -> None:
        bill(op)

    if form != "none":
        hooks.after("agent.invoke")(bill if form == "sync" else abill)
    with recorder(hooks) as seen:
        dropped()
        assert reaper.drain()
    assert billed == ([] if form == "none" else [("abandoned", 10, 1)])
    [agent] = [span.attributes for span in seen.spans if (span.attributes or {})["spanhook.kind"] == "agent.invoke"]
    [run] = [event["attributes"] for event in seen.events if event["name"] == "spanhook.run"]
    for told in (agent or {}, run):
        assert (told["spanhook.status"], told["spanhook.usage.input_tokens"]) == ("abandoned", 7)
    assert [op.kind for op in seen.operations] == ["llm.call", "agent.invoke"]


def test_a_stream_that_goes_on_is_not_waited_for() -> None:
    kept: list[Iterator[str]] = []

    @spanhook.agent("desk")
    def keeps() -> None:
        kept.append(words("hi"))
        next(kept[0])

    with recorder() as seen:
        keeps()
        assert reaper.drain()
        assert [op.kind for op in seen.operations] == ["agent.invoke"]
        assert list(kept[0]) == ["two"]
    assert [(op.kind, op.status) for op in seen.operations] == [("agent.invoke", "success"), ("llm.call", "success")]


@pytest.mark.every_value
@pytest.mark.parametrize("hook", ["none", "before", "after", "window"])
def test_the_finally_of_a_dropped_generator_runs_where_it_is_dropped(hook: str) -> None:
    ran: list[threading.Thread] = []

    @spanhook.operation("llm.call", "a-model", provider="acme")
    def told() -> Iterator[str]:
        try:
            yield "one "
            yield "two "
        finally:
            ran.append(threading.current_thread())

    hooks = Hooks()
    if hook == "before":
        hooks.before("llm.call")(lambda op: None)
    elif hook == "after":
        hooks.after("llm.call")(lambda op: None)
    elif hook == "window":
        hooks.add(Shouting())
    with recorder(hooks) as seen:
        stream = told()
        next(stream)
        del stream
        assert ran == [threading.current_thread()]
        assert reaper.drain()
    assert [op.status for op in seen.operations] == ["abandoned"]


class Shouting(spanhook.Hook):
    """Rewrites text as it passes."""

    kinds = ("llm.call",)
    stream = "window"
    window = 1
    fail_mode = "closed"

    def text(self, op: Operation, text: str) -> str:
        return text.upper()

    def after(self, op: Operation) -> None: ...


@pytest.mark.every_value
@pytest.mark.parametrize("hook", ["none", "after"])
def test_in_a_block_too(hook: str) -> None:
    ran: list[threading.Thread] = []

    def told() -> Iterator[str]:
        try:
            yield "one "
            yield "two "
        finally:
            ran.append(threading.current_thread())

    hooks, heard = Hooks(), list[str]()
    if hook == "after":
        hooks.after("llm.call")(lambda op: heard.append(op.status))
    with recorder(hooks) as seen:
        with spanhook.operation("llm.call", "a-model", provider="acme") as op:
            for _ in op.stream(told()):
                break
            assert ran == [threading.current_thread()]
        assert reaper.drain()
    assert [op.status for op in seen.operations] == ["abandoned"]
    assert heard == (["abandoned"] if hook == "after" else [])


def test_nested_deeper_all_of_it_is_known() -> None:
    @spanhook.tool("inner")
    def inner(question: str) -> Iterator[str]:
        yield from words(question)

    @spanhook.tool("outer")
    def outer(question: str) -> Iterator[str]:
        yield from inner(question)

    @spanhook.agent("desk")
    def asks() -> Iterator[str]:
        yield from outer("hi")

    hooks, seen_by = Hooks(), list[tuple[int, int, int]]()

    @hooks.after("agent.invoke")
    def bill(op: Operation) -> None:
        seen_by.append((op.usage.total_tokens, op.usage.tool_calls, op.usage.llm_calls))

    with recorder(hooks) as seen:
        next(asks())
        assert reaper.drain()
    assert seen_by == [(10, 2, 1)]
    assert sorted(op.kind for op in seen.operations) == ["agent.invoke", "llm.call", "tool.execute", "tool.execute"]


def test_closing_a_coroutine_that_closes_a_stream_does_not_wait() -> None:
    async def uses() -> None:
        stream = adesk("hi")
        await anext(stream)
        try:
            await asyncio.sleep(60)
        finally:
            await stream.aclose()  # type: ignore[attr-defined]

    async def main() -> str:
        used = uses()
        waiting: Any = used.send(None)
        while not isinstance(waiting, asyncio.Future):
            waiting = used.send(None)
        used.close()
        await asyncio.sleep(0.2)
        return "goes on"

    with recorder() as seen:
        assert asyncio.run(main()) == "goes on"
        assert reaper.drain()
    assert {op.status for op in seen.operations} == {"abandoned"}


def test_the_reaper_is_not_held_up_by_streams_that_go_on() -> None:
    kept: list[Iterator[str]] = []

    @spanhook.agent("desk")
    def keeps(question: str) -> Iterator[str]:
        kept.append(words(question))
        yield next(kept[-1])
        yield "more"

    with recorder() as seen:
        for _ in range(50):
            next(keeps("hi"))
        assert reaper.drain(2.0)
        assert [op.kind for op in seen.operations] == ["agent.invoke"] * 50
        for stream in kept:
            assert list(stream) == ["two"]
