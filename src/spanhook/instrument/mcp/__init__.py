"""The Model Context Protocol's SDK: calls of tools, reads of resources and prompts, by clients and by servers.

A client's points are the methods that an application calls, and the one that they all end in. A server's are where a
request is answered, whoever put the handler there, and where a tool's function is called. Version 2 rewrote both sides.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Lookup, Outlet, Point, Receiver

_HERE = "spanhook.instrument.mcp"


def _client(module: str, name: str, adapter: str, *, optional: bool = False) -> Point:
    return Point(
        module=module, name=name, adapter=f"{_HERE}.client:{adapter}", mode="async", overrides=True, optional=optional
    )


def _tool(module: str) -> Point:
    return Point(
        module=f"mcp.server.{module}.tools.base",
        name="Tool.run",
        adapter=f"{_HERE}.functions:RUN",
        mode="async",
        overrides=True,
        optional=True,
    )


def _function(package: str, name: str, *, around: str = "") -> Receiver:
    return Receiver(
        module=f"mcp.server.{package}.utilities.func_metadata",
        name=f"FuncMetadata.{name}",
        receipt=f"{_HERE}.tool_bodies:FUNCTION",
        wanted="spanhook.instrument.receivers:tools",
        around=f"{_HERE}.tool_bodies:{around}" if around else "",
        optional=True,
    )


class MCPInstrumentor(Instrumentor):
    """Points of ``mcp``."""

    library = "mcp"
    kinds = frozenset(("tool.execute", "mcp.resource.read", "mcp.prompt.get"))
    table = (
        _client("mcp.client.session", "ClientSession.call_tool", "CALL_TOOL"),
        Point(
            module="mcp.client.session",
            name="ClientSession.send_request",
            adapter=f"{_HERE}.client:SEND_TOOL",
            choose=f"{_HERE}.client:choose",
            mode="async",
            overrides=True,
        ),
        # From version 2 on; a call of these may take several requests.
        _client("mcp.client.client", "Client.call_tool", "CALL_TOOL", optional=True),
        _client("mcp.client.client", "Client.read_resource", "READ_RESOURCE", optional=True),
        _client("mcp.client.client", "Client.get_prompt", "GET_PROMPT", optional=True),
        Outlet(
            module="mcp.client.caching",
            name="ClientResponseCache.write",
            wanted="spanhook.instrument.caches:always",
            hold="spanhook.instrument.caches:ahold",
            is_async=True,
            optional=True,
        ),
        Point(
            module="mcp.server.runner",
            name="ServerRunner._on_request",
            adapter=f"{_HERE}.server:TOOL",
            choose=f"{_HERE}.server:choose",
            arrival=f"{_HERE}.server:arrival",
            mode="async",
            overrides=True,
            optional=True,
        ),
        Lookup(
            module="mcp.server.lowlevel.server",
            name="Server._handle_request",
            table="request_handlers",
            find=f"{_HERE}.handlers:find",
            arrival=f"{_HERE}.handlers:arrival",
            optional=True,  # up to version 1
        ),
        _tool("fastmcp"),
        _tool("mcpserver"),
        _function("fastmcp", "call_fn_with_arg_validation", around="call_validating"),
        _function("mcpserver", "call_fn"),
    )
