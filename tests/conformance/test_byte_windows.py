"""Streams whose bytes the application reads itself, under hooks with windows: text passes as it arrives and is allowed,
and bytes that no hook changes pass as they are.
"""

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from anthropic import Anthropic
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI, OpenAI

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_replies import Call
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.settings import Settings
from spanhook.testing import recorder
from tests.conformance.test_windows import (
    ARGUMENTS,
    ASKED,
    CARD,
    CUTS,
    MASK,
    SECRET,
    TEXT,
    Masking,
    Refusing,
    anthropic_events,
    many,
    pieces,
)

USED = {"stream_options": {"include_usage": True}}


class Passing:
    """A filter that sees text and lets all of it out."""

    reason = ""

    def feed(self, text: str) -> str:
        return text

    def end(self) -> str:
        return ""


class Looking(Hook):
    """Sees text before it goes out, and holds nothing back."""

    kinds = ("llm.call",)
    stream = "window"
    fail_mode = "closed"
    timeout = 60.0

    def text_filter(self, op: Operation) -> Passing:
        return Passing()

    def after(self, op: Operation) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture(scope="module")
def anthropic_server() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        yield running


@pytest.fixture
def client(server: OpenAIServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.url, api_key="test", max_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def messages(anthropic_server: AnthropicServer) -> Iterator[Any]:
    with Anthropic(base_url=anthropic_server.url, api_key="test", max_retries=0) as made:
        yield made.messages


# ------------------------------------------------------------------------------------------------- ways of reading


def _streaming(read: Callable[[Any], Any]) -> Callable[[OpenAI], bytes]:
    def ask(client: OpenAI) -> bytes:
        raw = client.chat.completions.with_streaming_response
        with raw.create(model="m", stream=True, extra_body=USED, **ASKED) as response:
            return read(response)

    return ask


def _of_stream(client: OpenAI) -> bytes:
    """The response of a parsed stream, read instead of the stream."""
    return client.chat.completions.create(model="m", stream=True, extra_body=USED, **ASKED).response.read()


def _awaited(client: OpenAI) -> bytes:
    async def ask() -> bytes:
        async with AsyncOpenAI(base_url=client.base_url, api_key="test", max_retries=0) as later:
            raw = later.chat.completions.with_streaming_response
            async with raw.create(model="m", stream=True, extra_body=USED, **ASKED) as response:
                found: AsyncIterator[bytes] = response.iter_bytes()
                return b"".join([piece async for piece in found])

    return run(ask())


WAYS: dict[str, Callable[[OpenAI], bytes]] = {
    "bytes": _streaming(lambda response: b"".join(response.iter_bytes())),
    "small pieces": _streaming(lambda response: b"".join(response.iter_bytes(7))),
    "lines": _streaming(lambda response: "".join(f"{line}\n" for line in response.iter_lines()).encode()),
    "read": _streaming(lambda response: response.read()),
    "the response of a stream": _of_stream,
    "async": _awaited,
}


def events_in(content: bytes) -> list[Any]:
    """The JSON of all events but the last, which has none."""
    events = [event.removeprefix("data: ") for event in content.decode().strip().split("\n\n")]
    assert events.pop() == "[DONE]"
    return [json.loads(event) for event in events]


def said_in(content: bytes) -> str:
    choices = [choice for event in events_in(content) for choice in event["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


@pytest.mark.parametrize("way", WAYS)
def test_what_no_hook_changes_passes_as_it_is(way: str, client: OpenAI, server: OpenAIServer) -> None:
    server.script(TEXT, TEXT)
    plain = WAYS[way](client)
    with recorder(Hooks(Looking())) as seen:
        assert WAYS[way](client) == plain
    (call,) = seen.operations
    assert (call.status, call.usage.total_tokens, call.usage.estimated) == ("success", 28, False)


@pytest.mark.parametrize("way", WAYS)
def test_text_is_rewritten_in_its_events(way: str, client: OpenAI, server: OpenAIServer) -> None:
    @many
    @given(cuts=CUTS)
    def split(cuts: list[int]) -> None:
        server.script(Reply(text=TEXT, pieces=pieces(TEXT, cuts)))
        with recorder(Hooks(Masking()), settings=Settings(content="SPAN_AND_EVENT")) as seen:
            content = WAYS[way](client)
        assert SECRET not in content.decode()
        assert said_in(content) == CARD.sub(MASK, TEXT)
        assert SECRET not in repr([span.to_json() for span in seen.spans])
        assert [one.decision for one in seen.operations[0].decisions] == ["replace"]
        assert seen.operations[0].usage.total_tokens == 28

    split()


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_streams_too(encoding: str, client: OpenAI, server: OpenAIServer) -> None:
    for hook, said in ((Looking(), TEXT), (Masking(), CARD.sub(MASK, TEXT))):
        server.script(Reply(text=TEXT, encoding=encoding))
        with recorder(Hooks(hook)) as seen:
            assert said_in(WAYS["bytes"](client)) == said
        assert seen.operations[0].usage.total_tokens == 28


def test_tool_calls_and_parsed_raw_streams(client: OpenAI, server: OpenAIServer) -> None:
    server.script(Reply(calls=(Call("pay", ARGUMENTS),)))
    with recorder(Hooks(Masking())):
        raw = client.chat.completions.with_raw_response.create(model="m", stream=True, **ASKED)
        chunks: list[Any] = list(raw.parse())
    deltas = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or ()]
    assert json.loads("".join(call.function.arguments or "" for call in deltas)) == {**ARGUMENTS, "card": MASK}


def test_responses(client: OpenAI, server: OpenAIServer) -> None:
    server.script(TEXT)
    with recorder(Hooks(Masking())):
        raw = client.responses.with_raw_response.create(model="m", input="hi", stream=True)
        events: list[Any] = list(raw.parse())
    assert SECRET not in repr(events)
    assert events[-1].response.output_text == CARD.sub(MASK, TEXT)


@given(cuts=st.lists(st.integers(1, len(TEXT) - 1), max_size=5))
@many
def test_named_events(messages: Any, anthropic_server: AnthropicServer, cuts: list[int]) -> None:
    """Anthropic's SDK goes by the names of events, those of chunks that a window adds included."""
    anthropic_server.script(Reply(events=tuple(anthropic_events(cuts, json.dumps(ARGUMENTS)))))
    with recorder(Hooks(Masking())):
        raw = messages.with_raw_response.create(model="m", max_tokens=9, stream=True, **ASKED)
        events: list[Any] = list(raw.parse())
    assert SECRET not in repr(events)
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    for kind, name in (("thinking_delta", "thinking"), ("text_delta", "text")):
        said = "".join(getattr(delta, name) for delta in deltas if delta.type == kind)
        assert said == CARD.sub(MASK, TEXT)


# ------------------------------------------------------------------------------------------------- as it arrives


def test_text_passes_as_it_arrives(client: OpenAI, server: OpenAIServer) -> None:
    """The server sends an event when the one before it has been read."""
    gate = threading.Event()
    server.script(Reply(text="one two three four five six", gate=gate))
    with recorder(Hooks(Looking())):
        raw = client.chat.completions.with_streaming_response
        with raw.create(model="m", stream=True, **ASKED) as response:
            found = response.iter_bytes()
            first = next(found)
            assert b'"role"' in first
            assert b"six" not in first
            gate.set()
            rest = b"".join(found)
    assert said_in(first + rest) == "one two three four five six"


def test_what_was_read_of_a_stream_that_is_left(client: OpenAI, server: OpenAIServer) -> None:
    gate = threading.Event()
    server.script(Reply(text="one two three", gate=gate))
    with recorder(Hooks(Looking())) as seen:
        raw = client.chat.completions.with_streaming_response
        with raw.create(model="m", stream=True, **ASKED) as response:
            next(response.iter_bytes())
    gate.set()
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("abandoned", True)]


def test_a_stream_that_breaks(client: OpenAI, server: OpenAIServer) -> None:
    server.script(Reply(TEXT, cut=4), Reply(TEXT, cut=4))
    failures: list[type] = []
    for hooks in (Hooks(), Hooks(Masking())):
        with recorder(hooks) as seen, pytest.raises(Exception, match="peer closed") as failed:
            WAYS["bytes"](client)
        failures.append(failed.type)
        assert [op.status for op in seen.operations] == ["error"]
    assert failures[0] is failures[1]


@pytest.mark.every_value
@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_is_raised_where_the_bytes_are_read(way: str, client: OpenAI, server: OpenAIServer) -> None:
    server.script(TEXT)
    asked = len(server.requests)
    with recorder(Hooks(Refusing())) as seen, pytest.raises(Reject, match="a card number"):
        WAYS[way](client)
    assert len(server.requests) == asked + 1
    assert [op.status for op in seen.operations] == ["rejected"]


def test_an_event_of_an_odd_form_is_read_too(messages: Any, anthropic_server: AnthropicServer) -> None:
    odd: Any = {"type": "content_block_delta", "index": 0, "delta": f"odd {SECRET}"}
    anthropic_server.script(Reply(events=(*list(anthropic_events([], "{}"))[:2], odd)))
    with recorder(Hooks(Masking())):
        raw = messages.with_streaming_response
        with raw.create(model="m", max_tokens=9, stream=True, **ASKED) as response:
            assert SECRET not in response.read().decode()
