"""Streams whose ``__iter__`` is a generator function, as of OpenAI's SDK: read in every way, they are as they were."""

import gc
import inspect
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from httpx import ReadError
from openai import APIConnectionError, Stream
from openai.types.chat import ChatCompletionChunk

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.concurrency import reaper
from spanhook.testing import Recorder, recorder

Take = Callable[[Any], Iterator[Any]]


def said(chunk: Any) -> Any:
    return [(choice.delta.content, choice.finish_reason) for choice in chunk.choices]


def steps_first(stream: Any) -> Iterator[Any]:
    yield next(stream)
    yield from stream
    yield next(stream, "nothing")


def left_and_resumed(stream: Any) -> Iterator[Any]:
    for chunk in stream:
        yield chunk
        break
    yield next(stream)
    for chunk in stream:
        yield chunk
        break
    yield from stream


def by_turns(stream: Any) -> Iterator[Any]:
    one, other = iter(stream), iter(stream)
    for step in (one, other, stream, other, one, other, one, stream):
        yield next(step, "nothing")


def thrown_into(stream: Any) -> Iterator[Any]:
    steps = iter(stream)
    yield next(steps)
    with pytest.raises(ZeroDivisionError) as raised:
        steps.throw(ZeroDivisionError("the consumer's"))
    yield str(raised.value)
    yield next(steps, "nothing")
    yield from stream


def closed_iterator(stream: Any) -> Iterator[Any]:
    steps = iter(stream)
    yield next(steps)
    steps.close()
    yield next(steps, "nothing")
    yield from stream


def delegated(stream: Any) -> Iterator[Any]:
    def steps() -> Iterator[Any]:
        value = yield from stream
        yield value

    yield from steps()


def in_two_threads(stream: Any) -> Iterator[Any]:
    found: list[Any] = []
    for _ in range(2):
        thread = threading.Thread(
            target=lambda: found.extend(chunk for _, chunk in zip(range(2), stream, strict=False))
        )
        thread.start()
        thread.join()
    yield from found
    yield from stream


TO_THE_END: list[Take] = [
    steps_first,
    left_and_resumed,
    by_turns,
    thrown_into,
    closed_iterator,
    delegated,
    in_two_threads,
]


def closed_inside(stream: Any) -> Iterator[Any]:
    yield next(stream)
    for chunk in stream:
        yield chunk
        stream.close()


def left_within_its_block(stream: Any) -> Iterator[Any]:
    with stream:
        for chunk in stream:
            yield chunk
            break
    yield from stream


EARLY: list[Take] = [closed_inside, left_within_its_block]
"""The SDK goes on with what it had received before."""

CUT_OFF = [APIConnectionError, ReadError]
"""What a closed connection raises after that; older versions of the SDK pass HTTPX's own error on."""


def taken(take: Take, client: Any) -> list[Any]:
    """What a consumer sees of a stream: its chunks, and the error that ended it."""
    found: list[Any] = []
    try:
        stream = client.chat.completions.create(**CHAT, stream=True)
        found.extend(said(chunk) if isinstance(chunk, ChatCompletionChunk) else chunk for chunk in take(stream))
    except Exception as error:
        found.append((type(error), str(error)))
    return found


def ended(seen: Recorder) -> list[Operation]:
    gc.collect()
    reaper.drain()
    return seen.operations


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture(params=["no hooks", "hooks"])
def hooks(request: pytest.FixtureRequest) -> Hooks:
    made = Hooks()
    if request.param == "hooks":
        made.before("*")(lambda op: None)
        made.after("*")(lambda op: op.state.update(text=op.response.text))
    return made


@pytest.mark.parametrize("take", TO_THE_END)
def test_read_to_the_end(take: Take, hooks: Hooks, server: OpenAIServer) -> None:
    with sync_client(server.url) as client:
        expected = taken(take, client)
        with recorder(hooks) as seen:
            assert taken(take, client) == expected
            [op] = ended(seen)
    assert op.status == "success"
    assert op.usage.output_tokens
    if len(hooks):
        assert op.state["text"] == "".join(content or "" for one in expected if type(one) is list for content, _ in one)


@pytest.mark.parametrize("take", EARLY)
def test_closed_early(take: Take, hooks: Hooks, server: OpenAIServer) -> None:
    with sync_client(server.url) as client:
        expected = taken(iter, client)
        with recorder(hooks) as seen:
            found = taken(take, client)
            assert [op.status for op in ended(seen)] == ["abandoned"]
    chunks = [one for one in found if type(one) is list]
    assert chunks == expected[: len(chunks)]
    assert all(one[0] in CUT_OFF for one in found[len(chunks) :])


def test_a_loop_that_is_left_does_not_end_the_stream(hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        stream = client.chat.completions.create(**CHAT, stream=True)
        for _ in range(2):
            for _ in stream:
                break
            assert ended(seen) == []
        for _ in stream:
            pass
        assert [op.status for op in seen.operations] == ["success"]


def test_it_ends_at_its_last_step(hooks: Hooks, server: OpenAIServer) -> None:
    """Not when the iterator is collected, nor at the step after."""
    with recorder(hooks) as seen, sync_client(server.url) as client:
        steps = iter(client.chat.completions.create(**CHAT, stream=True))
        for _ in steps:
            assert seen.operations == []
        assert [op.status for op in seen.operations] == ["success"]
        assert next(steps, None) is None
        assert len(seen.operations) == 1


def test_an_iterator_keeps_its_stream(hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        steps = iter(client.chat.completions.create(**CHAT, stream=True))
        next(steps)
        assert ended(seen) == []
        del steps
        assert [op.status for op in ended(seen)] == ["abandoned"]


def test_it_leaves_no_cycle(hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks), sync_client(server.url) as client:
        stream = client.chat.completions.create(**CHAT, stream=True)
        steps = iter(stream)
        next(steps)
        gone = weakref.ref(steps)
        gc.disable()
        try:
            del stream, steps
            assert gone() is None
        finally:
            gc.enable()


def test_an_interrupt_in_the_body_of_a_loop(hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        stream = client.chat.completions.create(**CHAT, stream=True)
        with pytest.raises(KeyboardInterrupt):
            for _ in stream:
                raise KeyboardInterrupt
        assert ended(seen) == []
        assert list(stream)
        assert [op.status for op in ended(seen)] == ["success"]


def test_a_class_that_iterates_otherwise(server: OpenAIServer) -> None:
    """A loop goes through what a subclass makes of ``__iter__``, and still all that it lets through is seen."""

    class Loud(Stream[ChatCompletionChunk]):
        def __iter__(self) -> Iterator[ChatCompletionChunk]:
            for chunk in super().__iter__():
                for choice in chunk.choices:
                    choice.delta.content = (choice.delta.content or "").upper()
                yield chunk

    seen_by: list[str] = []
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: seen_by.append(op.result.choices[0].message["content"]))
    with sync_client(server.url) as client:
        ask = partial(
            client.post, "/chat/completions", cast_to=ChatCompletionChunk, body={**CHAT, "stream": True}, stream=True
        )
        expected = [*map(said_loudly, ask(stream_cls=Loud))]
        with recorder(hooks):
            assert [*map(said_loudly, ask(stream_cls=Loud))] == expected
    assert seen_by == ["".join(expected)]


def said_loudly(chunk: Any) -> str:
    return "".join(choice.delta.content for choice in chunk.choices)


def test_what_a_consumer_writes_into_a_chunk_is_not_recorded(server: OpenAIServer) -> None:
    kept: list[str] = []
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: kept.append(str(op.response.text)))
    with recorder(hooks), sync_client(server.url) as client:
        spoken = ""
        for chunk in client.chat.completions.create(**CHAT, stream=True):
            for choice in chunk.choices:
                spoken += choice.delta.content or ""
                choice.delta.content = "forged"
    assert kept == [spoken]


def test_it_is_a_generator_where_the_librarys_is(hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks), sync_client(server.url) as client:
        stream: Any = client.chat.completions.create(**CHAT, stream=True)
        assert inspect.isgenerator(iter(stream))
        assert iter(stream) is not iter(stream)
        assert inspect.isgenerator(iter(stream.__wrapped__))
        stream.close()
