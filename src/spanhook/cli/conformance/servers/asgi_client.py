"""A client that calls an ASGI application in its own process, as a server would."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

Message = MutableMapping[str, Any]
App = Callable[[Any, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


async def ask(
    app: App, path: str, *, method: str = "POST", headers: dict[str, str], body: bytes = b""
) -> tuple[int, list[bytes]]:
    """Send a request; returns the status, and the pieces of the response's body."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [*raw, (b"content-length", str(len(body)).encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    status, pieces, sent = 0, list[bytes](), False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await anyio.sleep_forever()  # the client stays
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message.get("body"):
            pieces.append(bytes(message["body"]))

    await app(scope, receive, send)
    return status, pieces
