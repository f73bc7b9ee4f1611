"""Tools: every sort of them, what hooks see and answer, failures, interrupts, tools of MCP servers."""

import sys
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.strands_ways import ASK, FOUND, Own, agent, own_tool, strands, tool, using
from spanhook.cli.conformance.subject import RAISED, Body
from spanhook.testing import recorder

AgentTool: Any = import_module("strands.types.tools").AgentTool
ASKED = ("look_up", {"query": "tea"})


def told(made: Any) -> list[Any]:
    """The results that the model was told."""
    return [block["toolResult"] for one in made.messages for block in one["content"] if "toolResult" in block]


def test_what_a_hook_sees_of_a_call() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.arguments))

    with recorder(hooks) as recorded:
        using(tool)(Body())(ASK)
    assert seen == [ASKED]
    attributes = recorded.spans[1].attributes or {}
    assert attributes["gen_ai.tool.call.id"] == "call_look_up"
    assert attributes["gen_ai.tool.description"] == "Look something up."


@pytest.mark.parametrize(("answer", "block"), [("tea", {"text": "tea"}), ({"a": 1}, {"json": {"a": 1}})])
def test_an_answer_takes_the_form_of_a_result(answer: Any, block: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.around("tool.execute")
    def reply(op: Operation) -> Any:
        return answer
        yield

    with recorder(hooks):
        made = using(tool)(body)
        made(ASK)
    assert told(made) == [{"toolUseId": "call_look_up", "status": "success", "content": [block]}]
    assert body.runs == 0


@pytest.mark.parametrize("make", [tool, own_tool])
def test_a_tool_that_fails_is_an_error_although_nothing_is_raised(make: Any) -> None:
    failed, hooks = list[Any](), Hooks()

    @hooks.on_error("tool.execute")
    def note(op: Operation) -> None:
        failed.append(op.name)

    with recorder(hooks) as seen:
        made = using(make)(Body(fault=RAISED))
        made(ASK)
    assert [one["status"] for one in told(made)] == ["error"]
    assert failed == ["look_up"]
    assert (seen.spans[1].attributes or {})["spanhook.status"] == "error"


@pytest.mark.parametrize("make", [tool, own_tool])
def test_a_result_that_is_refused_is_not_told(make: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.after("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not for you")

    with recorder(hooks):
        made = using(make)(body)
        made(ASK)
    assert body.runs == 1
    assert [(one["status"], one["content"]) for one in told(made)] == [("error", [{"text": "Error: not for you"}])]


@pytest.mark.parametrize("make", [tool, own_tool])
def test_a_result_that_is_replaced_is_not_told(make: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.around("tool.execute")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        made = using(make)(body)
        made(ASK)
    assert body.runs == 1
    assert [(one["status"], one["content"]) for one in told(made)] == [("success", [{"text": "something else"}])]


def test_a_tool_called_through_its_agent_is_gated() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = using(tool)(body)
    with recorder(hooks):
        result = made.tool.look_up(query="tea")
    assert (result["status"], body.runs) == ("error", 0)


def test_a_tool_that_waits_for_somebody_is_interrupted() -> None:
    def ask_somebody(tool_context: Any) -> str:
        """Ask somebody."""
        return str(tool_context.interrupt("approval", reason="may I?"))

    ask_somebody.__annotations__["tool_context"] = strands.ToolContext
    made = agent(Own(None, ("ask_somebody", {}), "done"), strands.tool(context=True)(ask_somebody))
    with recorder(Hooks()) as seen:
        result = made(ASK)
        (asked,) = result.interrupts
        statuses = [(one.name, (one.attributes or {})["spanhook.status"]) for one in seen.spans]
        made([{"interruptResponse": {"interruptId": asked.id, "response": "yes"}}])
    assert statuses == [
        ("chat own", "success"),
        ("execute_tool ask_somebody", "interrupted"),
        ("invoke_agent helper", "interrupted"),
    ]
    assert [one["content"] for one in told(made)] == [[{"text": "yes"}]]


class Town(BaseModel):
    """A town."""

    name: str


def test_structured_output_is_no_tool() -> None:
    with recorder(Hooks()) as seen:
        result = agent(Own(None, ("Town", {"name": "Bath"}), "done"))(ASK, structured_output_model=Town)
    assert result.structured_output == Town(name="Bath")
    assert "execute_tool Town" not in [one.name for one in seen.spans]


def test_an_agent_as_a_tool_is_a_run_inside_of_it() -> None:
    expert = agent(Own(Body(), "it is tea"), name="expert")
    if not hasattr(expert, "as_tool"):
        pytest.skip("this version has no agents as tools")
    made = agent(Own(None, ("expert", {"input": ASK}), "done"), expert)
    hooks = Hooks()
    with recorder(hooks) as seen:
        made(ASK)
    assert [one.name for one in seen.spans] == [
        *("chat own", "chat own", "invoke_agent expert", "execute_tool expert", "chat own", "invoke_agent helper")
    ]

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = agent(Own(None, ("expert", {"input": ASK}), "done"), expert)
    with recorder(hooks):
        made(ASK)
    assert [one["content"] for one in told(made)] == [[{"text": "Agent error: not today"}]]


class Passing(AgentTool):
    """A tool that passes what it is asked on to another one.

    Args:
        inner: The other tool.
        name: Its own name.
    """

    tool_name, tool_type = "", "own"

    def __init__(self, inner: Any, name: str) -> None:
        super().__init__()
        self.inner, self.tool_name = inner, name

    @property
    def tool_spec(self) -> Any:
        return {**self.inner.tool_spec, "name": self.tool_name}

    async def stream(self, tool_use: Any, invocation_state: Any, **given: Any) -> AsyncIterator[Any]:
        async for event in self.inner.stream(tool_use, invocation_state, **given):
            yield event


@pytest.mark.parametrize("make", [tool, own_tool])
def test_another_tool_that_is_asked_the_same_is_gated(make: Any) -> None:
    body, called, hooks = Body(), list[str | None](), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        called.append(op.name)
        if op.name == "look_up":
            raise Reject("not today")

    made = agent(Own(None, ("dispatch", {"query": "tea"}), "done"), Passing(make(body), "dispatch"))
    with recorder(hooks):
        made(ASK)
    assert (called, body.runs) == (["dispatch", "look_up"], 0)
    assert [one["status"] for one in told(made)] == ["error"]


@pytest.mark.parametrize("make", [tool, own_tool])
def test_a_tool_around_another_of_its_name_is_one_call(make: Any) -> None:
    body, called, hooks = Body(), list[str | None](), Hooks()
    hooks.before("tool.execute")(lambda op: called.append(op.name))
    made = agent(Own(None, ASKED, "done"), Passing(make(body), "look_up"))
    with recorder(hooks):
        made(ASK)
    assert (called, body.runs) == (["look_up"], 1)


class Editing(Passing):
    """A tool that passes on what it has edited in place."""

    async def stream(self, tool_use: Any, invocation_state: Any, **given: Any) -> AsyncIterator[Any]:
        tool_use["input"]["query"] = "milk"
        async for event in super().stream(tool_use, invocation_state, **given):
            yield event


@pytest.mark.parametrize("make", [tool, own_tool])
def test_a_tool_that_passes_on_what_it_has_edited_in_place_is_asked_about_again(make: Any) -> None:
    body, seen, hooks = Body(), list[Any](), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        seen.append(op.request.arguments["query"])
        if seen[-1] == "milk":
            raise Reject("not today")

    made = agent(Own(None, ASKED, "done"), Editing(make(body), "look_up"))
    with recorder(hooks):
        made(ASK)
    assert (seen, body.runs) == (["tea", "milk"], 0)


def test_an_applications_tool_with_the_name_of_the_librarys_own_class_is_gated() -> None:
    body, hooks = Body(), Hooks()
    made = using(own_tool)(body)
    type(made.tool_registry.registry["look_up"]).__name__ = "StructuredOutputTool"

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        made(ASK)
    assert body.runs == 0


SERVER = '''
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # version 1 of the SDK
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("leaves")


@server.tool()
def look_up(query: str) -> str:
    """Look something up."""
    return "found leaves everywhere"


server.run()
'''


def test_a_tool_of_an_mcp_server_is_one_call(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    stdio: Any = import_module("mcp.client.stdio")
    command = stdio.StdioServerParameters(command=sys.executable, args=[str(tmp_path / "server.py")])
    client: Any = import_module("strands.tools.mcp").MCPClient
    hooks, counted = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: counted.append(op.name))
    with recorder(hooks), client(lambda: stdio.stdio_client(command)) as connected:
        made = agent(Own(None, ASKED, "done"), *connected.list_tools_sync())
        made(ASK)
    assert [one["content"] for one in told(made)] == [[{"text": FOUND}]]
    assert counted == ["look_up"]
