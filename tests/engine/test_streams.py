"""The table of a stream's states: every event in every state that can be reached, for sync and async streams."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from spanhook import Operation, Reject
from spanhook.concurrency import reaper
from spanhook.engine._holding import ENDED
from spanhook.gating import Hooks
from tests import stub
from tests.stub import stubbed

#: Where each event leads, by the state before it.
TABLE = {
    "lazy": {"step": {"flowing", "releasing", "refused", "passing"}, "close": {"passing"}},
    "flowing": {"step": {"flowing", "passing"}, "close": {"passing"}},
    "releasing": {"step": {"releasing"}, "close": {"releasing"}},
    "refused": {"step": {"refused"}, "close": {"refused"}},
    "passing": {"step": {"passing"}, "close": {"passing"}},
}


def pairs(events: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Each event with each state to which it leads."""
    return ((event, after) for event, states in events.items() for after in states)


def no_hooks(_hooks: Hooks) -> None: ...


def holding(hooks: Hooks) -> None:
    hooks.after("llm.call", priority=10)(lambda op: None)


def answering(hooks: Hooks) -> None:
    hooks.before("llm.call")(lambda op: op.respond("b"))


def refusing(hooks: Hooks) -> None:
    @hooks.before("llm.call")
    def refuse(_op: Operation) -> None:
        raise Reject("no")


SORTS: dict[str, tuple[Callable[[Hooks], None], bool]] = {
    "flows": (no_hooks, True),
    "is held back": (holding, True),
    "is answered": (answering, True),
    "is refused": (refusing, True),
    "is no operation": (no_hooks, False),
}


async def take(stream: Any, event: str) -> Any:
    """What an event gives, or raises."""
    if event == "close":
        return await stream.aclose() if hasattr(stream, "aclose") else stream.close()
    try:
        return await anext(stream) if isinstance(stream, AsyncIterator) else next(stream)
    except (StopIteration, StopAsyncIteration):
        return "END"
    except Reject:
        return "refused"
    except ValueError:
        return "failed"


@pytest.mark.parametrize("mode", ["stream", "astream"])
def test_every_event_in_every_state(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met = set[tuple[str, str, str]]()

    async def run(sort: str, given: Any, events: tuple[str, ...]) -> None:
        (add, is_operation), hooks = SORTS[sort], Hooks()
        add(hooks)
        with stubbed(hooks) as (library, seen):
            stream: Any = (library.words if mode == "stream" else library.awords)(given)
            track = stream._self_track
            for event in events:
                before = track.state
                await take(stream, event)
                met.add((before, event, track.state))
            began = track.op is not None
            assert began == (is_operation and events[:1] == ("step",))
            assert len(seen.operations) == int(began and track.state in ENDED)
            del stream, track
            assert reaper.drain(10)
            assert len(seen.operations) == int(began)  # a stream that is dropped ends

    for sort, given in product(SORTS, ("ab", ValueError("cut"))):
        monkeypatch.setitem(vars(stub.STREAM), "start", stub.stream_start if SORTS[sort][1] else lambda *_: None)
        for length in range(5):
            for events in product(("step", "close"), repeat=length):
                asyncio.run(run(sort, given, events))
    assert met == {(before, *each) for before, events in TABLE.items() for each in pairs(events)}


# ----------------------------------------------------------------------------------------------- two consumers at once


def secretive(hooks: Hooks, decided: Any) -> None:
    """A gate that waits for ``decided`` before it refuses."""

    @hooks.before("llm.call", timeout=None)
    async def refuse(_op: Operation) -> None:
        await decided()
        raise Reject("no")


async def pause() -> None:
    await asyncio.sleep(0.02)


def test_a_task_that_takes_a_chunk_while_gates_are_asked_gets_nothing() -> None:
    hooks = Hooks()
    secretive(hooks, pause)

    async def both() -> Any:
        stream = library.awords("secret")
        return await asyncio.gather(anext(stream), anext(stream), return_exceptions=True)

    with stubbed(hooks) as (library, seen):
        first, second = asyncio.run(both())
    assert isinstance(first, Reject)
    assert type(second) is RuntimeError
    assert "already running" in str(second)  # as of an async generator
    assert library.calls == []
    assert [op.status for op in seen.operations] == ["rejected"]


def test_a_thread_that_takes_a_chunk_while_gates_are_asked_gets_nothing() -> None:
    hooks, asked, decided = Hooks(), threading.Event(), threading.Event()

    @hooks.before("llm.call", timeout=None)
    def refuse(_op: Operation) -> None:
        asked.set()
        decided.wait(10)
        raise Reject("no")

    with stubbed(hooks) as (library, seen), ThreadPoolExecutor(1) as pool:
        stream = library.words("secret")
        first = pool.submit(next, stream)
        assert asked.wait(10)
        with pytest.raises(ValueError, match="already executing"):  # as of a generator
            next(stream)
        decided.set()
        assert isinstance(first.exception(10), Reject)
    assert library.calls == []
    assert [op.status for op in seen.operations] == ["rejected"]


@pytest.mark.parametrize("rewritten", [False, True])
def test_a_stream_that_is_closed_while_gates_are_asked_makes_no_call(rewritten: bool) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=None)
    async def allow(op: Operation) -> None:
        await pause()
        if rewritten:
            op.replace(inputs="other")

    async def both() -> list[Any]:
        stream: Any = library.awords("secret")
        taking = asyncio.ensure_future(take(stream, "step"))
        await asyncio.sleep(0)
        await stream.aclose()
        return [await taking, await take(stream, "step")]

    with stubbed(hooks) as (library, seen):
        assert asyncio.run(both()) == ["END", "END"]
    assert library.calls == []
    assert [op.status for op in seen.operations] == ["abandoned"]


@pytest.mark.parametrize("event", ["step", "close"])
def test_what_hooks_have_not_seen_whole_goes_to_nobody(event: str) -> None:
    hooks, shown = Hooks(), list[str]()

    @hooks.after("llm.call", priority=10)
    def look(op: Operation) -> None:
        shown.append(str(op.response.value))

    async def both() -> Any:
        stream = library.awords("secret")
        return await asyncio.gather(anext(stream), meanwhile(stream), return_exceptions=True)

    async def meanwhile(stream: Any) -> Any:
        await asyncio.sleep(0)
        return await (stream.aclose() if event == "close" else anext(stream))

    with stubbed(hooks) as (library, seen):
        first, second = asyncio.run(both())
    assert isinstance(first, RuntimeError)
    assert isinstance(second, RuntimeError)
    assert [op.status for op in seen.operations] == ["error"]
    assert "secret" not in shown


class Source:
    """A stream that may be closed while somebody waits for its next chunk, such as one of an HTTP response."""

    def __init__(self) -> None:
        self._letters = iter("secret")

    def __aiter__(self) -> "Source":
        return self

    async def __anext__(self) -> str:
        letter = next(self._letters, None)
        await pause()
        if letter is None:
            raise StopAsyncIteration
        return letter

    async def aclose(self) -> None:
        self._letters = iter("")


class First(stub.Letters):
    """The first letter completes the stream."""

    @property
    def complete(self) -> bool:
        return bool(self.kept)

    @complete.setter
    def complete(self, _value: bool) -> None: ...


@pytest.mark.every_value
@pytest.mark.parametrize("ends", ["exhausted", "result", "drained"])
def test_what_was_closed_while_it_was_held_back_goes_to_nobody(ends: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = stub.Letters if ends == "exhausted" else First
    streaming = replace(stub.STREAMING, stream_of=stub.stream_of, ends=ends, chunks=chunks)
    monkeypatch.setitem(vars(stub.OPENED), "streaming", streaming)
    hooks = Hooks()
    hooks.after("llm.call", priority=10 if ends == "exhausted" else 200)(lambda op: None)

    async def both() -> list[Any]:
        async with library.aopened("secret") as stream:
            taking = asyncio.ensure_future(take(stream, "step"))
            await asyncio.sleep(0)
            await stream.aclose()
            return [await taking, await take(stream, "step")]

    with stubbed(hooks) as (library, seen):
        library._letters = lambda _given: Source()  # pyright: ignore[reportAttributeAccessIssue]
        assert asyncio.run(both()) == ["END", "END"]
    assert [op.status for op in seen.operations] == ["abandoned"]
