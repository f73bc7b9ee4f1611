"""The clients that models send requests through: they neither ask again nor count again."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.google_adk_ways import (
    RUN_WAYS,
    agent,
    agents,
    gemini_at,
    runner,
    tool,
)
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Call
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

Server = OpenAIServer
CALL = Reply(calls=(Call("look_up", {"query": "tea"}),))
COUNTED = Tokens(20, 8, cached=4, reasoning=3)


def gemini(server: Server) -> Any:
    return gemini_at(server.url)


def litellm(server: Server) -> Any:
    pytest.importorskip("litellm", reason="a client that the library works with")
    made: Any = import_module("google.adk.models.lite_llm").LiteLlm
    return made(model="openai/gpt-4o-mini", api_base=server.url, api_key="test")


def claude(server: Server) -> Any:
    pytest.importorskip("anthropic", reason="a client that the library works with")
    made: Any = import_module("google.adk.models.anthropic_llm").AnthropicLlm
    sdk = import_module("anthropic")
    once = type(sdk.DEFAULT_CONNECTION_LIMITS)(max_keepalive_connections=0)  # they belong to an event loop
    http = sdk.DefaultAsyncHttpxClient(verify=False, limits=once)
    client = sdk.AsyncAnthropic(base_url=server.url, api_key="test", http_client=http)
    if "client" in made.model_fields:
        return made(model="claude-sonnet-4-5", client=client)
    kind = type("Claude", (made,), {"_anthropic_client": property(lambda _self: client)})
    return kind(model="claude-sonnet-4-5")


CLIENTS: dict[str, tuple[type[Server], Callable[[Server], Any]]] = {
    "gemini": (GoogleServer, gemini),
    "litellm": (OpenAIServer, litellm),
    "claude": (AnthropicServer, claude),
}


@pytest.fixture(params=CLIENTS)
def served(request: Any) -> Iterator[tuple[Server, Any]]:
    """A server, and a model that sends its requests there."""
    kind, make = CLIENTS[request.param]
    with kind(Reply("hello there friend", tokens=COUNTED)) as server:
        yield server, make(server)


class Counted:
    """What was asked, and what was counted."""

    def __init__(self) -> None:
        self.hooks, self.asked, self.totals = Hooks(), list[str](), list[Any]()
        self.hooks.before("*")(lambda op: self.asked.append(op.kind))
        self.hooks.after("agent.invoke")(self._total)

    def _total(self, op: Operation) -> None:
        used = op.usage
        self.totals.append((used.input_tokens, used.output_tokens, used.cache_read_tokens, used.reasoning_tokens))

    def spans(self, seen: Recorder) -> int:
        return sum((one.attributes or {})["spanhook.kind"] == "llm.call" for one in seen.spans)


@pytest.mark.parametrize("way", RUN_WAYS)
@pytest.mark.anyio
async def test_a_client_below_a_model_neither_asks_again_nor_counts_again(served: Any, way: str) -> None:
    server, model = served
    server.script(Reply(calls=CALL.calls, tokens=COUNTED))
    counted, body = Counted(), Body()
    with recorder(counted.hooks) as seen:
        assert await RUN_WAYS[way](runner(agent(model, tool(body)))) == "hello there friend"
    assert counted.asked == ["agent.invoke", "llm.call", "tool.execute", "llm.call"]
    assert (len(server.requests), body.runs, counted.spans(seen)) == (2, 1, 2)
    ((inputs, outputs, cached, _),) = counted.totals
    assert (inputs, outputs, cached) == (2 * COUNTED.input, 2 * COUNTED.output, 2 * COUNTED.cached)


@pytest.mark.anyio
async def test_a_model_that_is_told_to_go_on_is_asked_once(served: Any) -> None:
    """In the second turn of a loop, what the model said itself comes last, and the library adds a text."""
    server, model = served
    counted = Counted()
    with recorder(counted.hooks):
        loop = agents.LoopAgent(name="loop", max_iterations=2, sub_agents=[agent(model)])
        await RUN_WAYS["run_async"](runner(loop))
    assert counted.asked == ["agent.invoke", "agent.invoke", "llm.call", "agent.invoke", "llm.call"]
    assert len(server.requests) == 2


@pytest.mark.parametrize("way", RUN_WAYS)
@pytest.mark.anyio
async def test_the_librarys_own_counts_are_read_where_the_client_is_not_gated(served: Any, way: str) -> None:
    _, model = served
    counted = Counted()
    with recorder(counted.hooks, only=["google_adk"]):
        await RUN_WAYS[way](runner(agent(model)))
    ((inputs, outputs, cached, _),) = counted.totals
    left_out = COUNTED.cached if "Claude" in type(model).__name__ and not cached else 0
    assert (inputs, outputs) == (COUNTED.input - left_out, COUNTED.output)  # older versions leave out what was cached
