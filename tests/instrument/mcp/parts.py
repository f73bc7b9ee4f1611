"""What the tests of MCP's SDK share: servers, and clients that are connected to them."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import ClientSession, types

import spanhook
from spanhook.cli.conformance.libraries.mcp_clients import http, memory
from spanhook.cli.conformance.libraries.mcp_servers import Exchange
from spanhook.cli.conformance.libraries.mcp_versions import FIRST, served, session_over, tool_server
from spanhook.cli.conformance.subject import Body

TYPES: Any = types


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine function to its end."""
    return anyio.run(main)


class Shop:
    """A server with several tools, a resource and a prompt, which counts what runs."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.server = tool_server("shop")
        self.server.tool()(self.search)
        self.server.tool()(self.count)
        self.server.tool()(self.summarize)
        self.server.tool()(self.wait)
        self.server.tool()(self.twice)
        self.server.resource("doc://{name}")(self.read)
        self.server.prompt()(self.greet)
        self.started = anyio.Event()

    def search(self, query: str) -> str:
        """Search."""
        self.ran.append(query)
        if query == "bad":
            raise ValueError("the secret is out")
        return f"found {query}"

    def count(self, query: str) -> dict[str, int]:
        """Count."""
        self.ran.append(query)
        return {query: 3}

    async def summarize(self, query: str) -> str:
        """Ask a model."""
        self.ran.append(query)
        async with spanhook.operation("llm.call", "m", request={"messages": [query]}) as op:
            op.record_usage(input_tokens=5, output_tokens=2)
        return "short"

    async def wait(self, query: str) -> str:
        """Wait for ever."""
        self.ran.append(query)
        self.started.set()
        await anyio.sleep_forever()
        return query

    async def twice(self, query: str) -> str:
        """Use another tool of this server."""
        self.ran.append(f"twice {query}")
        return str(await self.server.call_tool("search", {"query": query}))

    def read(self, name: str) -> str:
        self.ran.append(name)
        return f"this is {name}"

    def greet(self, name: str) -> str:
        self.ran.append(name)
        return f"Say hello to {name}"


@asynccontextmanager
async def connected(shop: Shop) -> AsyncGenerator[ClientSession]:
    """A session with a server in the same process."""
    async with served(shop.server) as (read, write), session_over(read, write) as session:
        yield session


def use(body: Body, ask: Callable[[ClientSession], Awaitable[Any]], *, over: Any = memory) -> Any:
    """Ask the server that is not the SDK's."""

    async def main() -> Any:
        outcome: Any = None
        async with over(body) as found, session_over(*found) as session:
            try:
                outcome = await ask(session)
            except Exception as error:
                outcome = error
        return outcome

    made = run(main)
    if isinstance(made, Exception):
        raise made
    return made


OVER_HTTP = http

# The SDK's own HTTP servers of older versions leave streams open.
LEAKS = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <function MemoryObject:pytest.PytestUnraisableExceptionWarning"
)


def is_error(result: Any) -> bool:
    """Whether a tool's result says that it failed."""
    return bool(getattr(result, "isError" if FIRST else "is_error"))


def structured(result: Any) -> Any:
    """The structured part of a tool's result."""
    return getattr(result, "structuredContent" if FIRST else "structured_content")


def said(result: Any) -> str:
    """The text of a result of any sort."""
    contents = getattr(result, "content", None) or getattr(result, "contents", None)
    if contents is None:
        contents = [message.content for message in result.messages]
    return "".join(one.text for one in contents)


async def asked(exchange: Exchange, method: str, number: int = 1, **params: Any) -> dict[str, Any]:
    """One request over a connection that has greeted."""
    return await exchange({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


async def greeted(exchange: Exchange) -> None:
    """Begin a connection."""
    client = {"name": "tests", "version": "2"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    await exchange({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    await exchange({"jsonrpc": "2.0", "method": "notifications/initialized"})


def text_in(answer: dict[str, Any]) -> str:
    """What an answer says, whatever it is about."""
    return json.dumps(answer.get("result", answer.get("error")))
