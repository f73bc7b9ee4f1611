"""Tools of fast-agent: refusals are told to the model, other agents and MCP servers are counted once."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.fast_agent_ways import AgentConfig, agent_of, agent_tool, context, own_model
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

_config: Any = import_module("fast_agent.config")
_mcp_agent: Any = import_module("fast_agent.agents.mcp_agent")
_registry: Any = import_module("fast_agent.mcp_server_registry")

pytestmark = pytest.mark.anyio

ASK = '***CALL_TOOL {name} {{"query": "tea"}}'
SERVER = """
import sys
try:
    from mcp.server.fastmcp import FastMCP
except ImportError:
    from mcp.server.mcpserver import MCPServer as FastMCP

server = FastMCP("shop")

@server.tool()
def look_up(query: str) -> str:
    with open(sys.argv[1], "a") as calls:
        calls.write(query + "\\n")
    return "found " + query

server.run("stdio")
"""


async def search(query: str) -> str:
    """Search."""
    return f"found {query}"


async def broken(query: str) -> str:
    """Search."""
    raise ValueError(f"no {query}")


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def test_a_refused_tool_is_told_to_the_model(hooks: Hooks) -> None:
    @hooks.before("tool.execute", names={"search"})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today", status_code=402)

    spanhook.instrument(hooks)
    agent = agent_of(own_model(), search)
    assert await agent.send(ASK.format(name="search")) == "Tool call rejected: Not today"
    result = await agent.call_tool("search", {"query": "tea"})
    assert text_of(result) == "Tool call rejected: Not today"
    assert result.model_dump(by_alias=True)["isError"] is True


async def test_a_refused_run_ends(hooks: Hooks) -> None:
    @hooks.before("tool.execute")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today", scope="run")

    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        await agent_of(own_model(), search).send(ASK.format(name="search"))


async def test_what_a_tool_raises_is_an_error_of_the_call(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        result = await agent_of(own_model(), broken).call_tool("broken", {"query": "tea"})
    assert text_of(result) == "Error: Error calling tool 'broken': no tea" or "no tea" in text_of(result)
    (span,) = seen.spans
    assert (span.status.status_code.name, (span.attributes or {})["error.type"]) == ("ERROR", "tool_error")


async def test_answers_and_rewrites_in_the_librarys_form(hooks: Hooks) -> None:
    @hooks.before("tool.execute", when=lambda op: op.request.arguments.get("query") == "coffee")
    def answer(op: Operation) -> None:
        op.respond({"found": 3})

    @hooks.before("tool.execute", when=lambda op: op.request.arguments.get("query") == "tea", priority=80)
    def rewrite(op: Operation) -> None:
        op.replace(arguments={"query": "milk"})

    @hooks.after("tool.execute", when=lambda op: op.request.arguments.get("query") == "milk", priority=80)
    def replace(op: Operation) -> None:
        op.respond("less " + op.result.content[0].text)

    spanhook.instrument(hooks)
    agent = agent_of(own_model(), search)
    answered = await agent.call_tool("search", {"query": "coffee"})
    assert answered.model_dump(by_alias=True)["structuredContent"] == {"found": 3}
    assert text_of(await agent.call_tool("search", {"query": "tea"})) == "less found milk"


async def test_an_agent_as_a_tool_is_a_tool_with_a_run_inside(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        await agent_tool(Body()).send('***CALL_TOOL agent__finder {"message": "tea"}')
    names = sorted(span.name for span in seen.spans if not span.name.startswith("chat"))
    assert names == [
        "create_agent finder[1]",
        "execute_tool agent__finder",
        "invoke_agent finder[1]",
        "invoke_agent helper",
        "shutdown_agent finder[1]",
    ]


async def test_a_refused_agent_does_not_start(hooks: Hooks) -> None:
    lives: list[str] = []

    @hooks.before("tool.execute", names={"agent__finder"})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    @hooks.before("agent.lifecycle")
    def note(op: Operation) -> None:
        lives.append(op.name)

    body = Body()
    spanhook.instrument(hooks)
    answer = await agent_tool(body).send('***CALL_TOOL agent__finder {"message": "tea"}')
    assert (answer, lives, body.runs) == ("Tool call rejected: Not today", [], 0)


async def test_arguments_of_an_agent_used_as_a_tool_are_rewritten(hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("tool.execute")
    def rewrite(op: Operation) -> None:
        op.replace(arguments={"message": "milk"})

    @hooks.before("agent.invoke", names={"finder[1]"})
    def note(op: Operation) -> None:
        asked.extend(part["content"] for message in op.request.messages for part in message["parts"])

    with recorder(hooks) as seen:
        await agent_tool(Body()).send('***CALL_TOOL agent__finder {"message": "tea"}')
    assert asked == ["milk"]
    assert len([span for span in seen.spans if span.name == "execute_tool agent__finder"]) == 1


# ------------------------------------------------------------------------------------------------- MCP


@pytest.fixture
def mcp_agent(hooks: Hooks, tmp_path: Path) -> Any:
    (tmp_path / "server.py").write_text(SERVER)
    command = _config.MCPServerSettings(
        command=sys.executable, args=[str(tmp_path / "server.py"), str(tmp_path / "calls")]
    )
    there = context(mcp=_config.MCPSettings(servers={"shop": command}))
    there.server_registry = _registry.ServerRegistry(there.config)
    agent: Any = _mcp_agent.McpAgent(
        AgentConfig("helper", "Be brief.", servers=["shop"], use_history=False), context=there
    )
    agent._llm = own_model()
    return agent


def called(path: Path) -> list[str]:
    return (path / "calls").read_text().splitlines() if (path / "calls").exists() else []


async def test_a_tool_of_an_mcp_server_is_one_operation(mcp_agent: Any, hooks: Hooks, tmp_path: Path) -> None:
    with recorder(hooks) as seen:
        await mcp_agent.initialize()
        try:
            (name,) = [tool.name for tool in (await mcp_agent.list_tools()).tools if "look_up" in tool.name]
            assert await mcp_agent.send(ASK.format(name=name)) in ("found tea", '{"result":"found tea"}')
        finally:
            await mcp_agent.shutdown()
    assert called(tmp_path) == ["tea"]
    (tool,) = [span for span in seen.spans if span.name.startswith("execute_tool")]
    assert (tool.name, (tool.attributes or {})["gen_ai.tool.type"]) == (f"execute_tool {name}", "extension")


async def test_a_refused_tool_of_an_mcp_server_is_not_called(mcp_agent: Any, hooks: Hooks, tmp_path: Path) -> None:
    connected: list[bool] = []

    @hooks.before("tool.execute")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    @hooks.before("agent.lifecycle")
    def note(_op: Operation) -> None:
        connected.append(bool(mcp_agent._aggregator._namespaced_tool_map))

    spanhook.instrument(hooks)
    await mcp_agent.initialize()
    try:
        (name,) = [tool.name for tool in (await mcp_agent.list_tools()).tools if "look_up" in tool.name]
        assert await mcp_agent.send(ASK.format(name=name)) == "Tool call rejected: Not today"
    finally:
        await mcp_agent.shutdown()
    assert called(tmp_path) == []
    assert connected == [True, True]  # after the start of the servers, before their end
