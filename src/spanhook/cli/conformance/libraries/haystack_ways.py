"""Agents, pipelines, chat generators and tools of Haystack, made so that they count, and every way of calling them."""

import asyncio
import json
import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Use

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "false")  # it would be sent to its makers
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    haystack: Any = import_module("haystack")  # it is not in the environment that types are checked in
    _agents: Any = import_module("haystack.components.agents")
    _dataclasses: Any = import_module("haystack.dataclasses")
    tools: Any = import_module("haystack.tools")
Agent, ChatMessage, StreamingChunk = _agents.Agent, _dataclasses.ChatMessage, _dataclasses.StreamingChunk
Pipeline = getattr(haystack, "AsyncPipeline", None) or haystack.Pipeline
"""The pipeline that runs both ways."""
IS_2 = import_module("haystack.version").__version__.startswith("2.")
component = haystack.component
Messages: Any = list[ChatMessage]

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tools of these agents return."""
Turn = str | tuple[str, dict[str, Any]]
"""What a scripted model says: text, or a tool and its arguments."""


class Script:
    """What a model says, in turns; without any, it repeats what a tool told it.

    Args:
        body: What its calls are runs of.
        turns: What it says, one after the other; the last one from then on.
    """

    def __init__(self, body: Body | None = None, *turns: Turn) -> None:
        self.body, self.turns, self.calls = body, turns or (Reply.text,), 0

    def next(self, messages: Any, callback: Any) -> tuple[Any, list[Any]]:
        """A reply, and the chunks that a callback is told."""
        if self.body is not None:
            self.body.run([_text(one) for one in messages], Tokens().total)
        said = self.turns[min(self.calls, len(self.turns) - 1)]
        self.calls += 1
        said = _told(messages) if said == "" else said
        chunks = [StreamingChunk(content=one) for one in said] if callback and isinstance(said, str) else []
        return _reply(said, Tokens() if self.body is not None else Tokens(0, 0)), chunks


def _text(message: Any) -> str:
    return message.text or ""


def _told(messages: Any) -> str:
    """What the model was last told by a tool."""
    return str(messages[-1].tool_call_result.result)


def _reply(said: Turn, tokens: Tokens) -> Any:
    usage = {"prompt_tokens": tokens.input, "completion_tokens": tokens.output, "total_tokens": tokens.total}
    calls: list[Any] = []
    if not isinstance(said, str):
        calls = [_dataclasses.ToolCall(tool_name=said[0], arguments=said[1], id=f"call_{said[0]}")]
    meta = {"model": "own", "finish_reason": "tool_calls" if calls else "stop", "usage": usage}
    return ChatMessage.from_assistant(text=None if calls else said, tool_calls=calls or None, meta=meta)


@component
class Own:
    """A chat generator of the application's own."""

    model = "own"

    def __init__(self, script: Script) -> None:
        self.script = script

    @component.output_types(replies=Messages)
    def run(
        self, messages: Any, streaming_callback: Any = None, generation_kwargs: Any = None, tools: Any = None
    ) -> dict[str, Any]:
        del generation_kwargs, tools
        reply, chunks = self.script.next(messages, streaming_callback)
        for chunk in chunks:
            streaming_callback(chunk)
        return {"replies": [reply]}

    @component.output_types(replies=Messages)
    async def run_async(
        self, messages: Any, streaming_callback: Any = None, generation_kwargs: Any = None, tools: Any = None
    ) -> dict[str, Any]:
        del generation_kwargs, tools
        await asyncio.sleep(0)
        reply, chunks = self.script.next(messages, streaming_callback)
        for chunk in chunks:
            await streaming_callback(chunk)
        return {"replies": [reply]}


class Plain:
    """A chat generator that is no component, and not async."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def run(self, messages: list[Any], tools: Any = None) -> dict[str, Any]:
        del tools
        return {"replies": [self.script.next(messages, None)[0]]}


def own(body: Body | None, *turns: Turn) -> Any:
    return Own(Script(body, *turns))


@cache
def openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


def openai_model(body: Body) -> Any:
    """A generator behind HTTP, whose requests are the runs of the body."""
    made: Any = import_module("haystack.components.generators.chat").OpenAIChatGenerator
    url = openai().url_for(Line(body, lambda _seen: Tokens().total))
    key = import_module("haystack.utils").Secret.from_token("test")
    once: dict[str, Any] = {"headers": {"connection": "close"}}  # nobody closes its client
    return made(api_key=key, api_base_url=url, model="gpt-4o-mini", max_retries=0, http_client_kwargs=once)


def agent(model: Any, *given: Any, **others: Any) -> Any:
    return Agent(chat_generator=model, tools=[*given], **others)


def asking(body: Body) -> Any:
    return agent(own(body), _idle())


def idle(query: str) -> str:
    """What a tool does that nobody uses; early versions of agents want one, and write its name down."""
    return query


def _idle() -> Any:
    return made_of(idle)


def openai_agent(body: Body) -> Any:
    return agent(openai_model(body), _idle())


def plain_agent(body: Body) -> Any:
    return agent(Plain(Script(body)), _idle())


def made_of(function: Callable[..., Any], name: str = "", description: str = "Look something up.") -> Any:
    """A tool that takes a query."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return tools.Tool(name=name or function.__name__, description=description, parameters=schema, function=function)


def tool(body: Body) -> Any:
    def look_up(query: str) -> str:
        body.run(query)
        return FOUND

    return made_of(look_up)


def async_tool(body: Body) -> Any:
    """A tool that is a coroutine function where the version has these."""
    made = tool(body)

    async def look_up(query: str) -> str:
        await asyncio.sleep(0)
        body.run(query)
        return FOUND

    if hasattr(made, "invoke_async"):
        made.async_function = look_up
    return made


def component_tool(body: Body) -> Any:
    """A component as a tool."""

    @component
    class LookUp:
        @component.output_types(found=str)
        def run(self, query: str) -> dict[str, Any]:
            """Look something up.

            :param query: What to look for.
            """
            body.run(query)
            return {"found": FOUND}

    told = {"source": "found"}
    return tools.ComponentTool(
        component=LookUp(), name="look_up", description="Look something up.", outputs_to_string=told
    )


def using(made: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """An agent that uses a tool once and then repeats what it was told."""

    def using_it(body: Body) -> Any:
        return agent(own(None, ("look_up", {"query": "tea"}), ""), made(body))

    return using_it


def pipeline_of(body: Body) -> Any:
    made = Pipeline()
    made.add_component("model", own(body))
    return made


# ------------------------------------------------------------------------------------------------- ways


def messages() -> list[Any]:
    return [ChatMessage.from_user(ASK)]


def _said(result: Any) -> str:
    return result["replies"][0].text


async def _said_later(made: Any) -> str:
    return _said(await made)


def _streamed(generator: Any) -> str:
    """What a callback was told; it is told all of it by the time that the call returns."""
    told = list[str]()

    def tell(chunk: Any) -> None:
        told.append(chunk.content)

    return _both(told, _said(generator.run(messages(), streaming_callback=tell)))


async def _astreamed(generator: Any) -> str:
    told = list[str]()

    async def tell(chunk: Any) -> None:
        told.append(chunk.content)

    return _both(told, _said(await generator.run_async(messages(), streaming_callback=tell)))


def _both(told: list[str], said: str) -> str:
    text = "".join(told)
    return said if text == said else json.dumps([text, said])


def _last(result: Any) -> str:
    return result["last_message"].text


async def _last_later(made: Any) -> str:
    return _last(await made)


def _outputs(result: Any) -> str:
    return _said(result["model"])


async def _outputs_later(made: Any) -> str:
    return _outputs(await made)


async def _outputs_last(made: Any) -> str:
    return _outputs([one async for one in made][-1])


def _asked() -> dict[str, Any]:
    return {"model": {"messages": messages()}}


MODEL_WAYS: dict[str, Use] = {
    "run": lambda model: _said(model.run(messages())),
    "run by name": lambda model: _said(model.run(messages=messages())),
    "run_async": lambda model: _said_later(model.run_async(messages())),
    "run with a callback": _streamed,
    "run_async with a callback": _astreamed,
}
AGENT_WAYS: dict[str, Use] = {
    "run": lambda agent: _last(agent.run(messages())),
    "run_async": lambda agent: _last_later(agent.run_async(messages())),
}
DIRECT_WAYS: dict[str, Use] = {
    "invoke": lambda made: made.invoke(query="tea"),
    **({"invoke_async": lambda made: made.invoke_async(query="tea")} if hasattr(tools.Tool, "invoke_async") else {}),
}
PIPELINE_WAYS: dict[str, Use] = {
    "run": lambda pipeline: _outputs(pipeline.run(_asked())),
    "run_async": lambda pipeline: _outputs_later(pipeline.run_async(_asked())),
    "run_async_generator": lambda pipeline: _outputs_last(pipeline.run_async_generator(_asked())),
}
