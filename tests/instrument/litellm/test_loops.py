"""``run_tool_loop`` and ``arun_tool_loop``: an agent, and the application's function that executes its tools."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.litellm_ways import litellm
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply
from spanhook.testing import recorder
from tests.instrument.litellm.parts import nested, told

if not hasattr(litellm, "run_tool_loop"):
    pytest.skip("this version has no loops, harnesses or A2A", allow_module_level=True)

CALL = Call("find", {"what": "tea"})
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
Loop = Callable[..., Any]


class Tools:
    """The application's function, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, tool_call: Any) -> Any:
        self.asked.append(tool_call.function.arguments)
        return {"role": "tool", "tool_call_id": tool_call.id, "content": "Found."}

    async def later(self, tool_call: Any) -> Any:
        return self(tool_call)


def sync(given: dict[str, Any], tools: Tools) -> Any:
    return litellm.run_tool_loop(**given, tools=TOOLS, execute_tool=tools)


def later(given: dict[str, Any], tools: Tools) -> Any:
    return asyncio.run(litellm.arun_tool_loop(**given, tools=TOOLS, execute_tool=tools.later))


both = pytest.mark.parametrize("loop", [sync, later])


@pytest.fixture
def asking(server: OpenAIServer, to_openai: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a loop whose model asks for a tool first."""
    server.script(Reply(calls=(CALL,)), Reply(text="Done."))
    return to_openai


@both
def test_a_loop_is_an_agent_with_its_models_and_tools(loop: Loop, asking: dict[str, Any], server: OpenAIServer) -> None:
    tools, totals = Tools(), list[int]()
    hooks = Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        assert loop(asking, tools) == "Done."
    assert nested(seen) == [
        ("chat gpt-4o-mini", "invoke_agent run_tool_loop"),
        ("chat gpt-4o-mini", "invoke_agent run_tool_loop"),
        ("execute_tool find", "invoke_agent run_tool_loop"),
        ("invoke_agent run_tool_loop", ""),
    ]
    assert tools.asked == [json.dumps(CALL.arguments)]
    assert totals == [2 * 28]
    assert told(server) == "Found."


@both
def test_the_model_is_told_of_a_refused_tool(loop: Loop, asking: dict[str, Any], server: OpenAIServer) -> None:
    tools, hooks = Tools(), Hooks()

    @hooks.before("tool.execute", names={"find"})
    def refuse(op: Operation) -> None:
        assert op.request.arguments == CALL.arguments
        raise Reject("Not today")

    with recorder(hooks) as seen:
        assert loop(asking, tools) == "Done."
    assert tools.asked == []
    assert told(server) == "Tool call rejected: Not today"
    assert [op.status for op in seen.operations if op.kind == "tool.execute"] == ["rejected"]


@both
def test_a_run_that_is_stopped_in_a_tool_ends(loop: Loop, asking: dict[str, Any], server: OpenAIServer) -> None:
    tools, hooks = Tools(), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("Not today", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="Not today"):
        loop(asking, tools)
    assert (tools.asked, len(server.requests)) == ([], 1)


@both
def test_a_tools_call_can_be_rewritten_and_its_result_replaced(
    loop: Loop, asking: dict[str, Any], server: OpenAIServer
) -> None:
    tools, hooks = Tools(), Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"what": "water"}))
    hooks.after("tool.execute")(lambda op: op.respond(f"{op.request.arguments['what']} it is"))
    with recorder(hooks):
        loop(asking, tools)
    assert tools.asked == ['{"what": "water"}']
    assert told(server) == "water it is"
    said = server.requests[-1].body["messages"][-2]["tool_calls"][0]["function"]
    assert json.loads(said["arguments"]) == CALL.arguments


@both
def test_a_tool_can_be_answered_instead(loop: Loop, asking: dict[str, Any], server: OpenAIServer) -> None:
    tools, hooks = Tools(), Hooks()
    hooks.before("tool.execute")(lambda op: op.respond({"found": 1}))
    with recorder(hooks):
        loop(asking, tools)
    assert (tools.asked, told(server)) == ([], '{"found": 1}')


@both
def test_a_loop_can_be_refused_rewritten_and_answered(
    loop: Loop, to_openai: dict[str, Any], server: OpenAIServer
) -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke")
    def decide(op: Operation) -> None:
        said = op.request.messages[0]["parts"][0]["content"]
        if said == "refuse":
            raise Reject("Not today")
        if said == "answer":
            op.respond("An answer.")
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "Say hi."}]}])

    def asked(text: str) -> dict[str, Any]:
        return {**to_openai, "messages": ({"role": "user", "content": text},)}

    with recorder(hooks):
        with pytest.raises(Reject, match="Not today"):
            loop(asked("refuse"), Tools())
        assert loop(asked("answer"), Tools()) == "An answer."
        assert not server.requests
        loop(asked("go on"), Tools())
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "Say hi."}]


def test_a_loop_whose_model_never_ends_fails_as_it_does_without_spanhook(
    to_openai: dict[str, Any], server: OpenAIServer
) -> None:
    server.reply = Reply(calls=(CALL,))
    module = pytest.importorskip("litellm.tool_loop")
    with recorder(Hooks()) as seen, pytest.raises(module.ToolLoopMaxRoundsExceeded):
        sync({**to_openai, "max_rounds": 2}, Tools())
    assert [op.status for op in seen.operations if op.kind == "agent.invoke"] == ["error"]


def test_without_spanhook_the_applications_function_is_called_itself(asking: dict[str, Any]) -> None:
    seen: list[Any] = []

    def execute(tool_call: Any) -> Any:
        import sys

        seen.append(sys._getframe(1).f_code.co_filename)
        return {"role": "tool", "tool_call_id": tool_call.id, "content": "Found."}

    litellm.run_tool_loop(**asking, tools=TOOLS, execute_tool=execute)
    assert "tool_loop" in seen[0]
