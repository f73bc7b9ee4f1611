"""Ways of asking servers of the MCP SDK, over every transport, by a client that is not the SDK's.

A server's tool, resource and prompt count the runs of a body. Messages are written and read as they are on the wire.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from spanhook.cli.conformance.libraries.mcp_clients import ASKED
from spanhook.cli.conformance.libraries.mcp_versions import (
    FIRST,
    as_json,
    as_message,
    http_app,
    low_level_server,
    run_server,
    served,
    tool_server,
)
from spanhook.cli.conformance.servers.asgi import running
from spanhook.cli.conformance.servers.mcp_server import FOUND, PROMPT, TOOL, URI
from spanhook.cli.conformance.subject import Body, Query, Use

Json = dict[str, Any]
Exchange = Callable[[Json], Awaitable[Json]]
"""Sends a request, and waits for the answer."""
_MODERN = "2026-07-28"
_HANDSHAKE: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "conformance", "version": "1"},
}
ENVELOPE: Json = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": _HANDSHAKE["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What every request of this version carries, in place of a handshake."""

CALL: tuple[str, Json] = ("tools/call", {"name": TOOL, "arguments": {"query": ASKED}})
READ: tuple[str, Json] = ("resources/read", {"uri": URI})
GET: tuple[str, Json] = ("prompts/get", {"name": PROMPT, "arguments": {"name": ASKED}})


# ----------------------------------------------------------------------------------------------- servers


def of_functions(body: Body) -> Any:
    """A server whose tool, resource and prompt are functions."""
    server = tool_server("conformance")

    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    def read(name: str) -> str:
        body.run(name)
        return FOUND

    def greet(name: str) -> str:
        body.run(name)
        return FOUND

    server.tool(name=TOOL)(look_up)
    server.resource("doc://{name}")(read)
    server.prompt(name=PROMPT)(greet)
    return server


def of_handlers(body: Body) -> Any:
    """A server whose requests are answered by handlers of one's own."""
    return low_level_server(TOOL, lambda given: (body.run(given), FOUND)[1])


# ----------------------------------------------------------------------------------------------- transports


@asynccontextmanager
async def memory(server: Any) -> AsyncGenerator[Exchange]:
    """Within the process."""
    async with served(server) as (read, write):

        async def exchange(message: Json) -> Json:
            await write.send(as_message(message))
            return as_json(await read.receive()) if "id" in message else {}

        yield exchange


@asynccontextmanager
async def pipes(server: Any) -> AsyncGenerator[Exchange]:
    """Over pipes, as a child process is served."""
    (theirs, ours), (from_it, its) = os.pipe(), os.pipe()
    reader, writer = os.fdopen(from_it, encoding="utf-8"), os.fdopen(ours, "w", encoding="utf-8")
    stdin, stdout = os.fdopen(theirs, encoding="utf-8"), os.fdopen(its, "w", encoding="utf-8")

    async def serve() -> None:
        async with stdio_server(anyio.wrap_file(stdin), anyio.wrap_file(stdout)) as (read, write):
            await run_server(server, read, write)

    async def exchange(message: Json) -> Json:
        writer.write(json.dumps(message) + "\n")
        writer.flush()
        return json.loads(await anyio.to_thread.run_sync(reader.readline)) if "id" in message else {}

    with reader, stdin, stdout, writer:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            yield exchange
            writer.close()


def http(*, stateless: bool) -> Callable[[Any], AbstractAsyncContextManager[Exchange]]:
    """Streamable HTTP."""

    @asynccontextmanager
    async def opened(server: Any) -> AsyncGenerator[Exchange]:
        session: dict[str, str] = {}
        async with running(http_app(server, stateless=stateless)) as port:

            async def exchange(message: Json) -> Json:
                headers, said = await _post(port, message, session)
                if "mcp-session-id" in headers:
                    session["mcp-session-id"] = headers["mcp-session-id"]
                return said

            yield exchange

    return opened


async def _post(port: int, message: Json, more: dict[str, str]) -> tuple[dict[str, str], Json]:
    """Send one message over a connection of its own; returns the headers and the message in the answer."""
    given = json.dumps(message)
    params: Json = message.get("params") or {}
    if _MODERN in str(params.get("_meta")):
        name = str(params.get("name") or params.get("uri"))
        more = {"mcp-protocol-version": _MODERN, "mcp-method": message["method"], "mcp-name": name}
    head = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(given.encode())),
        "Connection": "close",
        **more,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"POST /mcp HTTP/1.1\r\n{lines}\r\n{given}".encode())
        told = (await reader.read()).decode()
    finally:
        writer.close()
    head_lines, _, rest = told.partition("\r\n\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head_lines.splitlines()[1:])}
    found = [line for line in rest.splitlines() if line.startswith(("data: {", "{"))]
    return headers, json.loads(found[-1].removeprefix("data: ")) if found else {}


# ----------------------------------------------------------------------------------------------- ways


def asked(
    make: Callable[[Body], Any],
    transport: Callable[[Any], AbstractAsyncContextManager[Exchange]],
    request: tuple[str, Json],
    meta: Json | None = None,
    *,
    greets: bool = True,
) -> Use:
    """A connection to a server, and one request.

    Args:
        make: Makes the server.
        transport: Connects to it.
        request: The method and its ``params``.
        meta: What comes with it.
        greets: Whether there is a handshake first.
    """

    async def use(body: Body) -> Json:
        method, params = request
        async with transport(make(body)) as exchange:
            if greets:
                await exchange({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HANDSHAKE})
                await exchange({"jsonrpc": "2.0", "method": "notifications/initialized"})
            given = {**params, "_meta": meta} if meta else params
            return await exchange({"jsonrpc": "2.0", "id": 1, "method": method, "params": given})

    return use


_FIRST_HTTP, _STATELESS = http(stateless=False), http(stateless=True)


def ways(request: tuple[str, Json]) -> dict[str, Use]:
    """Every way of asking for one thing."""
    found = {
        "memory": asked(of_functions, memory, request),
        "stdio": asked(of_functions, pipes, request),
        "http": asked(of_functions, _FIRST_HTTP, request),
        "http, stateless": asked(of_functions, _STATELESS, request, greets=False),
    }
    if not FIRST:
        found["memory, 2026-07-28"] = asked(of_functions, memory, request, ENVELOPE, greets=False)
        found["http, 2026-07-28"] = asked(of_functions, _STATELESS, request, ENVELOPE, greets=False)
    return found


LACKING = ("memory, 2026-07-28", "http, 2026-07-28") if FIRST else ()
"""Ways that version 1 lacks."""
HANDLERS: dict[str, Use] = {"memory": asked(of_handlers, memory, CALL)}


async def directly(body: Body) -> Any:
    """Call a tool from within the server's process, without a request."""
    return await of_functions(body).call_tool(TOOL, {"query": ASKED})
