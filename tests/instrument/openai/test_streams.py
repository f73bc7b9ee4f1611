"""OpenAI's streams in every way they can end: one operation each, the right status, usage reported or estimated."""

import asyncio
import copy
import gc
import inspect
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import openai
import pytest
from openai import AsyncStream, Stream
from openai._models import construct_type
from openai.types.chat import ChatCompletionChunk
from opentelemetry import context as otel_context

from spanhook import Hooks, Operation, Reject, current_operation
from spanhook.cli.conformance import loops
from spanhook.cli.conformance.libraries.openai_ways import CHAT, RESPONSES, TEXT, async_client, collected, sync_client
from spanhook.cli.conformance.servers.openai_replies import Tokens
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.concurrency import reaper
from spanhook.instrument.formats.openai.chat_chunks import ChatChunks
from spanhook.model import Later
from spanhook.testing import Recorder, recorder


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is logged, whatever becomes of a stream. What asyncio logs may be about an earlier test's garbage."""
    with caplog.at_level(logging.WARNING):
        yield
    ours = [one for one in caplog.get_records("call") if one.name.startswith(("spanhook", "opentelemetry"))]
    assert [one.getMessage() for one in ours] == []


@pytest.fixture(params=["no hooks", "plain hooks", "hooks"])
def hooks(request: pytest.FixtureRequest) -> Hooks:
    """Hooks of every form around the stream, or only such as need no chain, or none."""
    made = Hooks()
    if request.param == "no hooks":
        return made

    @made.before("*")
    def before(op: Operation) -> None:
        op.state["before"] = True

    @made.around("*")
    def around(op: Operation) -> Iterator[None]:
        try:
            yield
        finally:
            op.state["around"] = True

    if request.param == "plain hooks":
        made.around("*")(around_noting("wrapping"))
        made.after("*", priority=200)(lambda op: op.state.update(after=op.response.text))
        made.on_error("*")(lambda op: op.state.update(error=op.status))
        return made

    @made.around("*", timeout=60.0)
    async def wrapping(op: Operation, call_next: Callable[[], Any]) -> None:
        try:
            await call_next()
        finally:
            op.state["wrapping"] = True

    @made.after("*", timeout=60.0)
    async def after(op: Operation) -> None:
        op.state["after"] = op.response.text

    @made.on_error("*", timeout=60.0)
    async def on_error(op: Operation) -> None:
        op.state["error"] = op.status

    return made


def around_noting(name: str) -> Callable[[Operation], Iterator[None]]:
    """A generator that notes how it was left: resumed, or closed by the garbage collector."""

    def around(op: Operation) -> Iterator[None]:
        try:
            yield
        except GeneratorExit:
            op.state["closed"] = True
            raise
        finally:
            op.state[name] = True

    return around


Open = Callable[[Any], Any]
STREAMS: dict[str, Open] = {
    "chat": lambda client: client.chat.completions.create(**CHAT, stream=True),
    "responses": lambda client: client.responses.create(**RESPONSES, stream=True),
    "text": lambda client: client.completions.create(**TEXT, stream=True),
}
MANAGERS: dict[str, Open] = {
    "chat": lambda client: client.chat.completions.stream(**CHAT),
    "responses": lambda client: client.responses.stream(**RESPONSES),
}
BODIES: dict[str, Open] = {
    "chat": lambda client: client.chat.completions.with_streaming_response.create(**CHAT, stream=True),
    "responses": lambda client: client.responses.with_streaming_response.create(**RESPONSES, stream=True),
    "json": lambda client: client.chat.completions.with_streaming_response.create(**CHAT),
}
ALL = list(STREAMS)
CUT = r"incomplete|onnection"
"""What the SDK says of a connection that was cut: openai 1 passes httpx's words on, openai 3 has its own."""


def expect_one(seen: Recorder, status: str, hooks: Hooks, *, estimated: bool) -> Operation:
    reaper.drain()
    [op] = seen.operations
    assert op.status == status
    assert len(seen.spans) == 1
    assert op.usage.estimated is estimated
    assert op.usage.input_tokens > 0
    if len(hooks):
        assert {"before", "around", "wrapping"} <= op.state.keys()
        assert ("error" if status in ("error", "cancelled") else "after") in op.state
    return op


def watched(stream: Any) -> Iterator[Any]:
    """The chunks of a stream, each of whose steps must leave the context as it found it."""
    while True:
        before, held = otel_context.get_current(), current_operation()
        try:
            chunk = next(stream)
        except StopIteration:
            return
        finally:
            assert otel_context.get_current() is before
            assert current_operation() is held
        yield chunk


async def awatched(stream: Any) -> AsyncIterator[Any]:
    while True:
        before, held = otel_context.get_current(), current_operation()
        try:
            chunk = await anext(stream)
        except StopAsyncIteration:
            return
        finally:
            assert otel_context.get_current() is before
            assert current_operation() is held
        yield chunk


def run(server: OpenAIServer, main: Callable[[Any], Any]) -> Any:
    """Run an async test body with a client of its own."""

    async def whole() -> Any:
        async with async_client(server.url) as client:
            return await main(client)

    return loops.run(whole())


@pytest.mark.parametrize("sort", ALL)
def test_read_to_the_end(sort: str, hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        assert len(list(watched(STREAMS[sort](client)))) >= 4
        op = expect_one(seen, "success", hooks, estimated=sort != "responses")
    if len(hooks):
        assert op.state["after"] == "hello there friend"
    assert op._record.stream.first_chunk_ns > op._record.start_ns


@pytest.mark.parametrize("sort", ALL)
def test_read_to_the_end_async(sort: str, hooks: Hooks, server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        assert len(await collected(awatched(await STREAMS[sort](client)))) >= 4

    with recorder(hooks) as seen:
        run(server, main)
        op = expect_one(seen, "success", hooks, estimated=sort != "responses")
    if len(hooks):
        assert op.state["after"] == "hello there friend"


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("how", ["close", "with", "response"])
def test_stopped_early(sort: str, how: str, hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        stream = STREAMS[sort](client)
        if how == "with":
            with stream as same:
                assert same is stream
                next(stream)
        else:
            next(stream)
            (stream.close if how == "close" else stream.response.close)()
        expect_one(seen, "abandoned", hooks, estimated=True)
        stream.close()
        assert len(seen.operations) == 1


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("how", ["close", "with", "response"])
def test_stopped_early_async(sort: str, how: str, hooks: Hooks, server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        stream = await STREAMS[sort](client)
        if how == "with":
            async with stream as same:
                assert same is stream
                await anext(stream)
        else:
            await anext(stream)
            await (stream.close() if how == "close" else stream.response.aclose())

    with recorder(hooks) as seen:
        run(server, main)
        expect_one(seen, "abandoned", hooks, estimated=True)


@pytest.mark.parametrize("sort", MANAGERS)
@pytest.mark.parametrize("how", ["read", "stopped", "unread", "failed"])
def test_managers(sort: str, how: str, hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        try:
            with MANAGERS[sort](client) as stream:
                if how == "read":
                    stream.until_done()
                elif how != "unread":
                    next(stream)
                if how == "failed":
                    raise KeyError("of the application")
        except KeyError:
            assert how == "failed"
        # The operation has ended with the block, not when the garbage collector gets to it.
        assert [op.status for op in seen.operations] == ["success" if how == "read" else "abandoned"]
        expect_one(seen, seen.operations[0].status, hooks, estimated=how != "read" or sort == "chat")


@pytest.mark.parametrize("sort", MANAGERS)
@pytest.mark.parametrize("how", ["read", "stopped"])
def test_managers_async(sort: str, how: str, hooks: Hooks, server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        async with MANAGERS[sort](client) as stream:
            if how == "read":
                await stream.until_done()
            else:
                await anext(aiter(stream))
        assert [op.status for op in seen.operations] == ["success" if how == "read" else "abandoned"]

    with recorder(hooks) as seen:
        run(server, main)
        expect_one(seen, seen.operations[0].status, hooks, estimated=how != "read" or sort == "chat")


@pytest.mark.parametrize("sort", BODIES)
@pytest.mark.parametrize("how", ["lines", "some", "unread", "parsed"])
def test_bodies(sort: str, how: str, hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        with BODIES[sort](client) as response:
            if how == "lines":
                list(response.iter_lines())
            elif how == "some":
                next(response.http_response.iter_raw(10))  # of a short JSON body, that is all there is
            elif how == "parsed":
                parsed = response.parse()
                if sort != "json":
                    list(parsed)
        ended = "success" if how in ("lines", "parsed") or (how, sort) == ("some", "json") else "abandoned"
        reaper.drain()
        assert [op.status for op in seen.operations] == [ended]
        op = expect_one(seen, ended, hooks, estimated=ended == "abandoned" or sort == "chat")
        if len(hooks) and ended == "success":
            assert op.state["after"] == "hello there friend"


@pytest.mark.parametrize("sort", BODIES)
@pytest.mark.parametrize("how", ["lines", "some", "unread", "parsed"])
def test_bodies_async(sort: str, how: str, hooks: Hooks, server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        async with BODIES[sort](client) as response:
            if how == "lines":
                await collected(response.iter_lines())
            elif how == "some":
                pieces = response.http_response.aiter_raw(10)
                await anext(pieces)
                await pieces.aclose()
            elif how == "parsed":
                parsed = await response.parse()
                if sort != "json":
                    await collected(parsed)

    with recorder(hooks) as seen:
        run(server, main)
        reaper.drain()
        ended = "success" if how in ("lines", "parsed") or (how, sort) == ("some", "json") else "abandoned"
        expect_one(seen, ended, hooks, estimated=ended == "abandoned" or sort == "chat")


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("steps", [0, 1])
def test_garbage_collected(sort: str, steps: int, hooks: Hooks, server: OpenAIServer) -> None:
    with recorder(hooks) as seen, sync_client(server.url) as client:
        stream = STREAMS[sort](client)
        for _ in range(steps):
            next(stream)
        del stream
        gc.collect()
        expect_one(seen, "abandoned", hooks, estimated=True)


@pytest.mark.parametrize("is_async", [False, True])
def test_plain_hooks_around_a_stream_that_is_dropped_in_a_cycle(is_async: bool, server: OpenAIServer) -> None:
    """The garbage collector closes no generator that still waits for the end of the stream."""
    hooks, threads = Hooks(), list[Any]()
    hooks.around("llm.call")(around_noting("around"))
    hooks.after("llm.call", priority=200)(lambda op: threads.append(threading.current_thread()))

    async def main(client: Any) -> None:
        box: list[Any] = [await STREAMS["chat"](client)]
        await anext(box[0])
        box.append(box)
        del box
        gc.collect()
        await asyncio.to_thread(reaper.drain)

    with recorder(hooks) as seen:
        if is_async:
            run(server, main)
        else:
            with sync_client(server.url) as client:
                box: list[Any] = [STREAMS["chat"](client)]
                next(box[0])
                box.append(box)
                del box
                gc.collect()
                reaper.drain()
        [op] = seen.operations
    assert (op.status, op.state) == ("abandoned", {"around": True})
    assert len(threads) == 1
    assert (threads[0] is threading.main_thread()) is is_async  # in the loop, where there is one


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("raw", [False, True])
def test_garbage_collected_async(sort: str, raw: bool, hooks: Hooks, server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        if raw:
            with_raw: dict[str, Open] = {
                "chat": lambda client: client.chat.completions.with_raw_response.create(**CHAT, stream=True),
                "responses": lambda client: client.responses.with_raw_response.create(**RESPONSES, stream=True),
                "text": lambda client: client.completions.with_raw_response.create(**TEXT, stream=True),
            }
            stream = await with_raw[sort](client)
        else:
            stream = await STREAMS[sort](client)
            await anext(stream)
        del stream
        gc.collect()
        await asyncio.to_thread(reaper.drain)

    with recorder(hooks) as seen:
        run(server, main)
        expect_one(seen, "abandoned", hooks, estimated=True)


@pytest.mark.parametrize("sort", ALL)
def test_a_connection_cut_in_the_middle(sort: str, hooks: Hooks, server: OpenAIServer) -> None:
    server.script(Reply("one two three four five six", cut=4))
    with recorder(hooks) as seen, sync_client(server.url) as client:
        stream = STREAMS[sort](client)
        with pytest.raises(Exception, match=CUT):
            list(stream)
        op = expect_one(seen, "error", hooks, estimated=True)
        assert list(stream) == []
    assert op.usage.output_tokens == (0 if sort == "responses" else 4 if sort == "chat" else 5)


@pytest.mark.parametrize("sort", ALL)
def test_a_connection_cut_in_the_middle_async(sort: str, hooks: Hooks, server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        await collected(await STREAMS[sort](client))

    server.script(Reply(cut=2))
    with recorder(hooks) as seen:
        with pytest.raises(Exception, match=CUT):
            run(server, main)
        expect_one(seen, "error", hooks, estimated=True)


@pytest.mark.parametrize("sort", BODIES)
def test_a_body_cut_in_the_middle(sort: str, hooks: Hooks, server: OpenAIServer) -> None:
    server.script(Reply(cut=2))
    with recorder(hooks) as seen, sync_client(server.url) as client:
        with pytest.raises(Exception, match=CUT), BODIES[sort](client) as response:
            response.read()
        expect_one(seen, "error", hooks, estimated=True)


def test_an_error_event_in_the_middle(server: OpenAIServer, hooks: Hooks) -> None:
    server.script(Reply(status=429))
    with recorder(hooks) as seen, sync_client(server.url) as client, pytest.raises(openai.RateLimitError):
        client.chat.completions.create(**CHAT, stream=True)
    [op] = seen.operations
    assert op.status == "error"
    assert op.usage.total_tokens == 0


@pytest.mark.parametrize("sort", ALL)
def test_cancelled(sort: str, hooks: Hooks, server: OpenAIServer) -> None:
    gate = threading.Event()
    server.script(Reply(gate=gate))

    async def main(client: Any) -> None:
        stream = await STREAMS[sort](client)
        await anext(stream)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.set()
        await stream.close()

    with recorder(hooks) as seen:
        run(server, main)
        expect_one(seen, "cancelled", hooks, estimated=True)


@pytest.mark.parametrize("sort", ALL)
def test_closed_from_another_task(sort: str, hooks: Hooks, server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        stream = await STREAMS[sort](client)
        await anext(stream)
        await asyncio.create_task(stream.close())

    with recorder(hooks) as seen:
        run(server, main)
        expect_one(seen, "abandoned", hooks, estimated=True)


@pytest.mark.parametrize("sort", ["chat", "responses", "text"])
def test_whoever_stops_after_the_last_word_has_not_stopped_early(sort: str, server: OpenAIServer) -> None:
    def is_last(chunk: Any) -> bool:
        if sort == "responses":
            return chunk.type == "response.completed"
        return bool(chunk.choices and chunk.choices[0].finish_reason)

    with recorder() as seen, sync_client(server.url) as client, STREAMS[sort](client) as stream:
        for chunk in stream:
            if is_last(chunk):
                break
    assert [op.status for op in seen.operations] == ["success"]


def test_a_stream_is_what_it_was(server: OpenAIServer) -> None:
    with recorder(), sync_client(server.url) as client:
        stream = client.chat.completions.create(**CHAT, stream=True)
        assert isinstance(stream, Stream)
        assert stream.response.headers["x-request-id"] == "req_1"
        assert stream.response is stream.response
        assert isinstance(stream.response, type(copy.copy(stream).response))
        assert type(copy.copy(stream)) is Stream
        assert inspect.isgenerator(iter(stream))  # as the SDK's own
        assert next(stream).choices
        assert len(list(stream)) == 4
        with pytest.raises(StopIteration):
            next(stream)

    async def main(client: Any) -> None:
        stream = await client.chat.completions.create(**CHAT, stream=True)
        assert isinstance(stream, AsyncStream)
        assert stream.response is stream.response
        await collected(stream)

    with recorder():
        run(server, main)


def spoilt(stream: Any) -> list[Any]:
    """The chunks of a stream, each of which its consumer overwrites as soon as it has it."""
    chunks = list[Any]()
    for chunk in stream:
        chunks.append(chunk)
        overwritten(chunk)
    for chunk in chunks:
        overwritten(chunk)
    return chunks


def overwritten(chunk: Any) -> None:
    if not isinstance(chunk, ChatCompletionChunk):
        return
    chunk.id = chunk.model = "overwritten"
    if chunk.usage is not None:
        chunk.usage.prompt_tokens = chunk.usage.completion_tokens = 1
        chunk.usage.prompt_tokens_details = chunk.usage.completion_tokens_details = None
    for choice in chunk.choices:
        choice.finish_reason = "length"
        choice.delta.content = "overwritten"
        choice.delta.role = "user"
    chunk.choices.clear()


def ways_to_read(hooks: Hooks, read: list[Any]) -> dict[str, Callable[[], Any]]:
    """Hooks of every form that read the result of a stream: what registers each."""

    def look(op: Operation) -> None:
        read.append((op.result, op.response.text))

    def around(op: Operation) -> Iterator[None]:
        result = yield
        read.append((result, op.response.text))

    async def wrapping(op: Operation, call_next: Callable[[], Any]) -> None:
        read.append((await call_next(), op.response.text))

    async def alook(op: Operation) -> None:
        look(op)

    later: dict[str, Any] = {"priority": 200}  # from 100 on, so that no stream is held back for it
    return {
        "after": lambda: hooks.after("llm.call", **later)(look),
        "after, in a worker": lambda: hooks.after("llm.call", blocking=True, timeout=60.0, **later)(look),
        "after, async": lambda: hooks.after("llm.call", timeout=60.0, **later)(alook),
        "after, held back": lambda: hooks.after("llm.call", stream="buffer", priority=10)(look),
        "around": lambda: hooks.around("llm.call", **later)(around),
        "around, async": lambda: hooks.around("llm.call", timeout=60.0, **later)(wrapping),
        "in shadow": lambda: hooks.after("llm.call", mode="shadow", **later)(look),
        "a subscription": lambda: hooks.on("llm.call.post", look),
    }


@pytest.mark.parametrize("sort", ["chat", "text"])
@pytest.mark.parametrize("way", ways_to_read(Hooks(), []))
def test_the_result_is_what_it_was_at_the_end_whoever_reads_it(way: str, sort: str, server: OpenAIServer) -> None:
    hooks, read = Hooks(), list[Any]()
    ways_to_read(hooks, read)[way]()
    with recorder(hooks) as seen, sync_client(server.url) as client:
        spoilt(STREAMS[sort](client))
        assert hooks.flush()
        [op] = seen.operations
    [(result, text)] = read
    assert text == "hello there friend"
    assert type(result).__name__ == ("ChatCompletion" if sort == "chat" else "Completion")
    assert result.choices[0].finish_reason == "stop"
    assert "overwritten" not in (result.id, result.model, *(seen.spans[0].attributes or {}).values())
    assert op.result == result
    assert op.result is not result  # each hook has its own


REPORTING: dict[str, Open] = {
    "chat": lambda client: client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}),
    "responses": STREAMS["responses"],
    "text": lambda client: client.completions.create(**TEXT, stream=True, stream_options={"include_usage": True}),
}


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("sort", REPORTING)
def test_tokens_are_those_that_were_reported_whatever_a_consumer_makes_of_them(
    sort: str, keeps: bool, server: OpenAIServer
) -> None:
    hooks = Hooks()
    if keeps:
        hooks.after("llm.call")(lambda op: None)

    def used(spoils: bool) -> tuple[int, ...]:
        server.script(Reply(text="hello", tokens=Tokens(input=1000, output=500, cached=200, reasoning=100)))
        with recorder(hooks) as seen, sync_client(server.url) as client:
            for event in REPORTING[sort](client):
                reports: Any = event if sort != "responses" else getattr(event, "response", None)
                if spoils and reports is not None and reports.usage is not None:
                    for count in [name for name in vars(reports.usage) if name.endswith("_tokens")]:
                        setattr(reports.usage, count, 1)
                    for held in [one for name, one in vars(reports.usage).items() if name.endswith("_details") and one]:
                        for count in vars(held):
                            setattr(held, count, 1)
        found = seen.operations[0].usage
        return found.input_tokens, found.output_tokens, found.cache_read_tokens, found.reasoning_tokens

    assert used(spoils=True) == used(spoils=False)
    assert used(spoils=False)[:2] == (1000, 500)


@pytest.mark.parametrize("form", ["before", "after"])
def test_a_result_that_nobody_reads_is_not_made(form: str, server: OpenAIServer) -> None:
    hooks, kept = Hooks(), list[Operation]()
    getattr(hooks, form)("llm.call", priority=200)(lambda op: kept.append(op))
    with recorder(hooks), sync_client(server.url) as client:
        spoilt(STREAMS["chat"](client))
    [op] = kept
    assert type(op._record._result) is Later
    if form == "before":
        assert op.result is not None  # by whoever kept it
        assert op.response.text == "hello there friend"


def test_a_result_that_a_hook_edits_in_place_stays_as_it_was(server: OpenAIServer) -> None:
    hooks, read = Hooks(), list[str]()

    @hooks.after("llm.call", priority=200)
    def edits(op: Operation) -> None:
        op.result.choices[0].message.content = "edited"

    @hooks.after("llm.call", priority=300)
    def reads(op: Operation) -> None:
        read.append(op.result.choices[0].message.content)

    with recorder(hooks) as seen, sync_client(server.url) as client:
        spoilt(STREAMS["chat"](client))
    assert read == ["hello there friend"]
    assert seen.operations[0].result.choices[0].message.content == "hello there friend"


def test_a_result_that_a_hook_replaces_is_the_only_one(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer", priority=10)
    def replaces(op: Operation) -> None:
        op.respond("something else")

    with recorder(hooks) as seen, sync_client(server.url) as client:
        chunks = list(STREAMS["chat"](client))
    assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices) == "something else"
    assert type(seen.operations[0]._record._result) is not Later


def test_what_a_consumer_opens_between_two_chunks_has_the_parent_it_would_have_had(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client(server.url) as client:
        tracer = seen.tracer_provider.get_tracer("application")
        with tracer.start_as_current_span("outer") as outer:
            for _ in client.chat.completions.create(**CHAT, stream=True):
                with tracer.start_as_current_span("inner"):
                    pass
        inner = [span for span in seen.spans if span.name == "inner"]
    assert len(inner) == 5
    assert {span.parent.span_id for span in inner if span.parent} == {outer.get_span_context().span_id}


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_rejection_after_a_stream_that_is_held_back(is_async: bool, raw: bool, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer", priority=0)
    def withhold(op: Operation) -> None:
        if "friend" in op.response.text:
            raise Reject("no friends")

    chunks: list[Any] = []

    async def main(client: Any) -> None:
        api = client.chat.completions.with_raw_response if raw else client.chat.completions
        stream = await api.create(**CHAT, stream=True)
        async for chunk in stream.parse() if raw else stream:
            chunks.append(chunk)  # noqa: PERF401 - as far as it comes

    with recorder(hooks) as seen, pytest.raises(Reject, match="no friends"):
        if is_async:
            run(server, main)
        else:
            with sync_client(server.url) as client:
                api = client.chat.completions.with_raw_response if raw else client.chat.completions
                stream: Any = api.create(**CHAT, stream=True)
                chunks.extend(stream.parse() if raw else stream)
    assert chunks == []
    assert [op.status for op in seen.operations] == ["rejected"]


def test_chunks_of_two_choices(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def keep(op: Operation) -> None:
        op.state["said"] = [message["parts"] for message in op.response.messages]

    with recorder(hooks) as seen, sync_client(server.url) as client:
        list(client.chat.completions.create(**CHAT, stream=True, n=2))
    [op] = seen.operations
    assert op.state["said"] == [[{"type": "text", "content": "hello there friend"}]] * 2
    assert op.usage.output_tokens == 9
    assert op._record.end_attributes is not None
    assert op._record.end_attributes["gen_ai.response.finish_reasons"] == ("stop", "stop")


ODD: list[dict[str, Any]] = [
    {},
    {"choices": None},
    {"choices": ["?"]},
    {"choices": [None]},
    {"choices": {"index": 0}},
    *({"choices": [{"index": 0, **choice}]} for choice in ({}, {"delta": None}, {"delta": "?"}, {"delta": {}})),
    {"choices": [{"delta": {"content": "more"}}]},
    {"choices": [{"index": "0", "delta": {"content": "more"}}]},
    {"choices": [{"index": 0, "delta": {"content": 7}}]},
    {"choices": [{"index": 0, "delta": {"content": "more", "reasoning_content": "why"}}]},
    {"choices": [{"index": 0, "delta": {"refusal": "no"}}]},
    {"choices": [{"index": 0, "delta": {"content": "more"}, "finish_reason": "stop"}]},
    {"choices": [{"index": 0, "delta": {"content": "more"}}, {"index": 1, "delta": {"content": "other"}}]},
    {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}},
]


@pytest.mark.every_combination
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_chunk_as_compatible_servers_send_them_breaks_nothing(odd: dict[str, Any], keep: bool) -> None:
    """Chunks as the SDK builds them, whatever they hold, are read as the same chunks in JSON."""

    def read(model: Any) -> Any:
        chunks = ChatChunks({}, dict, itself=False)
        chunks.keep = keep
        for more in (*({"choices": [{"index": 0, "delta": {"content": one}}]} for one in "abc"), odd, odd):
            chunk = {"id": "1", "model": "m", **more}
            with suppress(TypeError):  # text that is none, as without
                chunks.add(construct_type(type_=model, value=chunk) if model else chunk)
        return chunks.characters, chunks.reasons, str(chunks.result()), str(chunks.response())

    assert read(ChatCompletionChunk) == read(None)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("model", [ChatCompletionChunk, None], ids=["model", "JSON"])
def test_a_running_total_that_text_follows_is_a_lower_bound(model: Any, keep: bool) -> None:
    def source(*more: Any) -> str:
        chunks = ChatChunks({}, dict, itself=False)
        chunks.keep = keep
        for one in ({"content": "a", "usage": 1}, *more):
            given = {"index": 0, "delta": {"content": one.get("content")}, "finish_reason": one.get("reason")}
            usage = {"prompt_tokens": 10, "completion_tokens": one["usage"]} if "usage" in one else None
            chunk = {"id": "1", "model": "m", "choices": [given], "usage": usage}
            chunks.add(construct_type(type_=model, value=chunk) if model else chunk)
        used = chunks.response()[1]
        assert used is not None
        return used.source

    assert source({"reason": "stop"}) == "provider"
    assert source({"content": "b", "usage": 2}, {"reason": "stop"}) == "provider"
    assert source({"content": "b"}, {"content": "c"}, {"reason": "stop"}) == "estimate"
    assert source({"content": "b"}, {"reason": "stop", "usage": 2}) == "provider"


def test_fifty_streams_at_once(server: OpenAIServer) -> None:
    async def main(client: Any) -> None:
        async def one() -> int:
            return len(await collected(await client.chat.completions.create(**CHAT, stream=True)))

        assert await asyncio.gather(*(one() for _ in range(50))) == [5] * 50

    with recorder() as seen:
        run(server, main)
    assert [op.status for op in seen.operations] == ["success"] * 50
    assert {op.usage.output_tokens for op in seen.operations} == {5}


# ----------------------------------------------------------------------------------------- what hooks read of answers


@pytest.mark.every_value
@pytest.mark.parametrize("raw", [False, True], ids=["stream", "raw"])
@pytest.mark.parametrize("answers", ["before", "after"])
@pytest.mark.every_combination
def test_hooks_after_the_call_read_the_answer_of_a_hook(answers: str, raw: bool, server: OpenAIServer) -> None:
    hooks, read = Hooks(), list[tuple[str, str]]()
    if answers == "before":
        hooks.before("llm.call")(lambda op: op.respond("my answer"))
    else:
        hooks.after("llm.call", stream="buffer", priority=10)(lambda op: op.respond("my answer"))

    @hooks.after("llm.call", priority=20)
    def look(op: Operation) -> None:
        read.append((op.response.text, op.result.choices[0].message.content))

    with recorder(hooks) as seen, sync_client(server.url) as client:
        completions = client.chat.completions
        create = completions.with_raw_response.create if raw else completions.create
        stream: Any = create(**CHAT, stream=True)
        said = "".join(one.choices[0].delta.content or "" for one in (stream.parse() if raw else stream) if one.choices)
    assert said == "my answer"
    assert read == [("my answer", "my answer")]
    assert [op.response.text for op in seen.operations] == ["my answer"]


def test_a_gate_after_the_call_refuses_an_answered_stream(server: OpenAIServer) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("the secret is 42"))

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        if "secret" in op.response.text:
            raise Reject("no secrets")

    with recorder(hooks), sync_client(server.url) as client, pytest.raises(Reject):
        client.chat.completions.create(**CHAT, stream=True)
