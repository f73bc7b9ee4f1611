"""Tools that call other tools in their own context, with their own arguments."""

from contextlib import suppress
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import go, refusing, run, scripted, told


@pytest.mark.parametrize("given", [{}, {"path": "a"}])
def test_a_tool_that_calls_another_in_its_own_context(given: dict[str, str]) -> None:
    ran: list[str] = []
    inner: FunctionToolset[Any] = FunctionToolset()

    @inner.tool
    def delete(_context: RunContext[Any], path: str = "") -> str:
        """Delete something."""
        ran.append(path)
        return "deleted"

    agent = Agent(scripted(None, [("clean", given)], "done"), name="helper")

    @agent.tool
    async def clean(context: RunContext[Any], path: str = "") -> str:
        """Clean up."""
        found = (await inner.get_tools(context))["delete"]
        return await inner.call_tool("delete", {"path": path} if path else {}, context, found)

    with recorder() as seen:
        go(run, agent)
    assert [name for kind, name, _ in told(seen) if kind == "tool.execute"] == ["delete", "clean"]
    with recorder(refusing("tool.execute", names={"delete"})), suppress(Exception):
        go(run, agent)
    assert len(ran) == 1


class Dispatching(AbstractToolset[Any]):
    """A toolset whose tool is done by another tool."""

    def __init__(self, asked: FunctionToolset[Any], done: FunctionToolset[Any]) -> None:
        self.asked, self.done = asked, done

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> Any:
        return await self.asked.get_tools(ctx)

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: Any) -> Any:
        found = (await self.done.get_tools(ctx))["delete"]
        return await self.done.call_tool("delete", tool_args, ctx, found)


def test_a_toolset_that_calls_another_tool() -> None:
    body = Body()

    def clean(path: str) -> None:
        """Clean up."""

    def delete(path: str) -> None:
        """Delete something."""
        body.run(path)

    toolset = Dispatching(FunctionToolset([clean]), FunctionToolset([delete]))
    agent = Agent(scripted(None, [("clean", {"path": "a"})], "done"), name="helper", toolsets=[toolset])
    with recorder(refusing("tool.execute", names={"delete"})) as seen, suppress(Exception):
        go(run, agent)
    assert [name for kind, name, _ in told(seen) if kind == "tool.execute"] == ["delete", "clean"]
    assert body.runs == 0
