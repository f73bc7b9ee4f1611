"""Agents whose tools are an MCP server's: the SDK's tool is one operation, which the client's call is the transport of."""

import json
from typing import Any

import anyio
from agents import Agent, Runner
from agents.mcp import MCPServer
from mcp import ClientSession

from spanhook import Hooks, Operation, Reject
from spanhook.testing import recorder
from tests.instrument.mcp.parts import Shop, connected
from tests.instrument.openai_agents.scripted import scripted


class Connected(MCPServer):
    """A server that is reached over a session of MCP's own SDK."""

    def __init__(self, session: ClientSession) -> None:
        super().__init__()
        self._session = session

    @property
    def name(self) -> str:
        return "shop"

    async def connect(self) -> None: ...
    async def cleanup(self) -> None: ...
    async def list_tools(self, run_context: Any = None, agent: Any = None) -> Any:
        return (await self._session.list_tools()).tools

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:
        return await self._session.call_tool(tool_name, arguments)

    async def list_prompts(self) -> Any: ...
    async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...


def ran(hooks: Hooks | None = None) -> tuple[Any, Shop]:
    shop = Shop()
    call: Any = [("search", json.dumps({"query": "x"}))]

    async def main() -> None:
        async with connected(shop) as session:
            agent = Agent(name="helper", model=scripted(None, call, "done"), mcp_servers=[Connected(session)])
            await Runner.run(agent, "hi")

    with recorder(hooks) as seen:
        anyio.run(main)
        return seen.operations, shop


def test_it_is_counted_once() -> None:
    hooks, told = Hooks(), list[str]()
    hooks.before("tool.execute")(lambda op: told.append(f"{op.name} in {op.parent and op.parent.kind}"))
    operations, shop = ran(hooks)
    assert told == ["search in agent.invoke", "search in tool.execute"]  # the server's is gated on its own
    assert (operations[-1].usage.tool_calls, shop.ran) == (1, ["x"])


def test_a_refused_one_sends_nothing() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    operations, shop = ran(hooks)
    assert ([op.status for op in operations if op.kind == "tool.execute"], shop.ran) == (["rejected"], [])
