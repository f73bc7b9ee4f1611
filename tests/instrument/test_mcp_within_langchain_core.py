"""Tools of a framework that call MCP servers: one operation, which the client's call is the transport of."""

from typing import Any

import anyio
import pytest
from langchain_core.tools import BaseTool, StructuredTool
from mcp import ClientSession

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.testing import recorder
from tests.instrument.mcp.parts import Shop, connected, said


def _tool(session: ClientSession, *, asks: str = "search") -> BaseTool:
    """A tool as adapters make one for each tool of a server."""

    async def search(query: str) -> str:
        return said(await session.call_tool(asks, {"query": query}))

    return StructuredTool.from_function(coroutine=search, name="search", description="Search.")


def _invoked(hooks: Hooks | None = None, *, asks: str = "search", refused: bool = False) -> tuple[Any, Shop]:
    shop = Shop()

    async def main() -> None:
        async with connected(shop) as session:
            tool = _tool(session, asks=asks)
            async with spanhook.operation("agent.invoke", "Bo"):
                if refused:
                    with pytest.raises(Reject, match="no"):
                        await tool.ainvoke({"query": "x"})
                else:
                    await tool.ainvoke({"query": "x"})

    with recorder(hooks) as seen:
        anyio.run(main)
        return seen.operations, shop


def test_the_client_s_call_is_the_tool_s_transport() -> None:
    hooks, told = Hooks(), list[str]()
    hooks.before("tool.execute")(lambda op: told.append(f"{op.name} in {op.parent and op.parent.kind}"))
    operations, shop = _invoked(hooks)
    assert told == ["search in agent.invoke", "search in tool.execute"]  # the server's is gated on its own
    assert [(op.kind, op.name) for op in operations] == [
        ("tool.execute", "search"),
        ("tool.execute", "search"),
        ("agent.invoke", "Bo"),
    ]
    assert (operations[-1].usage.tool_calls, shop.ran) == (1, ["x"])


def test_a_refused_tool_sends_nothing() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    operations, shop = _invoked(hooks, refused=True)
    assert ([op.status for op in operations if op.kind == "tool.execute"], shop.ran) == (["rejected"], [])


def test_what_a_hook_rewrites_is_the_transport_s_too() -> None:
    hooks, told = Hooks(), list[str]()

    @hooks.before("tool.execute")
    def rewrite(op: Operation) -> None:
        told.append(op.name)
        if op.parent is not None and op.parent.kind == "agent.invoke":
            op.replace(arguments={"query": "y"})

    operations, shop = _invoked(hooks)
    assert (len(told), operations[-1].usage.tool_calls, shop.ran) == (2, 1, ["y"])


def test_another_tool_of_the_server_is_an_operation_of_its_own() -> None:
    operations, shop = _invoked(asks="count")
    assert [op.name for op in operations] == ["count", "count", "search", "Bo"]
    assert (operations[-1].usage.tool_calls, shop.ran) == (2, ["x"])
