"""What is gated in OpenAI's Agents SDK, and every way of running it, against a server on loopback."""

from collections.abc import Callable
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    function_tool,
    handoff,
    set_trace_processors,
)
from agents.tool_context import ToolContext

from spanhook.cli.conformance.libraries.openai_agents_tools import NATIVE, OwnModel
from spanhook.cli.conformance.libraries.openai_agents_ways import (
    ASK,
    BOTH_WAYS,
    CALLED,
    MODEL_OPENED,
    MODEL_WAYS,
    RUN_BIND,
    RUN_WAYS,
    Run,
    listeners,
    model_of,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Query, Subject, Ungated

set_trace_processors([])  # without the SDK's own, which sends traces to OpenAI

FOUND = "found leaves everywhere"
"""What the tool of these agents returns."""


def _responses(body: Body) -> Any:
    return model_of(OpenAIResponsesModel, body)


def _chat(body: Body) -> Any:
    return model_of(OpenAIChatCompletionsModel, body)


def _asking(kind: Callable[..., Any]) -> Callable[[Body], Run]:
    return lambda body: Run(Agent(name="helper", instructions="Be brief.", model=model_of(kind, body)))


# ------------------------------------------------------------------------------------------------- tools


def async_tool(body: Body) -> FunctionTool:
    async def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return function_tool(look_up)


def sync_tool(body: Body) -> FunctionTool:
    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return function_tool(look_up)


def own_tool(body: Body) -> FunctionTool:
    async def look_up(_context: Any, arguments: str) -> str:
        body.run(arguments)
        return FOUND

    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    return FunctionTool("look_up", "Look something up.", schema, look_up, strict_json_schema=False)


def agent_tool(body: Body) -> FunctionTool:
    """Another agent, whose model's requests are the runs of the body."""
    inner = Agent(name="finder", model=model_of(OpenAIResponsesModel, body, (FOUND,)))
    return inner.as_tool("look_up", "Look something up.")


def _using(make: Callable[[Body], FunctionTool], arguments: str = '{"query": "tea"}') -> Callable[[Body], Run]:
    turns = ([("look_up", arguments)], "All done.")

    def using(body: Body) -> Run:
        model = model_of(OpenAIResponsesModel, Body(), turns, Tokens(0, 0))  # what is used is used inside the tool
        return Run(Agent(name="helper", model=model, tools=[make(body)]))

    return using


def _context() -> Any:
    return ToolContext(context=None, tool_name="look_up", tool_call_id="call_1", tool_arguments='{"query": "tea"}')


# ------------------------------------------------------------------------------------------------- hand-offs


def _handing_off(body: Body) -> Run:
    other = Agent(name="other", model=model_of(OpenAIResponsesModel, Body()))

    def on_handoff(_context: Any) -> None:
        body.run("handed over")

    model = model_of(OpenAIResponsesModel, Body(), ([("transfer_to_other", "{}")], "All done."))
    return Run(Agent(name="helper", model=model, handoffs=[handoff(other, on_handoff=on_handoff)]))


_HTTP: dict[str, Any] = {"asked": ASK, "faults": OVER_HTTP, "slow": True, "said": Reply.text}
_TOLD: dict[str, Any] = {"raises": False, "said": FOUND, "listeners": listeners}

SUBJECTS: tuple[Subject, ...] = (
    Subject("responses model", "llm.call", _responses, MODEL_WAYS, {}, opened=MODEL_OPENED, **_HTTP),
    Subject("chat completions model", "llm.call", _chat, MODEL_WAYS, {}, opened=MODEL_OPENED, **_HTTP),
    Subject("model without a client", "llm.call", OwnModel, MODEL_WAYS, {}, said=Reply.text, opened=MODEL_OPENED),
    Subject(
        "an agent's model", "llm.call", _asking(OpenAIResponsesModel), RUN_WAYS, RUN_BIND, listeners=listeners, **_HTTP
    ),
    Subject(
        "an agent's chat model",
        "llm.call",
        _asking(OpenAIChatCompletionsModel),
        BOTH_WAYS,
        {},
        listeners=listeners,
        **_HTTP,
    ),
    Subject(
        "agent",
        "agent.invoke",
        _asking(OpenAIResponsesModel),
        RUN_WAYS,
        RUN_BIND,
        asked=ASK,
        faults=OVER_HTTP,
        slow=True,
    ),
    Subject("async function tool", "tool.execute", _using(async_tool), RUN_WAYS, {}, **_TOLD),
    Subject("function tool", "tool.execute", _using(sync_tool), RUN_WAYS, {}, **_TOLD),
    Subject("tool with a function of its own", "tool.execute", _using(own_tool), BOTH_WAYS, {}, **_TOLD),
    Subject(
        "agent as a tool",
        "tool.execute",
        _using(agent_tool, '{"input": "tea"}'),
        BOTH_WAYS,
        {},
        raises=False,
        said=FOUND,
        faults=OVER_HTTP,
    ),
    Subject(
        "tool, called directly",
        "tool.execute",
        async_tool,
        {"on_invoke_tool": lambda tool: tool.on_invoke_tool(_context(), '{"query": "tea"}')},
        {},
        raises=False,
        said=FOUND,
    ),
    *NATIVE,
    Subject("hand-off", "agent.delegate", _handing_off, RUN_WAYS, {}, raises=False),
)

UNGATED = (
    Ungated("tools that OpenAI runs: web search, file search, code interpreter, hosted MCP"),
    Ungated("models and hand-offs of realtime sessions, models of voice pipelines"),
    Ungated("a tool's function, called as a function", lambda body: body, lambda body: body.run(CALLED)),
)
