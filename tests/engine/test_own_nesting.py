"""Own code around a client that spanhook binds: one call where it carries the same request, and counted once."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, operation
from spanhook.cli.conformance.libraries.anthropic_ways import sync_client as anthropic_client
from spanhook.cli.conformance.libraries.openai_ways import async_client, sync_client
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.testing import Recorder, recorder

MODEL = "gpt-4o-mini"
MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Reply(tokens=Tokens(input=1000, output=500))) as running:
        yield running


def counted(seen: Recorder) -> tuple[int, int, Any]:
    """Operations, spans, and the tokens of all."""
    tokens = sum(value for _, value in seen.metrics()["spanhook.usage.tokens"])
    return len(seen.operations), len(seen.spans), tokens


@pytest.mark.parametrize("hooked", [True, False])
def test_a_block_around_a_client_is_one_call(server: OpenAIServer, hooked: bool) -> None:
    hooks = Hooks()
    if hooked:

        @hooks.before("llm.call")
        def rewrite(op: Operation) -> None:
            first, last = op.request.messages
            op.replace(messages=[first, {**last, "parts": [{"type": "text", "content": "ho"}]}])

    with sync_client(server.url) as client, recorder(hooks) as seen:
        with operation("llm.call", MODEL, provider="openai", request={"messages": MESSAGES}) as op:
            messages: Any = op.request.messages
            op.call(lambda: client.chat.completions.create(model=op.model, messages=messages))
        assert counted(seen) == (1, 1, 1500)
    assert seen.operations[0].usage.total_tokens == 1500
    assert server.requests[0].body["messages"][-1]["content"] == ("ho" if hooked else "hi")


@pytest.mark.slow
def test_what_it_says_itself_is_counted_instead(server: OpenAIServer) -> None:
    with sync_client(server.url) as client, recorder() as seen:
        with operation("llm.call", MODEL, provider="openai", request={"messages": MESSAGES}) as op:
            client.chat.completions.create(model=MODEL, messages=MESSAGES)
            op.record_usage(input_tokens=1000, output_tokens=500)
        assert counted(seen) == (1, 1, 1500)


def test_a_function_around_a_client_is_one_call(server: OpenAIServer) -> None:
    @spanhook.operation("llm.call", MODEL, provider="openai")
    async def complete(messages: Any) -> Any:
        async with async_client(server.url) as client:
            return await client.chat.completions.create(model=MODEL, messages=messages)

    with recorder() as seen:
        asyncio.run(complete(MESSAGES))
        assert counted(seen) == (1, 1, 1500)


def test_a_call_that_carries_something_else_is_its_own(server: OpenAIServer) -> None:
    other: Any = [{"role": "user", "content": "something else"}]
    asked: list[str] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def note(op: Operation) -> None:
        asked.extend(message["parts"][0]["content"] for message in op.request.messages[-1:])

    with sync_client(server.url) as client, recorder(hooks) as seen:
        with operation("llm.call", MODEL, provider="openai", request={"messages": MESSAGES}):
            client.chat.completions.create(model=MODEL, messages=MESSAGES)
            client.chat.completions.create(model=MODEL, messages=other)
        with operation("llm.call", MODEL, provider="openai"):
            client.chat.completions.create(model=MODEL, messages=other)
        assert len(seen.operations) == 4
    assert asked == ["hi", "something else", "something else"]


def test_a_client_inside_of_an_agent_or_a_tool_is_its_own(server: OpenAIServer) -> None:
    with sync_client(server.url) as client, recorder() as seen:
        with operation("agent.invoke", "desk") as op, operation("tool.execute", "ask"):
            client.chat.completions.create(model=MODEL, messages=MESSAGES)
        assert counted(seen) == (3, 3, 1500)
    assert op.usage.total_tokens == 1500


RESULTS: list[Any] = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"}]},
]
PIECES: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]


BOTH: list[Any] = [{"role": "user", "content": [*RESULTS[2]["content"], *PIECES[0]["content"]]}]


@pytest.mark.parametrize("messages", [RESULTS, PIECES, [*RESULTS[:2], *BOTH]])
def test_a_block_around_anthropics_client_is_one_call(messages: list[Any]) -> None:
    model = "claude-haiku-4-5"
    with AnthropicServer() as server, anthropic_client(server.url) as client, recorder(Hooks()) as seen:
        with operation("llm.call", model, provider="anthropic", request={"messages": messages}) as op:
            given: Any = iter(op.request.messages)
            op.call(lambda: client.messages.create(model=op.model, max_tokens=5, messages=given))
        assert counted(seen) == (1, 1, 28)


def test_a_message_in_pieces_is_one_call(server: OpenAIServer) -> None:
    with sync_client(server.url) as client, recorder(Hooks()) as seen:
        with operation("llm.call", MODEL, provider="openai", request={"messages": PIECES}):
            client.chat.completions.create(model=MODEL, messages=PIECES)
        assert counted(seen) == (1, 1, 1500)


def test_a_client_that_ends_otherwise_is_gated_whatever_stands_before() -> None:
    hooks = Hooks()
    asked: list[str] = []
    model = "claude-haiku-4-5"

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        asked.append(op.request.messages[-1]["parts"][-1].get("content"))

    other: Any = [{"role": "user", "content": [*PIECES[0]["content"], {"type": "text", "text": "something else"}]}]
    with AnthropicServer() as server, anthropic_client(server.url) as client, recorder(hooks) as seen:
        with operation("llm.call", model, provider="anthropic", request={"messages": PIECES}):
            client.messages.create(model=model, max_tokens=5, messages=other)
        assert len(seen.operations) == 2
    assert asked == ["b", "something else"]
