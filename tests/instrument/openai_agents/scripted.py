"""Agents whose models answer in turns, and what comes of running them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from agents import OpenAIResponsesModel, Runner

from spanhook.cli.conformance.libraries.openai_agents_ways import ASK, Turn, model_of
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder

Way = Callable[..., Coroutine[Any, Any, Any]]


def scripted(body: Body | None = None, *turns: Turn, kind: Any = OpenAIResponsesModel) -> Any:
    """A model that answers in turns, whose requests count as runs of ``body``."""
    made = model_of(kind, Body() if body is None else body, turns, Reply.tokens)
    _clients.append(made._client._client)
    return made


_clients: list[Any] = []


async def hanging_up(running: Awaitable[Any]) -> Any:
    """Wait for what runs, then close the connections of all models: some versions of the SDK leave some open."""
    try:
        return await running
    finally:
        for client in _clients:
            await client._transport.aclose()


async def run(agent: Any, given: Any = ASK, **more: Any) -> Any:
    return await Runner.run(agent, given, **more)


async def streamed(agent: Any, given: Any = ASK, **more: Any) -> Any:
    result = Runner.run_streamed(agent, given, **more)
    async for _ in result.stream_events():
        pass
    return result


both_ways = pytest.mark.parametrize("way", [run, streamed])


def go(way: Way, agent: Any, given: Any = ASK, **more: Any) -> Any:
    """Run the agent in an event loop of its own."""
    return asyncio.run(hanging_up(way(agent, given, **more)))


def told(seen: Recorder) -> list[tuple[str, str, str]]:
    """Every operation: its kind, name and status, in order of ending."""
    return [(op.kind, op.name, op.status) for op in seen.operations]


def outputs(body: Body) -> list[Any]:
    """What the model was told of its calls' results in its last request."""
    return [one["output"] for one in body.seen[-1].body["input"] if str(one.get("type")).endswith("_output")]
