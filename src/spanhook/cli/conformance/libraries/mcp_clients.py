"""Ways of calling with clients of the MCP SDK, over every transport, to a server that is not the SDK's."""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache, partial
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client, types

from spanhook.cli.conformance.libraries.mcp_versions import (
    FIRST,
    as_json,
    as_message,
    http_transport,
    session_over,
    streams,
    wrapped,
)
from spanhook.cli.conformance.servers.mcp_server import (
    BRIDGE,
    PROMPT,
    TOOL,
    URI,
    answer,
    http_port,
    lines_port,
    named,
)
from spanhook.cli.conformance.subject import Body, Use

ASKED = "the long way home"
Transport = Callable[[Body], AbstractAsyncContextManager[Any]]
"""Opens a transport to the server; gives its streams."""
Ask = Callable[[Any], Awaitable[Any]]
"""Sends one request."""

# ----------------------------------------------------------------------------------------------- transports


@asynccontextmanager
async def memory(body: Body) -> AsyncGenerator[tuple[Any, Any]]:
    """Within the process."""

    async def reply(write: Any, message: dict[str, Any]) -> None:
        said = await anyio.to_thread.run_sync(answer, message, body, abandon_on_cancel=True)
        if said is not None:
            await write.send(as_message(said))

    async def serve(read: Any, write: Any) -> None:
        async with anyio.create_task_group() as tasks:
            async for message in read:
                tasks.start_soon(reply, write, as_json(message))

    async with streams() as (client, (read, write)), anyio.create_task_group() as tasks:
        tasks.start_soon(serve, read, write)
        yield client
        tasks.cancel_scope.cancel()


@cache
def _http_port() -> int:
    return http_port()


@cache
def _lines_port() -> int:
    return lines_port()


def http(body: Body) -> AbstractAsyncContextManager[Any]:
    """Streamable HTTP."""
    return http_transport(f"http://127.0.0.1:{_http_port()}/mcp/{named(body)}")


def stdio(body: Body) -> AbstractAsyncContextManager[Any]:
    """A child process."""
    arguments = ["-I", "-S", "-c", BRIDGE, str(_lines_port()), named(body)]
    return stdio_client(StdioServerParameters(command=sys.executable, args=arguments))


# ----------------------------------------------------------------------------------------------- requests


def call_tool(session: Any) -> Awaitable[Any]:
    return session.call_tool(TOOL, {"query": ASKED})


def send_tool(session: Any) -> Awaitable[Any]:
    params = types.CallToolRequestParams(name=TOOL, arguments={"query": ASKED})
    return session.send_request(wrapped(types.CallToolRequest(params=params)), types.CallToolResult)


def read_resource(session: Any) -> Awaitable[Any]:
    return session.read_resource(URI)


def send_read(session: Any) -> Awaitable[Any]:
    params: Any = types.ReadResourceRequestParams.model_validate({"uri": URI})
    return session.send_request(wrapped(types.ReadResourceRequest(params=params)), types.ReadResourceResult)


def get_prompt(session: Any) -> Awaitable[Any]:
    return session.get_prompt(PROMPT, {"name": ASKED})


def send_get(session: Any) -> Awaitable[Any]:
    params = types.GetPromptRequestParams(name=PROMPT, arguments={"name": ASKED})
    return session.send_request(wrapped(types.GetPromptRequest(params=params)), types.GetPromptResult)


# ----------------------------------------------------------------------------------------------- ways


def over(transport: Transport, ask: Ask) -> Use:
    """A session over a transport, and one request."""

    async def use(body: Body) -> Any:
        async with transport(body) as found, session_over(*found) as session:
            outcome = await _outcome(ask(session))
        return outcome()

    return use


async def _outcome(asked: Awaitable[Any]) -> Callable[[], Any]:
    """How a request ended, to return or to raise outside of the connection: it would put an exception in a group."""
    try:
        result = await asked
    except Exception as error:
        return partial(_raise, error)
    return lambda: result


def _raise(error: Exception) -> Any:
    raise error


def with_client(transport: Any, ask: Ask, **options: Any) -> Use:
    """The client of version 2, and one request."""

    async def use(body: Body) -> Any:
        from mcp import Client  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]

        made: Any = Client
        async with made(transport(body), **options) as client:
            outcome = await _outcome(ask(client))
        return outcome()

    return use


def kept(name: str, *given: Any) -> Callable[[Body], Callable[[], Any]]:
    """A method taken from its class before hooks are active."""

    def take(body: Body) -> Callable[[], Any]:
        method = getattr(ClientSession, name)
        return lambda: over(memory, lambda session: method(session, *given))(body)

    return take


_MODERN: dict[str, Any] = {"mode": "2026-07-28"}


def ways(named_call: Ask, sent: Ask, *, every: bool = False) -> dict[str, Use]:
    """Every way of sending one sort of request; if not ``every``, without those that take long."""
    found = {
        "session, memory": over(memory, named_call),
        "session, http": over(http, named_call),
        "send_request, memory": over(memory, sent),
        "send_request, http": over(http, sent),
    }
    if every:
        found["session, stdio"] = over(stdio, named_call)
    if not FIRST:
        found["client, memory"] = with_client(memory, named_call)
        found["client, http"] = with_client(http, named_call)
        found["client, http, 2026-07-28"] = with_client(http, named_call, **_MODERN)
    return found


LACKING = ("client, memory", "client, http", "client, http, 2026-07-28") if FIRST else ()
"""Ways that version 1 lacks."""
