"""Streams in blocks of the application's own code: followed, held back, answered, and handed out of their block."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from spanhook import Hooks, Operation, OperationError, OwnOperation, Reject, operation
from spanhook.concurrency import reaper
from spanhook.model import current
from spanhook.testing import recorder

WAYS = ("inside", "outside", "async inside", "async outside", "sync in async")


class Client:
    """Streams words."""

    def __init__(self) -> None:
        self.asked = 0
        self.closed = 0

    def stream(self) -> Iterator[str]:
        self.asked += 1
        try:
            yield from ("hello", " ", "there")
        finally:
            self.closed += 1

    async def astream(self) -> AsyncIterator[str]:
        for word in self.stream():
            await asyncio.sleep(0)
            yield word


def outside(client: Client) -> Iterator[str]:
    with operation("llm.call", "m") as op:
        return op.stream(client.stream)


async def aoutside(client: Client) -> AsyncIterator[str]:
    async with operation("llm.call", "m") as op:
        return op.stream(client.astream)


def inside(client: Client, told: list[Any] | None = None) -> str:
    with operation("llm.call", "m") as op:
        found = list(op.stream(client.stream))
        if told is not None:
            told.append("block")
        op.record_usage(input_tokens=3, output_tokens=2)
    return "".join(found)


async def ainside(client: Client, *, is_async: bool = True) -> str:
    async with operation("llm.call", "m") as op:
        found = [word async for word in op.stream(client.astream)] if is_async else list(op.stream(client.stream))
        op.record_usage(input_tokens=3, output_tokens=2)
    return "".join(found)


def use(way: str, client: Client) -> str:
    if way == "inside":
        return inside(client)
    if way == "outside":
        return "".join(outside(client))

    async def wait() -> str:
        if way == "async outside":
            return "".join([word async for word in await aoutside(client)])
        return await ainside(client, is_async=way == "async inside")

    return asyncio.run(wait())


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_is_followed(way: str) -> None:
    hooks = Hooks()
    told: list[Any] = []

    @hooks.around("llm.call")
    def around(op: Operation) -> Iterator[None]:
        told.append((yield))

    @hooks.after("llm.call")
    async def after(op: Operation) -> None:
        await asyncio.sleep(0)
        told.append(op.result)

    with recorder(hooks) as seen:
        assert use(way, Client()) == "hello there"
        reaper.drain(60.0)
    [op] = seen.operations
    assert told == ["hello there", "hello there"]
    assert (op.status, len(seen.spans)) == ("success", 1)
    assert "gen_ai.response.time_to_first_chunk" in (seen.spans[0].attributes or {})
    if "inside" in way:
        assert op.usage.total_tokens == 5
    assert current.get() is None


@pytest.mark.parametrize("way", WAYS)
def test_it_is_held_back_for_hooks_that_decide(way: str) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    async def shout(op: Operation) -> None:
        await asyncio.sleep(0)
        op.respond(op.result.upper())

    with recorder(hooks) as seen:
        assert use(way, Client()) == "HELLO THERE"
    assert [one.decision for one in seen.operations[0].decisions] == ["replace"]
    assert seen.operations[0].usage.total_tokens == (5 if "outside" not in way else 0)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_refused_before_anybody_sees_it(way: str) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject(f"{op.result!r} is secret")

    with recorder(hooks) as seen, pytest.raises(Reject, match="'hello there' is secret"):
        use(way, Client())
    assert [op.status for op in seen.operations] == ["rejected"]


@pytest.mark.parametrize("answer", ["kept", ["ke", "pt"]])
@pytest.mark.parametrize("way", WAYS)
def test_a_hook_answers_instead(way: str, answer: Any) -> None:
    hooks = Hooks()
    told: list[Any] = []
    hooks.before("llm.call")(lambda op: op.respond(answer))

    @hooks.after("llm.call")
    async def after(op: Operation) -> None:
        await asyncio.sleep(0)
        told.append(op.result)

    client = Client()
    if way == "sync in async":

        async def wait() -> str:
            async with operation("llm.call", "m") as op:
                return "".join(op.stream(client.stream()))

        with recorder(hooks):
            assert asyncio.run(wait()) == "kept"
    else:
        with recorder(hooks):
            assert use(way, client) == "kept"
    assert (client.asked, told) == (0, [answer])


@pytest.mark.parametrize("way", WAYS)
def test_without_hooks_and_uninstrumented(way: str) -> None:
    assert use(way, Client()) == "hello there"
    with recorder() as seen:
        assert use(way, Client()) == "hello there"
    assert [op.status for op in seen.operations] == ["success"]


def test_hooks_that_watch_run_when_the_block_is_left() -> None:
    hooks = Hooks()
    told: list[Any] = []
    hooks.after("llm.call", priority=500)(lambda op: told.append(op.usage.total_tokens))
    with recorder(hooks):
        inside(Client(), told)
    assert told == ["block", 5]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.every_combination
def test_a_stream_that_is_left_early(is_async: bool, at_once: bool) -> None:
    """The reaper ends it, before the block is left or after."""

    def reap() -> None:
        if at_once:
            gc.collect()
            assert reaper.drain(60.0)

    def leave(client: Client) -> None:
        with operation("llm.call", "m") as op:
            for _ in op.stream(client.stream()):
                break
            reap()

    async def aleave(client: Client) -> None:
        async with operation("llm.call", "m") as op:
            async for _ in op.stream(client.astream()):
                break
            reap()

    with recorder() as seen:
        client = Client()
        if is_async:
            asyncio.run(aleave(client))
        else:
            leave(client)
        gc.collect()
        reaper.drain(60.0)
        assert [op.status for op in seen.operations] == ["abandoned"]
        assert len(seen.spans) == 1


def test_a_stream_that_is_closed() -> None:
    with recorder() as seen, operation("llm.call", "m") as op:
        client = Client()
        words: Any = op.stream(client.stream())
        assert next(words) == "hello"
        words.close()
        assert client.closed == 1
        assert seen.operations == []
    assert [op.status for op in seen.operations] == ["abandoned"]


def test_a_stream_that_fails() -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise ConnectionError

    hooks = Hooks()
    told: list[str] = []
    hooks.on_error("llm.call")(lambda op: told.append(type(op.error).__name__))
    with recorder(hooks) as seen:
        with pytest.raises(ConnectionError), operation("llm.call", "m") as op:
            list(op.stream(broken()))
        with operation("llm.call", "m") as op, pytest.raises(ConnectionError):
            list(op.stream(broken()))
    assert [op.status for op in seen.operations] == ["error", "error"]
    assert told == ["ConnectionError", "ConnectionError"]


@pytest.mark.parametrize("with_hooks", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_stream_that_fails_leaves_the_end_to_its_block(*, is_async: bool, with_hooks: bool) -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise ConnectionError

    async def abroken() -> AsyncIterator[str]:
        for word in broken():
            yield word

    async def aread(op: OwnOperation) -> None:
        async for _ in op.stream(abroken()):
            pass

    async def acall(goes_on: list[Any]) -> None:
        async with operation("llm.call", "m") as op:
            with pytest.raises(ConnectionError):
                await aread(op)
            reaper.drain(60.0)
            goes_on.append(list(seen.operations))

    hooks, told, goes_on = Hooks(), list[Any](), list[Any]()
    if with_hooks:
        hooks.on_error("llm.call")(lambda op: told.append((type(op.error).__name__, threading.get_ident())))
    with recorder(hooks) as seen:
        if is_async:
            asyncio.run(acall(goes_on))
        else:
            with operation("llm.call", "m") as op:
                with pytest.raises(ConnectionError):
                    list(op.stream(broken()))
                reaper.drain(60.0)
                goes_on.append(list(seen.operations))
    assert goes_on == [[]]
    assert [op.status for op in seen.operations] == ["error"]
    assert told == ([("ConnectionError", threading.get_ident())] if with_hooks else [])


def test_a_block_that_fails_while_its_stream_goes_on() -> None:
    words: Iterator[str] = iter(())
    with recorder() as seen, pytest.raises(KeyError), operation("llm.call", "m") as op:
        words = op.stream(Client().stream())
        next(words)
        raise KeyError
    assert [op.status for op in seen.operations] == ["error"]
    assert list(words) == [" ", "there"]
    assert len(seen.operations) == 1


def test_what_runs_in_a_stream_that_was_handed_out_is_inside_of_it() -> None:
    def words() -> Iterator[str]:
        with operation("tool.execute", "t"):
            pass
        yield "a"

    def ask() -> Iterator[str]:
        with operation("agent.invoke", "a") as op:
            return op.stream(words())

    with recorder() as seen:
        assert list(ask()) == ["a"]
    assert [(op.name, op.parent and op.parent.name) for op in seen.operations] == [("t", "a"), ("a", None)]


def test_a_list_is_a_stream_and_a_number_is_none() -> None:
    wrong: Any = 3
    with recorder() as seen:
        with operation("llm.call", "m") as op:
            assert "".join(op.stream(["a", "b"])) == "ab"
        with pytest.raises(OperationError, match="int, which is not a stream"), operation("llm.call", "m") as op:
            op.stream(wrong)
    assert [op.status for op in seen.operations] == ["success", "error"]


def test_a_coroutine_is_no_stream() -> None:
    async def later() -> list[int]:
        return [1]

    given: Any = later
    with (
        recorder(),
        pytest.raises(OperationError, match="await it"),
        operation("llm.call", "model") as op,
    ):
        op.stream(given)


def test_a_generator_stays_one() -> None:
    def echo() -> Any:
        yield (yield "ready")

    with recorder(), operation("llm.call", "m") as op:
        talk: Any = op.stream(echo())
        assert (next(talk), talk.send("a")) == ("ready", "a")
        assert list(talk) == []


def test_usage_while_it_streams() -> None:
    def ask(client: Client) -> Iterator[str]:
        with operation("llm.call", "m") as op:
            return op.stream(counted(op, client))

    def counted(op: OwnOperation, client: Client) -> Iterator[str]:
        for word in client.stream():
            op.record_usage(output_tokens=1)
            yield word

    with recorder() as seen:
        assert "".join(ask(Client())) == "hello there"
    assert seen.operations[0].usage.output_tokens == 3


class Unclosable:
    """A stream that nobody can close."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raise StopIteration


class Closable(Unclosable):
    """One that can be."""

    def close(self) -> None:
        """Nothing is open."""


class AsyncUnclosable:
    """An async stream that nobody can close."""

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        raise StopAsyncIteration


class AsyncClosable(AsyncUnclosable):
    """One that can be."""

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("made", [Unclosable, Closable, AsyncUnclosable, AsyncClosable])
def test_a_stream_can_be_closed_where_its_own_can(made: Any) -> None:
    with recorder(), operation("llm.call", "m") as op:
        handed = op.stream(made())
        assert hasattr(handed, "close") is hasattr(made, "close")
        assert hasattr(handed, "aclose") is (made is AsyncClosable)
        if made is Closable:
            handed.close()
