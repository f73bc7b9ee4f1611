"""An HTTP server for one application in the event loop of the test, which is up and down at once.

A connection serves one request, and is closed after it.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

Headers = list[tuple[bytes, bytes]]


@asynccontextmanager
async def running(app: Any) -> AsyncGenerator[int]:
    """The port of a server of ``app``, a Starlette application, while the block runs."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await _answer(app, reader, writer)
        writer.close()

    async with app.router.lifespan_context(app):
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[1]


async def _answer(app: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    method, target, _ = first.split(b" ")
    headers: Headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    body = await reader.readexactly(int(dict(headers).get(b"content-length", 0)))
    path, _, query = target.partition(b"?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method.decode(),
        "scheme": "http",
        "path": path.decode(),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": writer.get_extra_info("peername"),
        "server": writer.get_extra_info("sockname"),
    }
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if given:
            return given.pop()
        await reader.read()  # until the client is gone
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            told = b"".join(b"%s: %s\r\n" % pair for pair in message.get("headers", ()))
            writer.write(b"HTTP/1.1 %d -\r\n%sconnection: close\r\n\r\n" % (message["status"], told))
        else:
            writer.write(message.get("body", b""))
            await writer.drain()
            if not message.get("more_body"):
                writer.write_eof()

    await app(scope, receive, send)
