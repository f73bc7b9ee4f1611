"""Tools: every way of calling them, what hooks see and make of them, what the model is told, approvals, MCP."""

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    ASK,
    FOUND,
    Content,
    Message,
    Own,
    agent,
    async_tool,
    framework,
    own_tool,
    tool,
)
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio
ASKED: Any = (("look_up", {"query": "tea"}),)


def refusing(*queries: str, scope: Any = "operation") -> Hooks:
    """Hooks that refuse these, or all."""
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        if not queries or op.request.arguments["query"] in queries:
            raise Reject("not today", scope=scope)

    return hooks


def told(result: Any) -> list[Any]:
    """What the model was told of its tools."""
    contents = [one for message in result.messages for one in message.contents]
    return [(one.result, one.exception) for one in contents if one.type == "function_result"]


async def test_what_a_hook_sees_of_a_tool() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.after("tool.execute")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.arguments, [one.text for one in op.result]))

    with recorder(hooks) as recorded:
        await agent(Own(None, ASKED, "done"), tool(Body())).run(ASK)
    assert seen == [("look_up", {"query": "tea"}, [FOUND])]
    (call,) = [one for one in recorded.spans if (one.attributes or {}).get("spanhook.kind") == "tool.execute"]
    attributes = call.attributes or {}
    assert (attributes["gen_ai.tool.call.id"], attributes["gen_ai.tool.description"]) == (
        "call_1_0",
        "Look something up.",
    )


async def test_several_calls_at_once_are_each_gated() -> None:
    body = Body()
    asked = tuple(("look_up", {"query": query}) for query in ("tea", "milk", "sugar"))
    with recorder(refusing("milk")):
        result = await agent(Own(None, asked, "done"), async_tool(body)).run(ASK)
    assert sorted(body.seen) == ["sugar", "tea"]
    assert told(result) == [(FOUND, None), ("Error: not today", None), (FOUND, None)]


async def test_a_rejection_of_the_run_ends_it_from_one_of_several_calls() -> None:
    body, model = Body(), Body()
    asked = tuple(("look_up", {"query": query}) for query in ("tea", "milk"))
    with recorder(refusing("milk", scope="run")), pytest.raises(Reject, match="not today"):
        await agent(Own(model, asked, "done"), async_tool(body)).run(ASK)
    assert model.runs == 1


@pytest.mark.parametrize("made", [tool, async_tool, own_tool])
async def test_rewritten_arguments_and_results_arrive(made: Callable[[Body], Any]) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"query": "milk"}))

    @hooks.around("tool.execute")
    def replace(op: Operation) -> Any:
        yield
        return {"found": "nothing"}

    with recorder(hooks):
        result = await agent(Own(None, ASKED, "done"), made(body)).run(ASK)
    assert body.seen == ["milk"]
    assert told(result) == [('{"found": "nothing"}', None)]


async def test_an_answer_goes_through_the_tools_own_parser() -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond("tea"))

    @framework.tool(approval_mode="never_require", result_parser=lambda found: f"<{found}>")
    def look_up(query: str) -> str:
        """Look something up."""
        raise AssertionError(query)

    with recorder(hooks):
        result = await agent(Own(None, ASKED, "done"), look_up).run(ASK)
    assert told(result) == [("<tea>", None)]


async def test_a_tool_that_fails_is_an_error_and_the_model_is_told() -> None:
    hooks, seen = Hooks(), list[Any]()
    hooks.on_error("tool.execute")(lambda op: seen.append(op.error))

    @framework.tool(approval_mode="never_require")
    def look_up(query: str) -> str:
        """Look something up."""
        raise ValueError(query)

    with recorder(hooks) as recorded:
        result = await agent(Own(None, ASKED, "done"), look_up).run(ASK)
    assert told(result) == [("Error: Function failed.", "tea")]
    assert [str(one) for one in seen] == ["tea"]
    statuses = [(one.attributes or {}).get("spanhook.status") for one in recorded.spans if "tool" in one.name]
    assert "error" in statuses


async def test_a_refused_tool_does_not_count_as_one_that_fails() -> None:
    turns = *[ASKED] * 5, "done"
    with recorder(refusing()):
        result = await agent(Own(None, *turns), tool(Body())).run(ASK)
    assert told(result) == [("Error: not today", None)] * 5
    assert result.text.endswith("done")


# ------------------------------------------------------------------------------------------------- direct calls


@pytest.mark.parametrize(
    "call",
    [
        lambda made: made.invoke(arguments={"query": "tea"}),
        lambda made: made.invoke(arguments=made.input_model(query="tea")),
        lambda made: made.invoke(query="tea"),
        lambda made: made(query="tea"),
        lambda made: made("tea"),
    ],
)
@pytest.mark.parametrize("made", [tool, async_tool])
async def test_direct_calls_are_each_one_operation(made: Any, call: Any) -> None:
    body, hooks, seen = Body(), Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: seen.append(op.request.arguments))
    with recorder(hooks):
        found = call(made(body))
        assert (await found if hasattr(found, "__await__") else found) is not None
    assert (seen, body.runs) == ([{"query": "tea"}], 1)
    with recorder(refusing()), pytest.raises(Reject, match="not today"):
        found = call(made(body))
        if hasattr(found, "__await__"):
            await found
    assert body.runs == 1


async def test_references_taken_before_are_gated() -> None:
    body = Body()
    made = tool(body)
    invoke = made.invoke
    client, helper = Own(body), agent(Own(body))
    ask, run = client._inner_get_response, helper.run
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        for call in (
            lambda: invoke(arguments={"query": "tea"}),
            lambda: ask(messages=[Message("user", [ASK])], stream=False, options={}),
            lambda: run(ASK),
            lambda: run(ASK, stream=True).get_final_response(),
        ):
            with pytest.raises(Reject, match="not today"):
                await call()
    assert body.runs == 0


@pytest.mark.parametrize("way", ["invoke", "call"])
def test_a_function_that_calls_its_own_tool_calls_it_again(way: str) -> None:
    seen, hooks = list[Any](), Hooks()

    @framework.tool(approval_mode="never_require")
    def count(down: int) -> int:
        """Count down."""
        return count(down - 1) if down else 0

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        seen.append(op.request.arguments["down"])
        if seen[-1] == 1:
            raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        count(3) if way == "call" else asyncio.run(count.invoke(arguments={"down": 3}))
    assert seen == [3, 2, 1]


async def test_a_tool_of_a_tool_is_one_call_and_another_tool_another() -> None:
    inner, hooks, seen = tool(Body()), Hooks(), list[str | None]()
    hooks.before("tool.execute")(lambda op: seen.append(op.name))
    with recorder(hooks):
        await framework.FunctionTool(name="look_up", func=inner).invoke(arguments={"query": "tea"})
        assert seen == ["look_up"]

        @framework.tool(approval_mode="never_require")
        def ask(query: str) -> str:
            """Ask."""
            return str(inner(query))

        await ask.invoke(arguments={"query": "tea"})
    assert seen == ["look_up", "ask", "look_up"]


async def test_a_tool_in_a_thread_is_inside_of_its_run() -> None:
    threads, hooks, seen = list[int](), Hooks(), list[Any]()
    other = tool(Body())

    @framework.tool(approval_mode="never_require")
    def ask(query: str) -> str:
        """Ask."""
        threads.append(threading.get_ident())
        return str(other(query))

    hooks.before("tool.execute")(lambda op: seen.append((op.name, op.parent.kind if op.parent else None)))
    with recorder(hooks):
        await agent(Own(None, (("ask", {"query": "tea"}),), "done"), ask).run(ASK)
    assert seen == [("ask", "agent.invoke"), ("look_up", "tool.execute")]
    assert len(threads) == 1


async def test_methods_are_tools_of_their_instances() -> None:
    class Shelf:
        def __init__(self, found: str) -> None:
            self.found = found

        @framework.tool(approval_mode="never_require")
        def look_up(self, query: str) -> str:
            """Look something up."""
            return f"{query}: {self.found}"

    hooks, seen = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: seen.append(op.request.arguments))
    with recorder(hooks):
        made: Any = Shelf("leaves")
        assert made.look_up("tea") == "tea: leaves"
        assert [one.text for one in await made.look_up.invoke(arguments={"query": "tea"})] == ["tea: leaves"]
    assert seen == [{"query": "tea"}] * 2


# ------------------------------------------------------------------------------------------------- edits

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def watching() -> tuple[Hooks, list[Any]]:
    hooks, seen = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append(deepcopy(dict(op.request.arguments)))

    return hooks, seen


async def test_a_tool_that_passes_on_what_it_has_edited_in_place() -> None:
    body = Body()
    inner = tool(body)

    class Outer(framework.FunctionTool):
        async def invoke(self, *, arguments: Any = None, **given: Any) -> Any:
            arguments["query"] = "milk"
            return await inner.invoke(arguments=arguments, **given)

    hooks, seen = watching()
    with recorder(hooks):
        await Outer(name="look_up", func=inner.func, input_model=SCHEMA).invoke(arguments={"query": "tea"})
    assert (seen, body.seen) == ([{"query": "tea"}, {"query": "milk"}], ["milk"])


@pytest.mark.parametrize("edits", [False, True])
async def test_a_tool_whose_invoke_calls_it_with_something_else(edits: bool) -> None:
    body = Body()

    class Other(framework.FunctionTool):
        async def invoke(self, *, arguments: Any = None, **_given: Any) -> Any:
            if edits:
                arguments["query"] = "milk"
            return [Content.from_text(self(**{**arguments, "query": "milk"}))]

    hooks, seen = watching()
    with recorder(hooks):
        await Other(name="look_up", func=tool(body).func).invoke(arguments={"query": "tea"})
    assert (seen, body.seen) == ([{"query": "tea"}, {"query": "milk"}], ["milk"])


async def test_a_tool_whose_invoke_calls_it_with_what_it_was_given() -> None:
    class Same(framework.FunctionTool):
        async def invoke(self, *, arguments: Any = None, **_given: Any) -> Any:
            return [Content.from_text(self(**arguments))]

    class Validated(framework.FunctionTool):
        async def invoke(self, **given: Any) -> Any:
            return await super().invoke(**given)

    def look_up(query: float, limit: int = 3) -> str:
        """Look something up."""
        return f"{query} {limit}"

    for made in (Same, Validated):
        hooks, seen = watching()
        with recorder(hooks):
            await made(name="look_up", func=look_up).invoke(arguments={"query": 1})
        looks_again = made is Validated and hasattr(made, "_invoke_function")  # its function receives 1.0
        assert [type(one["query"]) for one in seen] == ([int, float] if looks_again else [int])


async def _invoked(made: Any) -> Any:
    return await made.invoke(arguments={"names": ["tea"]})


async def _called(made: Any) -> Any:
    return made(names=["tea"])


@pytest.mark.parametrize("call", [_invoked, _called])
async def test_a_function_that_calls_its_own_tool_with_what_it_has_edited(call: Callable[[Any], Any]) -> None:
    @framework.tool(approval_mode="never_require")
    def look_up(names: list[str]) -> str:
        """Look something up."""
        if len(names) == 1:
            names.append("milk")
            return look_up(names=names)
        return str(names)

    hooks, seen = watching()
    with recorder(hooks):
        await call(look_up)
    assert seen == [{"names": ["tea"]}, {"names": ["tea", "milk"]}]


# ------------------------------------------------------------------------------------------------- approvals


@pytest.mark.parametrize("stream", [False, True])
async def test_approvals_come_before_the_gates(stream: bool) -> None:
    body, hooks, seen = Body(), Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: seen.append(op.name))

    @framework.tool(approval_mode="always_require")
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    made = agent(Own(None, ASKED, "done"), look_up)
    session = made.create_session()
    with recorder(hooks) as recorded:
        run = made.run(ASK, session=session, stream=stream)
        waiting = await (run.get_final_response() if stream else run)
        (request,) = waiting.user_input_requests
        assert (seen, body.runs) == ([], 0)
        approved = Message("user", [request.to_function_approval_response(True)])
        run = made.run(approved, session=session, stream=stream)
        result = await (run.get_final_response() if stream else run)
    assert (result.text, seen, body.runs) == ("done", ["look_up"], 1)
    runs = [one for one in recorded.spans if (one.attributes or {}).get("spanhook.kind") == "agent.invoke"]
    assert [(one.attributes or {})["spanhook.status"] for one in runs] == ["interrupted", "success"]


async def test_what_a_person_has_approved_can_still_be_refused() -> None:
    body = Body()

    @framework.tool(approval_mode="always_require")
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    made = agent(Own(None, ASKED, ""), look_up)
    session = made.create_session()
    with recorder(refusing()):
        (request,) = (await made.run(ASK, session=session)).user_input_requests
        approved = Message("user", [request.to_function_approval_response(True)])
        result = await made.run(approved, session=session)
    assert body.runs == 0
    assert result.text == "Error: not today"


async def test_arguments_that_a_hook_has_changed_after_approval_may_be_asked_about_again() -> None:
    body, hooks, asked = Body(), Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"query": "milk"}))

    @framework.tool(approval_mode="always_require")
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    @framework.function_middleware
    async def look(context: Any, call_next: Any) -> None:
        await call_next()

    made = agent(Own(None, ASKED, "done"), look_up, middleware=[look])
    session = made.create_session()
    with recorder(hooks):
        result = await made.run(ASK, session=session)
        while result.user_input_requests:
            (request,) = result.user_input_requests
            asked.append(request.function_call.parse_arguments())
            approved = Message("user", [request.to_function_approval_response(True)])
            result = await made.run(approved, session=session)
    assert asked in ([{"query": "tea"}], [{"query": "tea"}, {"query": "milk"}])  # older versions do not
    assert (result.text, body.seen) == ("done", ["milk"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("repairs", [False, True])
async def test_hooks_see_what_is_executed_whatever_was_approved(repairs: bool, stream: bool) -> None:
    body, hooks, seen = Body(), Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: seen.append(op.request.arguments["query"]))

    @framework.tool(approval_mode="always_require")
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    @framework.function_middleware
    async def repair(context: Any, call_next: Any) -> None:
        context.arguments["query"] = "sugar"
        await call_next()

    made = agent(Own(None, ASKED, "done"), look_up, middleware=[repair] if repairs else [])
    session = made.create_session()

    async def run(asked: Any) -> Any:
        made_run = made.run(asked, session=session, stream=stream)
        return await (made_run.get_final_response() if stream else made_run)

    with recorder(hooks):
        result = await run(ASK)
        while result.user_input_requests:
            (request,) = result.user_input_requests
            request.function_call.arguments = {"query": "milk"}  # what newer versions do not believe
            result = await run(Message("user", [request.to_function_approval_response(True)]))
    assert body.runs == 1
    assert set(seen) == set(body.seen)


async def test_a_tool_that_asks_a_person_is_interrupted() -> None:
    exceptions: Any = pytest.importorskip("agent_framework.exceptions")

    @framework.tool(approval_mode="never_require")
    async def look_up(query: str) -> str:
        """Look something up."""
        call = framework.Content.from_function_call("call_2", "ask", arguments={"query": query})
        asked = framework.Content.from_function_approval_request("ask", call)
        raise exceptions.UserInputRequiredException(contents=[asked])

    with recorder(Hooks()) as recorded:
        result = await agent(Own(None, ASKED, "done"), look_up).run(ASK)
    assert len(result.user_input_requests) == 1
    statuses = {
        one.name: (one.attributes or {})["spanhook.status"]
        for one in recorded.spans
        if (one.attributes or {}).get("spanhook.kind")
    }
    assert statuses == {
        "chat own": "success",
        "execute_tool look_up": "interrupted",
        "invoke_agent helper": "interrupted",
    }


# ------------------------------------------------------------------------------------------------- MCP

SERVER = '''
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # version 1 of the SDK
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("leaves")


@server.tool(name="look.up")
def look_up(query: str) -> str:
    """Look something up."""
    return "found leaves everywhere"


server.run()
'''


async def test_a_tool_of_an_mcp_server_is_one_call_whatever_its_name_there(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    hooks, seen = Hooks(), list[Any]()
    for name in ("leaves_look.up", "look.up"):
        hooks.before("tool.execute", names={name})(lambda op: seen.append((op.name, op.request.arguments)))
    with recorder(hooks) as recorded:
        served = framework.MCPStdioTool(
            "leaves",
            sys.executable,
            args=[str(tmp_path / "server.py")],
            load_prompts=False,
            tool_name_prefix="leaves",
            approval_mode="never_require",
        )
        async with served:
            (function,) = served.functions
            made = agent(Own(None, ((function.name, {"query": "tea"}),), "done"), served)
            result = await made.run(ASK)
    assert [FOUND in one for one, _ in told(result)] == [True]
    assert seen == [(function.name, {"query": "tea"})] * 2
    names = [one.name for one in recorded.spans if (one.attributes or {}).get("spanhook.kind") == "tool.execute"]
    assert names == [f"execute_tool {function.name}"]


def mcp_class(*places: str) -> Any:
    """What is first found of these: versions of MCP's SDK differ."""
    for place in places:
        module, _, name = place.partition(":")
        with suppress(ImportError, AttributeError):
            return getattr(import_module(module), name)
    raise LookupError(places)


CONNECTED = mcp_class("mcp:Client", "mcp.shared.memory:create_connected_server_and_client_session")
"""Connects a client to a server in the same process."""


async def test_an_agent_as_an_mcp_server_is_one_tool_there() -> None:
    hooks, seen, body = Hooks(), list[Any](), Body()
    hooks.before("*")(lambda op: seen.append((op.kind, op.name, op.parent.kind if op.parent else None)))
    with recorder(hooks):
        async with CONNECTED(agent(Own(body)).as_mcp_server()) as client:
            await client.call_tool("helper", {"task": ASK})
    tools = [one for one in seen if one[0] == "tool.execute"]
    assert tools == [("tool.execute", "helper", None), ("tool.execute", "helper", "tool.execute")]  # client and server
    assert seen[len(tools) :] == [("agent.invoke", "helper", "tool.execute"), ("llm.call", "own", "agent.invoke")]
    assert body.runs == 1


async def test_a_tool_that_a_server_calls_with_something_else_is_another_call() -> None:
    hooks, seen, body = Hooks(), list[Any](), Body()
    server = mcp_class("mcp.server.mcpserver:MCPServer", "mcp.server.fastmcp:FastMCP")("leaves")

    async def look_up(query: str) -> str:
        return str(await tool(body).invoke(arguments={"query": f"more {query}"}))

    server.tool(name="look_up")(look_up)
    hooks.before("tool.execute")(lambda op: seen.append(op.request.arguments["query"]))
    with recorder(hooks):
        async with CONNECTED(getattr(server, "_mcp_server", server)) as client:
            await client.call_tool("look_up", {"query": "tea"})
    assert (seen[-2:], body.seen) == (["tea", "more tea"], ["more tea"])
