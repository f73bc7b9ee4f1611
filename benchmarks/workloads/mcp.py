"""A tool of an MCP server, called by a client in the same process over streams in memory."""

import asyncio
import importlib
from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession, types
from mcp.shared.memory import create_client_server_memory_streams

from benchmarks.workloads import Operation

_IS_FIRST = "isError" in types.CallToolResult.model_fields
"""Whether this is version 1 of the SDK."""


def _server() -> Any:
    path = "mcp.server.fastmcp:FastMCP" if _IS_FIRST else "mcp.server.mcpserver:MCPServer"
    module, _, name = path.partition(":")
    server = getattr(importlib.import_module(module), name)("sums")

    @server.tool()
    def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Add numbers."""
        return a + b

    return server._mcp_server if _IS_FIRST else server._lowlevel_server


def call() -> Operation:
    """A call over a connection that the first call opens."""
    server, opened = _server(), AsyncExitStack()
    connection: list[Any] = []

    async def connect() -> ClientSession:
        here, there = await opened.enter_async_context(create_client_server_memory_streams())
        connection.append(asyncio.create_task(server.run(*there, server.create_initialization_options())))
        session = await opened.enter_async_context(ClientSession(*here))
        await session.initialize()
        connection.append(session)
        return session

    async def operation() -> None:
        session = connection[-1] if connection else await connect()
        result: Any = await session.call_tool("add", {"a": 40, "b": 2})
        assert result.content[0].text == "42", result

    return operation
