"""Tools: refused, rewritten and answered ones, those that wait, retries, toolsets of every kind."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
)
from pydantic_ai.toolsets import CombinedToolset, FunctionToolset, PrefixedToolset, RenamedToolset, WrapperToolset

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import (
    ASK,
    Way,
    all_ways,
    go,
    refusing,
    returned,
    run,
    scripted,
    told,
)


def working(body: Body, calls: Any = None, name: str = "work") -> Agent[Any, Any]:
    """An agent with a tool that counts its calls; what its model is told is in ``returned(told)``."""
    agent = Agent(scripted(body, calls or [(name, {"amount": 3})], "done"), name="helper")
    ran: list[int] = []
    agent.ran = ran  # pyright: ignore[reportAttributeAccessIssue]

    @agent.tool_plain(name=name)
    def work(amount: int) -> str:
        """Do some work."""
        ran.append(amount)
        return f"did {amount}"

    return agent


def ran(agent: Any) -> list[int]:
    return agent.ran


# ------------------------------------------------------------------------------------------------ refused


@all_ways
def test_the_model_is_told_of_a_refusal(way: Way) -> None:
    body = Body()
    agent = working(body)
    with recorder(refusing("tool.execute")) as seen:
        assert go(way, agent) == "done"
    assert returned(body) == ["Tool call rejected: not now"]
    assert ran(agent) == []
    assert ("tool.execute", "work", "rejected") in told(seen)
    assert told(seen)[-1] == ("agent.invoke", "helper", "success")


def test_refusals_use_up_no_retries() -> None:
    body = Body()
    call: Any = [("work", {"amount": 3})]
    agent = Agent(scripted(body, call, call, call, call, "done"), name="helper", retries=0)

    @agent.tool_plain
    def work(amount: int) -> str:
        """Do some work."""
        return "did it"

    with recorder(refusing("tool.execute")):
        assert go(run, agent) == "done"
    assert body.runs == 5


@all_ways
def test_only_the_refused_one_of_several_does_not_run(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        if op.request.arguments["amount"] > 5:
            raise Reject("too much")

    agent = working(body, [("work", {"amount": amount}) for amount in (1, 9, 2)])
    with recorder(hooks):
        go(way, agent)
    assert returned(body) == ["did 1", "Tool call rejected: too much", "did 2"]
    assert sorted(ran(agent)) == [1, 2]


@all_ways
def test_a_result_that_is_refused_is_not_told(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.after("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    agent = working(body)
    with recorder(hooks):
        go(way, agent)
    assert returned(body) == ["Tool call rejected: not that"]
    assert ran(agent) == [3]


# ------------------------------------------------------------------------------------------------ rewritten, answered


@all_ways
def test_rewritten_arguments(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def less(op: Operation) -> None:
        op.replace(arguments={"amount": 1})

    agent = working(body)
    with recorder(hooks):
        go(way, agent)
    assert (returned(body), ran(agent)) == (["did 1"], [1])


@all_ways
def test_an_argument_that_the_tool_does_not_take_is_a_mistake(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def other(op: Operation) -> None:
        op.replace(arguments={"sum": 1})

    agent = working(body)
    with recorder(hooks):
        go(way, agent)
    assert ran(agent) == []
    assert "has no argument ['sum']" in caplog.text


@all_ways
def test_answered_and_replaced(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def answer(op: Operation) -> None:
        op.respond({"did": "nothing"})

    agent = working(body)
    with recorder(hooks):
        go(way, agent)
    assert (returned(body), ran(agent)) == ([{"did": "nothing"}], [])


def test_what_a_span_says() -> None:
    with recorder() as seen:
        go(run, working(Body()))
    attributes = dict(seen.spans[1].attributes or {})
    wanted = ("gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id", "gen_ai.tool.description")
    assert [attributes[name] for name in wanted] == ["work", "function", "call_0", "Do some work."]


# ------------------------------------------------------------------------------------------------ waiting, retries


@pytest.mark.parametrize("wait", [ApprovalRequired, CallDeferred])
def test_a_call_that_waits(wait: Any) -> None:
    body = Body()
    agent = Agent(scripted(body, [("pay", {})], "paid"), name="helper", output_type=[str, DeferredToolRequests])
    paid: list[bool] = []

    @agent.tool
    def pay(context: RunContext[Any]) -> str:
        """Pay."""
        if not context.tool_call_approved:
            raise wait()
        paid.append(True)
        return "done"

    async def both() -> Any:
        first = await agent.run(ASK)
        if wait is CallDeferred:
            results = DeferredToolResults(calls={"call_0": "done elsewhere"})
        else:
            results = DeferredToolResults(approvals={"call_0": True})
        return await agent.run(message_history=first.all_messages(), deferred_tool_results=results)

    with recorder() as seen:
        assert asyncio.run(both()).output == "paid"
    statuses = [(kind, status) for kind, _, status in told(seen)]
    assert statuses[:3] == [("llm.call", "success"), ("tool.execute", "interrupted"), ("agent.invoke", "interrupted")]
    assert paid == ([True] if wait is ApprovalRequired else [])
    assert [kind for kind, _ in statuses[3:]] == (
        ["tool.execute", "llm.call", "agent.invoke"] if wait is ApprovalRequired else ["llm.call", "agent.invoke"]
    )


def test_an_approved_call_is_gated() -> None:
    body = Body()
    agent = Agent(scripted(body, [("pay", {})], "done"), name="helper", output_type=[str, DeferredToolRequests])
    paid: list[bool] = []

    @agent.tool_plain(requires_approval=True)
    def pay() -> str:
        """Pay."""
        paid.append(True)
        return "paid"

    async def both() -> Any:
        first = await agent.run(ASK)
        results = DeferredToolResults(approvals={"call_0": True})
        return await agent.run(message_history=first.all_messages(), deferred_tool_results=results)

    with recorder(refusing("tool.execute")):
        asyncio.run(both())
    assert paid == []
    assert returned(body) == ["Tool call rejected: not now"]


@all_ways
def test_a_tool_that_asks_for_another_try(way: Way) -> None:
    call: Any = [("work", {})]
    agent = Agent(scripted(None, call, call, "done"), name="helper")
    tries: list[int] = []

    @agent.tool_plain
    def work() -> str:
        """Do some work."""
        tries.append(1)
        if len(tries) < 2:
            raise ModelRetry("again")
        return "did it"

    with recorder() as seen:
        assert go(way, agent) == "done"
    assert [status for kind, _, status in told(seen) if kind == "tool.execute"] == ["error", "success"]


# ------------------------------------------------------------------------------------------------ toolsets


def _toolset(calls: list[Any]) -> FunctionToolset[Any]:
    def up(query: str) -> str:
        """Look something up."""
        calls.append(query)
        return "found"

    return FunctionToolset([up])


class Own(WrapperToolset[Any]):
    """A toolset of the application's own around another."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return await super().call_tool(name, tool_args, ctx, tool)


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (lambda toolset: toolset, "up"),
        (lambda toolset: PrefixedToolset(toolset, "look"), "look_up"),
        (lambda toolset: RenamedToolset(toolset, {"find": "up"}), "find"),
        (lambda toolset: CombinedToolset([PrefixedToolset(Own(toolset), "look")]), "look_up"),
        (Own, "up"),
    ],
)
@all_ways
def test_a_call_through_toolsets_is_one(way: Way, wrap: Any, name: str) -> None:
    calls: list[Any] = []
    agent = Agent(scripted(None, [(name, {"query": "tea"})], "done"), name="helper", toolsets=[wrap(_toolset(calls))])
    with recorder() as seen:
        go(way, agent)
    assert [op.name for op in seen.operations if op.kind == "tool.execute"] == [name]
    assert calls == ["tea"]
    with recorder(refusing("tool.execute")):
        go(way, agent)
    assert calls == ["tea"]


class Editing(WrapperToolset[Any]):
    """A toolset that passes on what it has edited in place."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        tool_args["query"] = "milk"
        return await super().call_tool(name, tool_args, ctx, tool)


@all_ways
def test_what_a_toolset_has_edited_in_place_is_asked_about_again(way: Way) -> None:
    calls, seen, hooks = list[Any](), list[Any](), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        seen.append(op.request.arguments["query"])
        if seen[-1] == "milk":
            raise Reject("not today")

    toolset = PrefixedToolset(Editing(_toolset(calls)), "look")
    agent = Agent(scripted(None, [("look_up", {"query": "tea"})], "done"), name="helper", toolsets=[toolset])
    with recorder(hooks):
        go(way, agent)
    assert (seen, calls) == (["tea", "milk"], [])


def test_a_tool_that_calls_another_toolset_makes_two_calls() -> None:
    calls: list[Any] = []
    inner = _toolset(calls)
    agent = Agent(scripted(None, [("work", {})], "done"), name="helper")

    @agent.tool
    async def work(context: RunContext[Any]) -> Any:
        """Do some work."""
        tool = (await inner.get_tools(context))["up"]
        return await inner.call_tool("up", {"query": "tea"}, context, tool)

    with recorder() as seen:
        go(run, agent)
    assert [op.name for op in seen.operations if op.kind == "tool.execute"] == ["up", "work"]
