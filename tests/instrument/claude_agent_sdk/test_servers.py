"""Servers of tools in this process: gated once, whatever else is bound, and answered in their place."""

from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject, current_operation
from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import sdk
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder

from .scripted import Script, ask, nested, statuses, use

PATIENCE = 30.0
NAME = "mcp__here__add"


class Adding:
    """A tool that adds."""

    def __init__(self) -> None:
        self.given, self.inside = list[Any](), list[str]()

        @sdk.tool("add", "Add two numbers.", {"first": int, "second": int})
        async def add(args: dict[str, Any]) -> dict[str, Any]:
            op = current_operation()
            self.given.append(args)
            self.inside.append("" if op is None else f"{op.kind} {op.name}")
            return {"content": [{"type": "text", "text": str(args["first"] + args["second"])}]}

        self.servers = {"here": sdk.create_sdk_mcp_server("here", tools=[add])}


def calling(*numbers: tuple[int, int]) -> Script:
    calls = [use(NAME, f"toolu_{place}", first=one, second=two) for place, (one, two) in enumerate(numbers)]
    return Script(Reply(calls=tuple(calls)))


@pytest.mark.parametrize("libraries", [("claude_agent_sdk", "mcp"), ("claude_agent_sdk",)], ids=["both", "alone"])
def test_gated_once(libraries: tuple[str, ...]) -> None:
    hooks, asked, adding = Hooks(), list[str](), Adding()
    hooks.before("tool.execute", timeout=PATIENCE)(lambda op: asked.append(op.name))
    line = calling((2, 3))
    with recorder(hooks, only=libraries) as seen:
        ask(line, mcp_servers=adding.servers, tools=[])
    assert asked == [NAME]
    assert line.told("toolu_0") == "5"
    assert statuses(seen, "tool.execute") == ["success"]
    (turn,) = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert turn.usage.tool_calls == 1
    if "mcp" in libraries:
        assert adding.inside == [f"tool.execute {NAME}"]


@pytest.mark.parametrize("name", ["add", NAME])
def test_hooks_know_it_by_both_names(name: str) -> None:
    hooks, adding = Hooks(), Adding()

    @hooks.before("tool.execute", names={name}, timeout=PATIENCE)
    def refuse(_op: Operation) -> None:
        raise Reject("no sums")

    line = calling((2, 3))
    with recorder(hooks):
        ask(line, mcp_servers=adding.servers, tools=[])
    assert adding.given == []
    assert "no sums" in line.told("toolu_0")


def test_rewritten_answered_and_replaced() -> None:
    hooks, adding = Hooks(), Adding()

    @hooks.before("tool.execute", timeout=PATIENCE)
    def decide(op: Operation) -> None:
        first = op.request.arguments["first"]
        if first == 1:
            op.replace(arguments={"first": 100, "second": 1})
        elif first == 2:
            op.respond("two is known")

    @hooks.after("tool.execute", timeout=PATIENCE)
    def replace(op: Operation) -> None:
        if op.request.arguments["first"] == 3:
            op.respond("three is secret")

    line = calling((1, 1), (2, 2), (3, 3))
    with recorder(hooks) as seen:
        ask(line, mcp_servers=adding.servers, tools=[])
    assert [line.told(f"toolu_{place}") for place in range(3)] == ["101", "two is known", "three is secret"]
    assert sorted(one["first"] for one in adding.given) == [3, 100]
    assert statuses(seen, "tool.execute") == ["success"] * 3


def test_what_a_tool_calls_is_inside_of_it() -> None:
    @spanhook.tool
    async def inner(number: int) -> int:
        return number

    @sdk.tool("outer", "Call another.", {"number": int})
    async def outer(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(await inner(args["number"]))}]}

    servers = {"here": sdk.create_sdk_mcp_server("here", tools=[outer])}
    with recorder(Hooks()) as seen:
        ask(Script(Reply(calls=(use("mcp__here__outer", number=1),))), mcp_servers=servers, tools=[])
    assert ("execute_tool inner", "execute_tool mcp__here__outer") in nested(seen)


def test_a_refusal_of_the_run_by_a_tool_in_this_process() -> None:
    hooks, adding = Hooks(), Adding()

    @hooks.after("tool.execute", timeout=PATIENCE, priority=50)
    def refuse(_op: Operation) -> None:
        raise Reject("stop", scope="run")

    line = calling((2, 3))
    with recorder(hooks), pytest.raises(Reject, match="stop"):
        ask(line, mcp_servers=adding.servers, tools=[])
    assert len(line) == 1
