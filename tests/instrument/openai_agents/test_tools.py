"""Function tools: refused, rewritten and answered calls, their failures, time limits and approvals, wherever they run."""

import asyncio
import copy
import dataclasses
import json
import pickle
import threading
from collections.abc import AsyncIterator
from typing import Any

import agents
import pytest
from agents import Agent, FunctionTool, Model, RunConfig, RunState, function_tool
from agents.tool_context import ToolContext
from pydantic import BaseModel

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_agents_ways import ASK
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, go, run, scripted, streamed, told

CALL = [("work", '{"amount": 5}')]


def working(body: Body, *turns: Any, tools: Any = (), **options: Any) -> Agent[Any]:
    """An agent with a tool that counts into the body, its model as ``agent.model``."""

    async def work(amount: int) -> str:
        """Do work."""
        body.run(amount)
        return f"did {amount}"

    made = function_tool(work, **options)
    return Agent(name="helper", model=scripted(None, *(turns or (CALL, "All done."))), tools=[made, *tools])


def refusing(reason: str = "too much", **options: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject(reason, **options)

    return hooks


def told_model(agent: Agent[Any], way: Way, hooks: Hooks | None = None, **more: Any) -> list[Any]:
    """Run it; what its model was told in the end."""
    body = Body()
    model = agent.model
    assert isinstance(model, Model)
    agent = agent.clone(model=_Listening(model, body))
    with recorder(hooks):
        go(way, agent, **more)
    return [one["output"] for one in body.seen[-1] if str(one.get("type")).endswith("_output")]


class _Listening(Model):
    def __init__(self, inner: Model, body: Body) -> None:
        self.inner, self.body = inner, body

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        self.body.run(list(input))
        return await self.inner.get_response(system_instructions, input, *args, **kwargs)

    async def stream_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        self.body.run(list(input))
        async for event in self.inner.stream_response(system_instructions, input, *args, **kwargs):
            yield event


# ------------------------------------------------------------------------------------------------ refused


@both_ways
def test_the_model_is_told_why(way: Way) -> None:
    body = Body()
    assert told_model(working(body), way, refusing()) == ["Tool call rejected: too much"]
    assert body.runs == 0


def _custom(_context: Any, error: Exception) -> str:
    return f"sorry: {error}"


async def _custom_later(_context: Any, error: Exception) -> str:
    await asyncio.sleep(0)
    return f"sorry: {error}"


if hasattr(agents.tool, "maybe_invoke_function_tool_failure_error_function"):  # else only the tool knows it

    @pytest.mark.parametrize("function", [_custom, _custom_later])
    @both_ways
    def test_in_the_words_of_the_tools_own_function(way: Way, function: Any) -> None:
        body = Body()
        agent = working(body, failure_error_function=function)
        assert told_model(agent, way, refusing()) == ["sorry: too much"]
        assert body.runs == 0


@both_ways
def test_a_tool_whose_failures_end_the_run_goes_on(way: Way) -> None:
    """That a call is refused is no failure of the tool."""
    body = Body()
    agent = working(body, failure_error_function=None)
    assert told_model(agent, way, refusing()) == ["Tool call rejected: too much"]
    assert body.runs == 0


@both_ways
def test_a_refused_call_stops_no_run_that_stops_at_tools(way: Way) -> None:
    """What the SDK makes of the tool's result, it makes of the refusal."""
    body = Body()
    agent = dataclasses.replace(working(body), tool_use_behavior="stop_on_first_tool")
    with recorder(refusing()):
        assert go(way, agent).final_output == "Tool call rejected: too much"
    assert body.runs == 0


@both_ways
def test_only_the_refused_one_of_several_does_not_run(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        if op.request.arguments["amount"] > 5:
            raise Reject("too much")

    calls = [("work", json.dumps({"amount": number})) for number in (1, 9, 2)]
    assert told_model(working(body, calls, "done"), way, hooks) == ["did 1", "Tool call rejected: too much", "did 2"]
    assert sorted(body.seen) == [1, 2]


@both_ways
def test_a_result_that_is_refused_is_not_told(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.after("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    assert told_model(working(body), way, hooks) == ["Tool call rejected: not that"]
    assert body.runs == 1


# ------------------------------------------------------------------------------------------------ rewritten, answered


@both_ways
def test_rewritten_arguments(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def less(op: Operation) -> None:
        op.replace(arguments={"amount": 1})

    assert told_model(working(body), way, hooks) == ["did 1"]
    assert body.seen == [1]


@both_ways
def test_an_argument_that_the_tool_does_not_take_is_a_mistake(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def other(op: Operation) -> None:
        op.replace(arguments={"sum": 1})

    assert "failed" in told_model(working(body), way, hooks)[0]
    assert "has no argument ['sum']" in caplog.text
    assert body.runs == 0


class Answer(BaseModel):
    amount: int


@pytest.mark.parametrize(("given", "expected"), [("nothing", "nothing"), (Answer(amount=2), "amount=2"), (7, "7")])
@both_ways
def test_answered_by_a_hook(way: Way, given: Any, expected: str) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def answer(op: Operation) -> None:
        op.respond(given)

    assert told_model(working(body), way, hooks) == [expected]
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize("handled", [True, False])
@both_ways
def test_a_failure_is_one_whoever_makes_a_message_of_it(way: Way, handled: bool) -> None:
    def broken() -> str:
        raise ValueError("it broke")

    options: dict[str, Any] = {} if handled else {"failure_error_function": None}
    tool = function_tool(broken, **options)
    agent = Agent(name="helper", model=scripted(None, [("broken", "{}")], "All done."), tools=[tool])
    failed: list[Any] = []
    hooks = Hooks()

    @hooks.on_error("tool.execute")
    def look(op: Operation) -> None:
        failed.append(type(op.error))

    with recorder(hooks) as seen:
        if handled:
            assert go(way, agent).final_output == "All done."
        else:
            with pytest.raises(agents.UserError, match="it broke"):
                go(way, agent)
    assert ("tool.execute", "broken", "error") in told(seen)
    assert told(seen)[-1] == ("agent.invoke", "helper", "success" if handled else "error")
    assert len(failed) == 1


@both_ways
def test_arguments_that_are_no_json_reach_nothing(way: Way) -> None:
    body = Body()
    with recorder() as seen:
        go(way, working(body, [("work", "{nonsense")], "done"))
    assert body.runs == 0
    assert told(seen)[1] == ("tool.execute", "work", "error")


if hasattr(agents, "ToolTimeoutError"):

    @both_ways
    def test_of_a_time_limit_the_gates_take_nothing(way: Way) -> None:
        hooks = Hooks()

        @hooks.before("tool.execute", timeout=60.0)
        async def slow(op: Operation) -> None:
            await asyncio.sleep(1.2)

        body = Body()
        assert told_model(working(body, timeout=1.0), way, hooks) == ["did 5"]
        assert body.runs == 1

    @pytest.mark.parametrize("behavior", ["error_as_result", "raise_exception"])
    @both_ways
    def test_a_tool_that_runs_out_of_time(way: Way, behavior: Any) -> None:
        async def forever() -> str:
            await asyncio.Event().wait()
            return ""

        tool = function_tool(forever, timeout=0.05, timeout_behavior=behavior)
        agent = Agent(name="helper", model=scripted(None, [("forever", "{}")], "All done."), tools=[tool])
        with recorder() as seen:
            if behavior == "error_as_result":
                go(way, agent)
            else:
                with pytest.raises(agents.ToolTimeoutError):
                    go(way, agent)
        assert [one for one in told(seen) if one[0] == "tool.execute"] == [("tool.execute", "forever", "error")]


# ------------------------------------------------------------------------------------------------ approvals


def _states(result: Any) -> RunState[Any]:
    state = result.to_state()
    for one in result.interruptions:
        state.approve(one)
    return state


@both_ways
def test_a_run_that_waits_for_a_person_is_interrupted_and_gated_again(way: Way) -> None:
    hooks, body = Hooks(), Body()
    asked: list[str] = []

    @hooks.before("*")
    def look(op: Operation) -> None:
        asked.append(op.kind)

    agent = working(body, needs_approval=True)
    with recorder(hooks) as seen:
        result = go(way, agent)
        assert told(seen)[-1] == ("agent.invoke", "helper", "interrupted")
        assert body.runs == 0
        assert "tool.execute" not in asked
        asked.clear()
        assert go(way, agent, _states(result)).final_output == "All done."
    assert body.seen == [5]
    assert asked == ["agent.invoke", "tool.execute", "llm.call"]
    assert told(seen)[-1] == ("agent.invoke", "helper", "success")


@both_ways
def test_what_a_person_approved_a_hook_may_still_refuse_or_rewrite(way: Way) -> None:
    hooks, body = Hooks(), Body()
    refuse = [True]

    @hooks.before("tool.execute")
    def decide(op: Operation) -> None:
        if refuse[0]:
            raise Reject("too late")
        op.replace(arguments={"amount": 1})

    agent = working(body, needs_approval=True)
    with recorder(hooks):
        state = _states(go(way, agent))
        kept = state.to_json()
        result = go(way, agent, state)
        assert body.runs == 0
        assert "Tool call rejected: too late" in str(result.to_input_list())
        refuse[0] = False
        go(way, agent, asyncio.run(RunState.from_json(agent, kept)))
    assert body.seen == [1]


def test_a_resumed_run_may_be_refused() -> None:
    hooks, body = Hooks(), Body()
    agent = working(body, needs_approval=True)
    with recorder():
        state = _states(go(run, agent))

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        assert op.request.messages[0]["parts"][0]["content"] == ASK
        raise Reject("no more")

    with recorder(hooks):
        for way in (run, streamed):
            with pytest.raises(Reject, match="no more"):
                go(way, agent, state)
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ agents as tools


@both_ways
def test_an_agent_as_a_tool_is_a_run_inside_it(way: Way) -> None:
    inner, outer = Body(), Body()
    expert = Agent(name="expert", model=scripted(inner, "Found."))
    tool = expert.as_tool("find", "Find something.")
    agent = Agent(name="chief", model=scripted(outer, [("find", '{"input": "tea"}')], "All done."), tools=[tool])
    with recorder() as seen:
        go(way, agent)
    assert told(seen) == [
        ("llm.call", "gpt-4o-mini", "success"),
        ("llm.call", "gpt-4o-mini", "success"),
        ("agent.invoke", "expert", "success"),
        ("tool.execute", "find", "success"),
        ("llm.call", "gpt-4o-mini", "success"),
        ("agent.invoke", "chief", "success"),
    ]
    run_inside = seen.operations[2]
    assert run_inside.parent is not None
    assert run_inside.parent.name == "find"
    assert run_inside.usage.total_tokens == inner.tokens
    assert seen.operations[-1].usage.total_tokens == inner.tokens + outer.tokens


@both_ways
def test_a_refused_run_inside_a_tool_is_told_to_the_model(way: Way) -> None:
    hooks, inner, outer = Hooks(), Body(), Body()

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("no experts")

    expert = Agent(name="expert", model=scripted(inner, "Found."))
    tool = expert.as_tool("find", "Find something.")
    agent = Agent(name="chief", model=scripted(outer, [("find", '{"input": "tea"}')], "All done."), tools=[tool])
    with recorder(hooks) as seen:
        assert go(way, agent).final_output == "All done."
    assert inner.runs == 0
    assert told(seen)[1:3] == [("agent.invoke", "expert", "rejected"), ("tool.execute", "find", "rejected")]


@both_ways
def test_a_nested_run_that_waits_for_a_person_interrupts_all(way: Way) -> None:
    body = Body()
    expert = dataclasses.replace(working(body, needs_approval=True), name="expert")
    tool = expert.as_tool("find", "Find something.")
    agent = Agent(name="chief", model=scripted(None, [("find", '{"input": "tea"}')], "All done."), tools=[tool])
    with recorder() as seen:
        result = go(way, agent)
        assert [(kind, status) for kind, _, status in told(seen)[-3:]] == [
            ("agent.invoke", "interrupted"),
            ("tool.execute", "interrupted"),
            ("agent.invoke", "interrupted"),
        ]
        assert go(way, agent, _states(result)).final_output == "All done."
    assert body.runs == 1
    assert told(seen)[-1] == ("agent.invoke", "chief", "success")


# ------------------------------------------------------------------------------------------------ threads


@both_ways
def test_a_plain_function_runs_in_its_thread_inside_the_operation(way: Way) -> None:
    found: list[Any] = []

    def work(amount: int) -> str:
        op = spanhook.current_operation()
        found.append((threading.current_thread() is threading.main_thread(), op.kind if op else None))
        return "did"

    agent = Agent(name="helper", model=scripted(None, CALL, "done"), tools=[function_tool(work)])
    with recorder():
        go(way, agent)
    assert found[0][1] == "tool.execute"


# ------------------------------------------------------------------------------------------------ the object itself


def _invoke(tool: Any) -> Any:
    context = ToolContext(context=None, tool_name="work", tool_call_id="call_1", tool_arguments='{"amount": 5}')
    return asyncio.run(tool.on_invoke_tool(context, '{"amount": 5}'))


async def plain_invoke(_context: Any, arguments: str) -> str:
    _RAN.append(arguments)
    return "did"


_RAN: list[str] = []


def _plain(kind: type[FunctionTool] = FunctionTool) -> FunctionTool:
    return kind("work", "Do work.", {"type": "object", "properties": {}}, plain_invoke, strict_json_schema=False)


def test_a_tool_stays_the_object_it_is() -> None:
    before = _plain()
    with recorder(refusing()):
        made = _plain()
        for tool in (before, made, copy.copy(made), copy.deepcopy(made), dataclasses.replace(made)):
            _RAN.clear()
            assert _invoke(tool) == "Tool call rejected: too much"
            assert _RAN == []
        assert made == _plain()
        assert made.on_invoke_tool == plain_invoke
        assert pickle.loads(pickle.dumps(made.on_invoke_tool)) is plain_invoke
        kept = made.on_invoke_tool
    _RAN.clear()
    assert _invoke(made) == _invoke(before) == "did"
    assert made.on_invoke_tool is plain_invoke
    call: Any = kept
    assert asyncio.run(call(None, "{}")) == "did"


def test_a_function_that_is_put_in_later_is_gated() -> None:
    with recorder(refusing()):
        tool = _plain()

        async def other(_context: Any, arguments: str) -> str:
            _RAN.append(arguments)
            return "other"

        _RAN.clear()
        tool.on_invoke_tool = other
        assert _invoke(tool) == "Tool call rejected: too much"
    assert _RAN == []
    assert _invoke(tool) == "other"


def test_a_method_of_a_subclass_is_gated() -> None:
    class Bare(FunctionTool):
        def __init__(self) -> None:
            self.name, self.description, self.params_json_schema = "work", "", {}
            self.timeout_seconds = None

        async def on_invoke_tool(self, context: Any, arguments: str) -> str:  # type: ignore[override]
            _RAN.append(arguments)
            return "own"

    with recorder(refusing()):
        _RAN.clear()
        assert _invoke(Bare()) == "Tool call rejected: too much"
    assert _RAN == []


# ------------------------------------------------------------------------------------------------ other callers


@both_ways
def test_tools_of_an_mcp_server(way: Way) -> None:
    from agents.mcp import MCPServer
    from mcp.types import CallToolResult, ListToolsResult, TextContent

    body = Body()

    class Local(MCPServer):
        """A server in this process."""

        @property
        def name(self) -> str:
            return "local"

        async def connect(self) -> None: ...
        async def cleanup(self) -> None: ...
        async def list_tools(self, run_context: Any = None, agent: Any = None) -> Any:
            schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
            return ListToolsResult.model_validate({"tools": [{"name": "work", "inputSchema": schema}]}).tools

        async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:
            body.run(arguments)
            return CallToolResult(content=[TextContent(type="text", text="did")])

        async def list_prompts(self) -> Any: ...
        async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...

    def agent() -> Agent[Any]:
        return Agent(name="helper", model=scripted(None, CALL, "done"), mcp_servers=[Local()])

    assert "did" in str(told_model(agent(), way))
    assert body.seen == [{"amount": 5}]
    assert told_model(agent(), way, refusing()) == ["Tool call rejected: too much"]
    assert body.runs == 1


@both_ways
def test_hooks_of_the_sdk_are_told_once_in_the_same_order(way: Way) -> None:
    from spanhook.cli.conformance.libraries.openai_agents_ways import Hearing

    def heard(hooks: Hooks | None, *, ours: bool = True) -> Any:
        native = Hearing()
        if not ours:
            go(way, working(Body()), hooks=native)
            return native.told
        with recorder(hooks):
            go(way, working(Body()), hooks=native)
        return native.told

    without = heard(None, ours=False)
    assert heard(None) == without
    allowing = Hooks()
    allowing.before("*")(lambda op: None)
    allowing.after("*", stream="buffer")(lambda op: None)
    assert heard(allowing) == without
    assert ("tool ends", "work", "Tool call rejected: too much") in heard(refusing())


def test_a_run_config_changes_nothing_of_that() -> None:
    body = Body()
    config = RunConfig(tracing_disabled=True, trace_include_sensitive_data=False)
    assert told_model(working(body), run, refusing(), run_config=config) == ["Tool call rejected: too much"]
