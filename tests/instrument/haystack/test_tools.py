"""Tools: what hooks see and answer, failures, exit conditions, what agents give to them, tools of MCP servers."""

import asyncio
import threading
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.haystack_ways import (
    ASK,
    FOUND,
    IS_2,
    agent,
    component_tool,
    idle,
    made_of,
    messages,
    own,
    tool,
    tools,
    using,
)
from spanhook.cli.conformance.subject import RAISED, Body
from spanhook.testing import recorder

_ERRORS: Any = import_module("haystack.tools.errors")
ASKED = ("look_up", {"query": "tea"})
MAKE = pytest.mark.parametrize("make", [tool, component_tool])


def results(made: Any) -> list[Any]:
    """What the model was told: a text, and whether that is an error."""
    told = [one.tool_call_result for one in made["messages"] if one.tool_call_result is not None]
    return [(one.result, one.error) for one in told]


@MAKE
def test_what_a_hook_sees_of_a_call(make: Any) -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.arguments))

    with recorder(hooks) as recorded:
        using(make)(Body()).run(messages())
    assert seen == [ASKED]
    attributes = recorded.spans[1].attributes or {}
    assert attributes["gen_ai.tool.description"] == "Look something up."
    assert attributes["gen_ai.tool.type"] == "function"


@MAKE
def test_an_answer_is_told_to_the_model(make: Any) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("tool.execute")(lambda op: op.respond("from a cache"))
    with recorder(hooks):
        result = using(make)(body).run(messages())
    assert (results(result), body.runs) == ([("from a cache", False)], 0)


@MAKE
def test_a_result_that_is_refused_or_replaced_is_not_told(make: Any) -> None:
    hooks = Hooks()

    @hooks.after("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not for you")

    with recorder(hooks):
        assert results(using(make)(Body()).run(messages())) == [("not for you", True)]
    hooks = Hooks()

    @hooks.around("tool.execute")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        assert results(using(make)(Body()).run(messages())) == [("something else", False)]


@MAKE
def test_a_tool_that_fails_is_an_error(make: Any) -> None:
    failed, hooks = list[Any](), Hooks()

    @hooks.on_error("tool.execute")
    def note(op: Operation) -> None:
        failed.append(op.name)

    without = results(using(make)(Body(fault=RAISED)).run(messages()))
    with recorder(hooks) as seen:
        assert results(using(make)(Body(fault=RAISED)).run(messages())) == without
    assert without[0][1]
    assert failed == ["look_up"]
    assert (seen.spans[1].attributes or {})["spanhook.status"] == "error"


def test_a_refusal_is_an_exception_of_the_librarys_too() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=402)

    with recorder(hooks), pytest.raises(_ERRORS.ToolInvocationError) as refused:
        tool(body).invoke(query="tea")
    assert isinstance(refused.value, Reject)
    assert (refused.value.status_code, getattr(refused.value, "tool_name", ""), body.runs) == (402, "look_up", 0)


def test_agents_that_raise_what_tools_raise_raise_refusals() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = agent(own(None, ASKED, "done"), tool(Body()), raise_on_tool_invocation_failure=True)
    with recorder(hooks), pytest.raises(Reject, match="not today"):
        made.run(messages())


def test_a_refused_tool_is_no_exit() -> None:
    """Agents leave after this tool, but not if it has failed."""
    hooks = Hooks()
    hooks.before("tool.execute")(refuse)

    def made() -> Any:
        return agent(own(None, ASKED, "done"), tool(Body()), exit_conditions=["look_up"])

    with recorder(Hooks()):
        assert results({"messages": made().run(messages())["messages"][-1:]}) == [(FOUND, False)]
    with recorder(hooks):
        assert made().run(messages()) if IS_2 else made().run(messages())["last_message"].text == "done"


def refuse(_op: Operation) -> None:
    raise Reject("not today")


def test_tools_that_run_at_once_are_operations_of_their_run() -> None:
    both, threads, hooks = threading.Barrier(2), set[int](), Hooks()

    def meet(query: str) -> str:
        both.wait(20)
        threads.add(threading.get_ident())
        return query

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        assert op.parent is not None
        assert op.parent.kind == "agent.invoke"

    calls = own(None, ASKED, "done")
    reply = calls.script.next([], None)[0].tool_calls[0]
    first = type(reply)(tool_name="first", arguments={"query": "a"}, id="1")
    second = type(reply)(tool_name="second", arguments={"query": "b"}, id="2")
    message = type(messages()[0])
    script = iter([message.from_assistant(tool_calls=[first, second]), message.from_assistant("done")])
    calls.script.next = lambda _messages, _callback: (next(script), [])
    with recorder(hooks) as seen:
        result = agent(calls, made_of(meet, "first"), made_of(meet, "second")).run(messages())
    assert results(result) == [("a", False), ("b", False)]
    assert len(threads) == 2
    assert sorted(one.name for one in seen.spans if one.name.startswith("execute")) == [
        "execute_tool first",
        "execute_tool second",
    ]


def test_what_the_library_gives_a_tool_is_kept() -> None:
    """A tool that takes the agent's state: hooks see and rewrite what the model asks for."""
    state: Any = import_module("haystack.components.agents").State
    found, hooks = list[Any](), Hooks()

    def look_up(query: str, state: Any) -> str:
        found.append((query, type(state).__name__))
        return query

    look_up.__annotations__["state"] = state
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"query": "coffee"}))
    made = agent(own(None, ASKED, ""), made_of(look_up), state_schema={"note": {"type": str}})
    with recorder(hooks):
        made.run(messages())
    assert found in ([("coffee", "State")], [])  # early versions have no such tools
    assert found or IS_2


@pytest.mark.skipif(IS_2, reason="this version has no async tools")
def test_a_tool_that_is_called_over_a_thread_is_one_operation() -> None:
    body = Body()
    with recorder(Hooks()) as seen:
        assert asyncio.run(tool(body).invoke_async(query=ASK)) == FOUND
    assert ([one.name for one in seen.spans], body.runs) == (["execute_tool look_up"], 1)


def test_a_tool_inside_of_a_tool_is_an_operation_of_its_own() -> None:
    inner = made_of(idle)

    def outer(query: str) -> str:
        return inner.invoke(query=query)

    with recorder(Hooks()) as seen:
        assert made_of(outer).invoke(query=ASK) == ASK
    assert [one.name for one in seen.spans] == ["execute_tool idle", "execute_tool outer"]


def test_an_agent_as_a_tool_has_the_name_of_the_tool() -> None:
    if not hasattr(tools, "AgentTool"):
        pytest.skip("this version has no agents as tools of their own sort")
    asking = tools.AgentTool(agent=agent(own(Body(), "it is tea")), name="look_up", description="Ask.")
    asked = ("look_up", {"messages": [{"role": "user", "content": ASK}]})
    with recorder(Hooks()) as seen:
        result = agent(own(None, asked, ""), asking).run(messages())
    assert result["last_message"].text == "it is tea"
    assert [one.name for one in seen.spans] == [
        *("chat own", "chat own", "invoke_agent look_up", "execute_tool look_up", "chat own", "invoke_agent Agent")
    ]
