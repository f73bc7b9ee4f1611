"""Every way of running an agent or a model of Pydantic AI, each reduced to comparable facts."""

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from spanhook.cli.conformance.libraries.openai_scripts import Turn, scripted_client
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body, Use

ASK = "Greet me."
_UNLIKE = re.compile(
    r"pyd_ai_[0-9a-f]{8,}|[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+(Z|\+[\d:]+)?|datetime\.datetime\([^()]*\)|/~\d+/"
)
"""Ids and times that the library makes, and which server answered."""


# ------------------------------------------------------------------------------------------------- models


def chat_model(body: Body, turns: Sequence[Turn] = (), used: Tokens = Reply.tokens) -> Any:
    """A model for chat completions, whose requests count as runs of ``body``."""
    return OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=scripted_client(body, turns, used)))


def responses_model(body: Body, turns: Sequence[Turn] = (), used: Tokens = Reply.tokens) -> Any:
    """The same for responses."""
    provider = OpenAIProvider(openai_client=scripted_client(body, turns, used))
    return OpenAIResponsesModel("gpt-4o-mini", provider=provider)


def own_model(body: Body) -> Any:
    """A model made of functions."""

    def answer(messages: list[Any], _info: AgentInfo) -> ModelResponse:
        body.run(messages, Reply.tokens.total)
        used = RequestUsage(input_tokens=Reply.tokens.input, output_tokens=Reply.tokens.output)
        return ModelResponse(parts=[TextPart(Reply.text)], usage=used)

    async def stream(messages: list[Any], _info: AgentInfo) -> AsyncIterator[str]:
        body.run(messages)
        for word in re.findall(r"\S+\s*", Reply.text):
            yield word

    return FunctionModel(answer, stream_function=stream, model_name="own")


CALL: tuple[Any, ...] = (
    [ModelRequest(parts=[UserPromptPart(ASK)], instructions="Be brief.")],
    None,
    ModelRequestParameters(),
)


def plain(value: Any) -> Any:
    """Messages, events and results as text, without ids and times."""
    return _UNLIKE.sub("*", repr(value))


async def _request(model: Any) -> Any:
    response = await model.request(*CALL)
    return plain(response.parts), _tokens(response.usage), response.model_name, response.finish_reason


async def _stream(model: Any) -> Any:
    async with model.request_stream(*CALL) as response:
        events = [plain(event) async for event in response]
    whole = response.get()
    return events, plain(whole.parts), _tokens(whole.usage), whole.model_name


def _tokens(used: Any) -> tuple[int, int]:
    return used.input_tokens, used.output_tokens


class Opened:
    """A model's stream, which is left by closing it."""

    def __init__(self, context: Any, response: Any) -> None:
        self._context, self._events = context, aiter(response)

    def __aiter__(self) -> "Opened":
        return self

    async def __anext__(self) -> Any:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Leave it."""
        await self._context.__aexit__(None, None, None)


async def _opened(model: Any) -> Opened:
    context = model.request_stream(*CALL)
    return Opened(context, await context.__aenter__())


MODEL_WAYS: dict[str, Use] = {"request": _request, "request_stream": _stream}
MODEL_OPENED: dict[str, Use] = {"request_stream": _opened}


# ------------------------------------------------------------------------------------------------- runs


@dataclass
class Run:
    """An agent, and what else its runs are given."""

    agent: Agent[Any, Any]


def facts(result: Any) -> Any:
    """The result of a run."""
    used: Any = result.usage
    used = used if hasattr(used, "input_tokens") else used()  # version 1
    messages = json.loads(_UNLIKE.sub("*", ModelMessagesTypeAdapter.dump_json(result.all_messages()).decode()))
    for one in messages:
        one.pop("usage", None)
    return type(result).__name__, plain(result.output), messages, _tokens(used)


async def _run(run: Run) -> Any:
    return facts(await run.agent.run(ASK))


def _run_sync(run: Run) -> Any:
    """Run it where no event loop runs: the library refuses to otherwise."""
    if asyncio._get_running_loop() is None:
        return _run_here(run)
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(_run_here(run)))
    thread.start()
    thread.join()
    return told[0]


def _run_here(run: Run) -> Any:
    try:
        return facts(run.agent.run_sync(ASK))
    finally:
        with suppress(RuntimeError):
            asyncio.get_event_loop_policy().get_event_loop().close()  # pyright: ignore[reportDeprecated]
        asyncio.set_event_loop(None)


async def _run_stream(run: Run) -> Any:
    async with run.agent.run_stream(ASK) as result:
        told = [text async for text in result.stream_text(delta=True, debounce_by=None)]
        return told, plain(await result.get_output()), plain([one.parts for one in result.all_messages()])


async def _run_events(run: Run) -> Any:
    events: list[Any] = []

    async def hear(_context: Any, heard: AsyncIterable[Any]) -> None:
        events.extend([plain(event) async for event in heard])

    result = await run.agent.run(ASK, event_stream_handler=hear)
    return events, facts(result)


async def _iter(run: Run) -> Any:
    async with run.agent.iter(ASK) as going:
        nodes = [type(node).__name__ async for node in going]
    return nodes, facts(going.result)


RUN_WAYS: dict[str, Use] = {"run": _run, "run_stream": _run_stream, "event_stream_handler": _run_events, "iter": _iter}
ALL_WAYS: dict[str, Use] = {**RUN_WAYS, "run_sync": _run_sync}
RUN_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {"run": lambda run: _bound(run.agent.run)}


def _bound(kept: Any) -> Callable[[], Any]:
    return lambda: _later(kept)


async def _later(kept: Any) -> Any:
    return facts(await kept(ASK))
