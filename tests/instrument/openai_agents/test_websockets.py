"""Models that speak to OpenAI over a websocket, past any HTTP client."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from agents import Agent
from agents.models import openai_responses
from openai import AsyncOpenAI
from websockets.asyncio.server import ServerConnection, serve

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.servers import openai_bodies as bodies
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, told

Asked = list[dict[str, Any]]


def serving(work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Asked:
    """Let it work with a model whose server is on loopback; returns what the server was asked."""
    asked: Asked = []

    async def answer(connection: ServerConnection) -> None:
        async for frame in connection:
            asked.append(json.loads(frame))
            for _, event in bodies.response_events(asked[-1], Reply()):
                await connection.send(json.dumps(event))

    async def all_of_it() -> None:
        async with serve(answer, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            client = AsyncOpenAI(
                api_key="test",
                base_url=f"http://127.0.0.1:{port}/v1",
                websocket_base_url=f"ws://127.0.0.1:{port}/v1",
            )
            model = openai_responses.OpenAIResponsesWSModel("gpt-4o-mini", client)
            try:
                await work(model)
            finally:
                await model.close()
                await client.close()

    asyncio.run(all_of_it())
    return asked


if hasattr(openai_responses, "OpenAIResponsesWSModel"):

    @both_ways
    def test_one_operation_for_a_call(way: Way) -> None:
        with recorder() as seen:
            asked = serving(lambda model: way(Agent(name="helper", model=model)))
        assert len(asked) == 1
        assert told(seen) == [("llm.call", "gpt-4o-mini", "success"), ("agent.invoke", "helper", "success")]
        assert seen.operations[-1].usage.total_tokens == Reply.tokens.total
        attributes = seen.spans[0].attributes or {}
        assert attributes["gen_ai.response.id"] == "resp_1"
        assert attributes["gen_ai.provider.name"] == "openai"

    @both_ways
    def test_a_refused_call_sends_nothing(way: Way) -> None:
        hooks = Hooks()

        @hooks.before("llm.call")
        def refuse(op: Operation) -> None:
            raise Reject("no")

        async def refused(model: Any) -> None:
            with pytest.raises(Reject):
                await way(Agent(name="helper", model=model))

        with recorder(hooks):
            assert serving(refused) == []

    @both_ways
    def test_a_rewritten_one_is_sent_as_it_is_then(way: Way) -> None:
        hooks = Hooks()

        @hooks.before("llm.call")
        def rewrite(op: Operation) -> None:
            op.replace(system="Be kind.", model="gpt-4.1")

        with recorder(hooks):
            [asked] = serving(lambda model: way(Agent(name="helper", instructions="Be brief.", model=model)))
        assert (asked["instructions"], asked["model"]) == ("Be kind.", "gpt-4.1")
