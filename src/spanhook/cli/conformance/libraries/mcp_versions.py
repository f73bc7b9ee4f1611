"""What differs between the versions of the MCP SDK: names, and what is told by position."""

import importlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import ClientSession, types
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES

_TYPES: Any = types
FIRST = "isError" in types.CallToolResult.model_fields
"""Whether this is version 1."""


def as_json(message: SessionMessage) -> dict[str, Any]:
    """A message as it is written on the wire."""
    found: Any = message.message
    return found.model_dump(by_alias=True, mode="json", exclude_none=True)


def as_message(told: dict[str, Any]) -> SessionMessage:
    """A message from what is written on the wire."""
    if FIRST:
        return SessionMessage(_TYPES.JSONRPCMessage.model_validate(told))
    return SessionMessage(_TYPES.jsonrpc_message_adapter.validate_python(told))


def wrapped(request: Any) -> Any:
    """A request as a session sends it."""
    return _TYPES.ClientRequest(request) if FIRST else request


def tool_server(name: str) -> Any:
    """A server that makes tools of functions. It does not log their errors: it would take a second to lay each out."""
    if FIRST:
        from mcp.server.fastmcp import FastMCP  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]

        return FastMCP(name, log_level="CRITICAL")  # pyright: ignore[reportUnknownVariableType]
    from mcp.server.mcpserver import MCPServer

    return MCPServer(name, log_level="CRITICAL")


def low_level_server(tool: str, run: Callable[[Any], str]) -> Any:
    """A server with a handler of its own for calls of its one tool."""
    from mcp.server import Server

    made: Any = Server
    if not FIRST:

        async def on_call(_context: Any, params: Any) -> Any:
            return types.CallToolResult(content=[types.TextContent(type="text", text=run(params.arguments["query"]))])

        return made("conformance", on_call_tool=on_call)
    server = made("conformance")

    @server.list_tools()
    async def list_tools() -> list[Any]:
        schema = {"type": "object", "properties": {"query": {"type": "string"}}}
        return [types.Tool.model_validate({"name": tool, "inputSchema": schema})]

    @server.call_tool()
    async def call_tool(_name: str, arguments: dict[str, Any]) -> list[Any]:
        return [types.TextContent(type="text", text=run(arguments["query"]))]

    return server


def http_app(server: Any, *, stateless: bool) -> Any:
    """The application that serves a server of functions over HTTP."""
    if not FIRST:
        return server.streamable_http_app(stateless_http=stateless, json_response=stateless)
    server.settings.stateless_http = server.settings.json_response = stateless
    return server.streamable_http_app()


def low_level(server: Any) -> Any:
    """The server that a server of functions is built on."""
    return server._mcp_server if FIRST else server._lowlevel_server


def streams() -> Any:
    """Two ends of a connection within the process, each with a stream to read and one to write."""
    return create_client_server_memory_streams()


@asynccontextmanager
async def http_transport(url: str) -> AsyncGenerator[Any]:
    """The transport over HTTP, with a client that does not read the machine's certificates, which takes 100 ms."""
    http: Any = importlib.import_module("httpx" if FIRST else "httpx2")
    module: Any = importlib.import_module("mcp.client.streamable_http")
    options: dict[str, Any] = {"verify": NO_CERTIFICATES, "timeout": 60}

    def client_of(**given: Any) -> Any:
        return http.AsyncClient(**{**given, **options})

    if not hasattr(module, "streamable_http_client"):  # before version 1.24
        async with module.streamablehttp_client(url, httpx_client_factory=client_of) as found:
            yield found
        return
    async with http.AsyncClient(**options) as client, module.streamable_http_client(url, http_client=client) as found:
        yield found


@asynccontextmanager
async def session_over(read: Any, write: Any, *_more: Any) -> AsyncGenerator[ClientSession]:
    """A session that has been initialized."""
    async with ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def run_server(server: Any, read: Any, write: Any) -> None:
    """Serve one connection."""
    low = low_level(server) if hasattr(server, "tool") else server
    await low.run(read, write, low.create_initialization_options())


@asynccontextmanager
async def served(server: Any) -> AsyncGenerator[tuple[Any, Any]]:
    """The client's end of a connection to a server of the SDK's, within the process."""
    async with streams() as (client, (read, write)), anyio.create_task_group() as tasks:
        tasks.start_soon(run_server, server, read, write)
        yield client
        tasks.cancel_scope.cancel()
