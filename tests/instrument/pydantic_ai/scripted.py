"""Agents whose models answer in turns, and what comes of running them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder

ASK = "Greet me."
Way = Callable[..., Coroutine[Any, Any, Any]]


def _done(messages: list[Any]) -> int:
    return sum(getattr(message, "kind", "") == "response" for message in messages)


def scripted(body: Body | None = None, *turns: Any, name: str = "scripted", forever: bool = False) -> FunctionModel:
    """A model of functions that answers in turns: with text, or with calls as pairs of name and arguments."""
    counts, said = body or Body(), turns or ("hello there",)

    def turn(messages: list[Any]) -> Any:
        counts.run(messages)
        return said[0 if forever else min(_done(messages), len(said) - 1)]

    def answer(messages: list[Any], _info: AgentInfo) -> ModelResponse:
        told = turn(messages)
        used = RequestUsage(input_tokens=10, output_tokens=5, cache_read_tokens=4, details={"reasoning_tokens": 2})
        if isinstance(told, str):
            return ModelResponse(parts=[TextPart(told)], usage=used, finish_reason="stop")
        calls = [ToolCallPart(name, given, f"call_{number}") for number, (name, given) in enumerate(told)]
        return ModelResponse(parts=calls, usage=used, finish_reason="tool_call")

    async def stream(messages: list[Any], _info: AgentInfo) -> AsyncIterator[Any]:
        told = turn(messages)
        if isinstance(told, str):
            for word in told.split(" "):
                yield word if word == told.split(" ")[0] else f" {word}"
            return
        for number, (name, given) in enumerate(told):
            yield {number: DeltaToolCall(name, json.dumps(given), tool_call_id=f"call_{number}")}

    return FunctionModel(answer, stream_function=stream, model_name=name)


async def run(agent: Agent[Any, Any], given: Any = ASK, **more: Any) -> Any:
    return (await agent.run(given, **more)).output


async def streamed(agent: Agent[Any, Any], given: Any = ASK, **more: Any) -> Any:
    async with agent.run_stream(given, **more) as result:
        return await result.get_output()


async def iterated(agent: Agent[Any, Any], given: Any = ASK, **more: Any) -> Any:
    async with agent.iter(given, **more) as going:
        async for _ in going:
            pass
    assert going.result is not None
    return going.result.output


async def heard(agent: Agent[Any, Any], given: Any = ASK, **more: Any) -> Any:
    async def hear(_context: Any, events: Any) -> None:
        async for _ in events:
            pass

    return (await agent.run(given, event_stream_handler=hear, **more)).output


all_ways = pytest.mark.parametrize("way", [run, streamed, iterated, heard])


def go(way: Way, agent: Any, given: Any = ASK, **more: Any) -> Any:
    """Run the agent in an event loop of its own."""
    return asyncio.run(way(agent, given, **more))


def told(seen: Recorder) -> list[tuple[str, str, str]]:
    """Every operation: its kind, name and status, in order of ending."""
    return [(op.kind, op.name, op.status) for op in seen.operations]


def refusing(kind: Any, **more: Any) -> Hooks:
    """Hooks that refuse every operation of a kind."""
    hooks = Hooks()

    @hooks.before(kind, **more)
    def refuse(op: Operation) -> None:
        raise Reject("not now")

    return hooks


def returned(body: Body) -> list[Any]:
    """What the model was told of its calls' results in its last request."""
    parts = [part for message in body.seen[-1] for part in message.parts]
    return [part.content for part in parts if part.part_kind == "tool-return"]
