"""Tools: every sort of them, what hooks see and answer, failures, approval, threads, live runs, MCP servers."""

import asyncio
import sys
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    FOUND,
    RUN_WAYS,
    LlmResponse,
    Own,
    agent,
    content,
    context_of,
    function_tool,
    last,
    own,
    own_tool,
    runner,
    tool,
    tools,
    types,
)
from spanhook.cli.conformance.subject import RAISED, Body, Broken
from spanhook.testing import recorder
from tests.instrument.google_adk.made import TOOLS, events_of, refusing, told

ASKED = ("look_up", {"query": "tea"})


def run(*given: Any, turns: Any = (ASKED, "done")) -> list[Any]:
    return asyncio.run(events_of(runner(agent(own(None, *turns), *given))))


def test_what_a_hook_sees_of_a_call() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.arguments, op.agent))

    with recorder(hooks) as recorded:
        run(tool(Body()))
    assert seen == [(*ASKED, "helper")]
    attributes = recorded.spans[1].attributes or {}
    assert attributes["gen_ai.tool.call.id"] == "call_look_up"
    assert attributes["gen_ai.tool.description"] == "Look something up."


@pytest.mark.parametrize("make", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize(("answer", "result"), [("tea", {"result": "tea"}), ({"a": 1}, {"a": 1})])
def test_an_answer_is_a_result(make: Any, answer: Any, result: Any) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("tool.execute")(lambda op: op.respond(answer))
    with recorder(hooks):
        assert told(run(make(body))) == [result]
    assert body.runs == 0


@pytest.mark.parametrize("make", TOOLS.values(), ids=TOOLS)
def test_a_tool_that_fails_raises_as_without(make: Any) -> None:
    failed, hooks = list[Any](), Hooks()
    hooks.on_error("tool.execute")(lambda op: failed.append(op.name))
    with recorder(hooks) as seen, pytest.raises(Broken):
        run(make(Body(fault=RAISED)))
    assert failed == ["look_up"]
    assert (seen.spans[1].attributes or {})["spanhook.status"] == "error"


def test_a_tool_that_says_that_it_has_failed_is_an_error() -> None:
    def look_up(query: str) -> dict[str, str]:
        """Look something up."""
        return {"error": f"no {query}"}

    with recorder(Hooks()) as seen:
        assert told(run(look_up)) == [{"error": "no tea"}]
    assert (seen.spans[1].attributes or {})["spanhook.status"] == "error"


@pytest.mark.parametrize("make", TOOLS.values(), ids=TOOLS)
def test_a_result_that_is_refused_is_not_told(make: Any) -> None:
    body = Body()
    with recorder(refusing(phase="after")):
        assert told(run(make(body))) == [{"error": "not today"}]
    assert body.runs == 1


def test_without_a_model_that_asks_a_refusal_is_raised() -> None:
    body = Body()
    with recorder(refusing()), pytest.raises(Reject, match="not today"):
        asyncio.run(function_tool(body).run_async(args={"query": "tea"}, tool_context=context_of()))
    assert body.runs == 0


def test_tools_at_the_same_time_are_gated_each() -> None:
    bodies, hooks, called = {"a": Body(), "b": Body()}, Hooks(), list[Any]()

    @hooks.before("tool.execute")
    async def refuse(op: Operation) -> None:
        await asyncio.sleep(0)
        called.append(op.request.arguments["query"])
        if op.request.arguments["query"] == "b":
            raise Reject("not today")

    async def look_up(query: str) -> str:
        """Look something up."""
        await asyncio.sleep(0.01)
        bodies[query].run(query)
        return query

    class Both(Own):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
            if any(one.function_response for one in llm_request.contents[-1].parts):
                yield LlmResponse(content=content("done", "model"))
                return
            calls = [types.FunctionCall(id=f"id_{one}", name="look_up", args={"query": one}) for one in bodies]
            parts = [types.Part(function_call=one) for one in calls]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

    with recorder(hooks):
        events = asyncio.run(events_of(runner(agent(Both(), look_up))))
    assert told(events) == [{"result": "a"}, {"error": "not today"}]
    assert (sorted(called), bodies["a"].runs, bodies["b"].runs) == (["a", "b"], 1, 0)


class Passing(tools.BaseTool):
    """A tool that passes what it is asked on to another one."""

    def __init__(self, inner: Any, name: str) -> None:
        super().__init__(name=name, description="Pass it on.")
        self.inner = inner

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(name=self.name)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return await self.inner.run_async(args=args, tool_context=tool_context)


@pytest.mark.parametrize("make", [function_tool, own_tool])
def test_another_tool_that_is_asked_the_same_is_gated(make: Any) -> None:
    body, called, hooks = Body(), list[str | None](), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        called.append(op.name)
        if op.name == "look_up":
            raise Reject("not today")

    with recorder(hooks):
        events = run(Passing(make(body), "dispatch"), turns=(("dispatch", {"query": "tea"}), "done"))
    assert (called, body.runs) == (["dispatch", "look_up"], 0)
    assert told(events) == [{"error": "not today"}]


def test_a_tool_that_overrides_another_is_one_operation_and_asked_anew_if_it_asks_for_something_else() -> None:
    body, called, hooks = Body(), list[Any](), Hooks()
    hooks.before("tool.execute")(lambda op: called.append(op.request.arguments))

    class Logging(tools.FunctionTool):
        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            await super().run_async(args=args, tool_context=tool_context)
            return await super().run_async(args={"query": "milk"}, tool_context=tool_context)

    with recorder(hooks):
        run(Logging(tool(body)))
    assert called == [{"query": "tea"}, {"query": "milk"}]
    assert body.seen == ["tea", "milk"]


def test_a_tool_that_changes_its_arguments_in_place_for_the_one_that_it_overrides_is_asked_anew() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        if op.request.arguments["query"] == "milk":
            raise Reject("no milk")

    class Other(tools.FunctionTool):
        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            args["query"] = "milk"
            return await super().run_async(args=args, tool_context=tool_context)

    with recorder(hooks):
        assert told(run(Other(tool(body)))) == [{"error": "no milk"}]
    assert body.runs == 0


class Town(BaseModel):
    """A town."""

    name: str


def test_structured_output_is_no_tool() -> None:
    module: Any = import_module("google.adk.tools.set_model_response_tool")
    given = module.SetModelResponseTool(Town)
    with recorder(refusing()) as seen:
        found = asyncio.run(given.run_async(args={"name": "Bath"}, tool_context=context_of("call_1")))
    assert (found, seen.spans) == ({"name": "Bath"}, [])


def test_an_applications_tool_with_the_name_of_the_librarys_own_class_is_gated() -> None:
    body = Body()
    made = own_tool(body)
    type(made).__name__ = "SetModelResponseTool"
    with recorder(refusing()):
        assert told(run(made)) == [{"error": "not today"}]
    assert body.runs == 0


def test_a_tool_that_waits_for_approval_is_not_executed() -> None:
    body, executed, hooks = Body(), list[Any](), Hooks()
    hooks.after("tool.execute")(lambda op: executed.append(op.status))
    careful = tools.FunctionTool(tool(body), require_confirmation=True)
    with recorder(hooks) as seen:
        run(careful)
    statuses = {one.name: (one.attributes or {})["spanhook.status"] for one in seen.spans}
    assert statuses["invoke_agent helper"] == "interrupted"
    assert statuses.get("execute_tool look_up", "interrupted") == "interrupted"  # newer versions ask before
    assert body.runs == 0


def test_a_hand_off_that_an_applications_tool_asks_for_is_gated() -> None:
    def escalate(tool_context: Any) -> str:
        """Ask somebody else."""
        tool_context.actions.transfer_to_agent = "second"
        return "done"

    escalate.__annotations__["tool_context"] = tools.ToolContext
    for hooks in (refusing("agent.delegate"), refusing(phase="after")):
        body = Body()
        first = agent(own(None, ("escalate", {}), "by myself"), escalate, sub_agents=[agent(own(body), name="second")])
        with recorder(hooks):
            assert last(asyncio.run(events_of(runner(first)))) == "by myself"
        assert body.runs == 0


# ------------------------------------------------------------------------------------------------- MCP

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


@pytest.mark.parametrize("prefix", [None, "own"])
def test_a_tool_of_an_mcp_server_is_one_call(tmp_path: Path, prefix: str | None) -> None:
    pytest.importorskip("mcp", reason="a client that the library works with")
    (tmp_path / "server.py").write_text(SERVER)
    stdio: Any = import_module("mcp.client.stdio")
    toolset: Any = import_module("google.adk.tools.mcp_tool")
    command = stdio.StdioServerParameters(command=sys.executable, args=[str(tmp_path / "server.py")])
    where = toolset.StdioConnectionParams(server_params=command, timeout=60)
    name = "look_up" if prefix is None else "own_look_up"
    hooks, counted = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: counted.append(op.name))

    async def ask() -> Any:
        given = toolset.McpToolset(connection_params=where, tool_name_prefix=prefix)
        try:
            return told(await events_of(runner(agent(own(None, (name, {"query": "tea"}), "done"), given))))
        finally:
            await given.close()

    with recorder(hooks):
        (result,) = asyncio.run(ask())
    assert FOUND in str(result)
    assert counted == [name]
    hooks = Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        assert asyncio.run(ask()) == [{"error": "not today"}]


@pytest.mark.parametrize("way", RUN_WAYS)
def test_no_tool_is_executed_where_a_callback_of_the_library_answers(way: str) -> None:
    body, counted, hooks = Body(), list[str](), Hooks()
    hooks.before("*")(lambda op: counted.append(op.kind))

    def answer(tool: Any, args: Any, tool_context: Any) -> Any:
        return {"result": "from a callback"}

    made = runner(agent(own(None, ASKED, ""), tool(body), before_tool_callback=answer))
    with recorder(hooks):
        assert asyncio.run(RUN_WAYS[way](made)) == "from a callback"
    assert (counted, body.runs) == (["agent.invoke", "llm.call", "llm.call"], 0)
