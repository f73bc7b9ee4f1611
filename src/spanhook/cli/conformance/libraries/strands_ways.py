"""Agents, graphs, swarms, models and tools of Strands, made so that they count, and every way of calling them."""

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Use

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    strands: Any = import_module("strands")  # it is not in the environment that types are checked in
    events_of_hooks: Any = import_module("strands.hooks")
    _models: Any = import_module("strands.models.model")
    _multiagent: Any = import_module("strands.multiagent")
    _tools: Any = import_module("strands.types.tools")
Agent, GraphBuilder, Swarm = strands.Agent, _multiagent.GraphBuilder, _multiagent.Swarm

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tools of these agents return."""
Turn = str | tuple[str, dict[str, Any]]
"""What a scripted model says: text, or a tool and its arguments."""


class City(BaseModel):
    city: str


class Own(_models.Model):
    """A model of the application's own, in turns; without any, it repeats what a tool told it.

    Args:
        body: What its calls are runs of.
        turns: What it says, one after the other; the last one from then on.
    """

    def __init__(self, body: Body | None = None, *turns: Turn) -> None:
        self.body, self.turns, self.calls = body, turns or (Reply.text,), 0

    def update_config(self, **model_config: Any) -> None:
        del model_config

    def get_config(self) -> Any:
        return {"model_id": "own"}

    async def structured_output(self, output_model: Any, prompt: Any, *_args: Any, **_given: Any) -> AsyncIterator[Any]:
        if self.body is not None:
            self.body.run(prompt)
        yield {"output": output_model(city=Reply.text)}

    async def stream(self, messages: Any, *_args: Any, **_given: Any) -> AsyncIterator[Any]:
        if self.body is not None:
            self.body.run(messages, Tokens().total)
        said = self.turns[min(self.calls, len(self.turns) - 1)]
        self.calls += 1
        await asyncio.sleep(0)
        tokens = Tokens() if self.body is not None else Tokens(0, 0)  # without a body, nobody counts them
        for event in events(_told(messages) if said == "" else said, tokens):
            yield event


def _told(messages: Any) -> str:
    """What the model was last told by a tool."""
    (result,) = (block["toolResult"] for block in messages[-1]["content"] if "toolResult" in block)
    return "".join(one.get("text") or json.dumps(one.get("json")) for one in result["content"])


def events(said: Turn, tokens: Tokens) -> list[dict[str, Any]]:
    """The events of a model's stream that says this."""
    start: dict[str, Any] = {}
    delta: dict[str, Any] = {"text": said}
    if not isinstance(said, str):
        start = {"toolUse": {"toolUseId": f"call_{said[0]}", "name": said[0]}}
        delta = {"toolUse": {"input": json.dumps(said[1])}}
    usage = {"inputTokens": tokens.input, "outputTokens": tokens.output, "totalTokens": tokens.total}
    return [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"start": start}},
        {"contentBlockDelta": {"delta": delta}},
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": "tool_use" if start else "end_turn"}},
        {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}},
    ]


@cache
def openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


def openai_model(body: Body) -> Any:
    """A model behind HTTP, whose requests are the runs of the body."""
    made: Any = import_module("strands.models.openai").OpenAIModel
    url = openai().url_for(Line(body, lambda _seen: Tokens().total))
    return made(client_args={"base_url": url, "api_key": "test", "max_retries": 0}, model_id="gpt-4o-mini")


def agent(model: Any, *tools: Any, name: str = "helper", **given: Any) -> Any:
    return Agent(model=model, tools=[*tools], name=name, callback_handler=None, **given)


def asking(body: Body) -> Any:
    return agent(Own(body))


def openai_agent(body: Body) -> Any:
    return agent(openai_model(body))


def tool(body: Body) -> Any:
    @strands.tool
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return look_up


def async_tool(body: Body) -> Any:
    @strands.tool
    async def look_up(query: str) -> str:
        """Look something up."""
        await asyncio.sleep(0)
        body.run(query)
        return FOUND

    return look_up


def own_tool(body: Body) -> Any:
    """A tool of a class of the application's own, which raises what goes wrong."""

    class LookUp(_tools.AgentTool):
        tool_name = "look_up"
        tool_type = "own"
        tool_spec: Any = {
            "name": "look_up",
            "description": "Look something up.",
            "inputSchema": {"json": {"type": "object", "properties": {"query": {"type": "string"}}}},
        }

        async def stream(self, tool_use: Any, _invocation_state: Any, **_given: Any) -> AsyncIterator[Any]:
            await asyncio.sleep(0)
            body.run(tool_use["input"].get("query"))
            yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": FOUND}]}

    return LookUp()


def using(made: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """An agent that uses a tool once and then repeats what it was told."""

    def using_it(body: Body) -> Any:
        return agent(Own(None, ("look_up", {"query": "tea"}), ""), made(body))

    return using_it


def graph_of(body: Body) -> Any:
    builder = GraphBuilder()
    builder.add_node(asking(body), "asking")
    builder.set_entry_point("asking")
    return builder.build()


def swarm_of(body: Body) -> Any:
    return Swarm([asking(body)])


def swarm_handing_off(body: Body) -> Any:
    """Two agents, of which the first hands off to the second, whose model counts."""
    asked = ("handoff_to_agent", {"agent_name": "second", "message": ASK})
    return Swarm([agent(Own(None, asked, "done"), name="first"), agent(Own(body), name="second")])


# ------------------------------------------------------------------------------------------------- ways

MESSAGES: Any = [{"role": "user", "content": [{"text": ASK}]}]


async def _streamed(made: Any) -> Any:
    """All that a model's stream says."""
    return "".join([one.get("contentBlockDelta", {}).get("delta", {}).get("text", "") async for one in made])


async def _structured(made: Any) -> Any:
    return [one["output"].city async for one in made if "output" in one][-1]


async def _result(made: Any) -> Any:
    """What the result of a stream of an agent says."""
    found = [one["result"] async for one in made if "result" in one]
    return str(found[-1]).strip()


async def _said(made: Any) -> str:
    return str(await made).strip()


def _direct(agent: Any) -> str:
    return "".join(one["text"] for one in agent.tool.look_up(query="tea")["content"])


def _results(made: Any) -> list[str]:
    return [str(one.result).strip() for one in made.results.values()]


async def _team(made: Any) -> list[str]:
    return _results(await made)


async def _team_streamed(made: Any) -> list[str]:
    return _results([one["result"] async for one in made if "result" in one][-1])


MODEL_WAYS: dict[str, Use] = {"stream": lambda model: _streamed(model.stream(MESSAGES))}
STRUCTURED_WAYS: dict[str, Use] = {
    "structured output": lambda model: _structured(model.structured_output(City, MESSAGES))
}
AGENT_WAYS: dict[str, Use] = {
    "call": lambda agent: str(agent(ASK)).strip(),
    "invoke_async": lambda agent: _said(agent.invoke_async(ASK)),
    "stream_async": lambda agent: _result(agent.stream_async(ASK)),
}
TOOL_WAYS: dict[str, Use] = {**AGENT_WAYS, "direct": _direct}
TEAM_WAYS: dict[str, Use] = {
    "call": lambda team: _results(team(ASK)),
    "invoke_async": lambda team: _team(team.invoke_async(ASK)),
    "stream_async": lambda team: _team_streamed(team.stream_async(ASK)),
}
