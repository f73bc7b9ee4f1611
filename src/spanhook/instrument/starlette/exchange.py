"""One request and its response, between the application and its server: an operation from its gates to its last byte.

A response that comes in one piece is held until hooks have decided about it; one that comes in several passes as it is.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.exceptions import HTTPException

from spanhook.errors import HookError
from spanhook.instrument.starlette.incoming import Incoming, Raw, Scope, read, written
from spanhook.instrument.starlette.requests import Requests
from spanhook.instrument.starlette.routes import route_of
from spanhook.instrument.surroundings import settings
from spanhook.model import Opened, Opening

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
KEY = "spanhook.exchange"
_START, _BODY = "http.response.start", "http.response.body"
_WITHOUT_BODY = (204, 304)


class Answered(HTTPException):
    """A hook has answered: the endpoint is not called."""


class Exchange:
    """A request that is being served.

    Args:
        opening: Opens its operation.
        requests: How it reads.
        scope, receive, send: What the server gave.
    """

    def __init__(self, opening: Opening, requests: Requests, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.requests = scope, requests
        self.entered = False
        self.started = False
        self._opening, self._receive, self._send = opening, receive, send
        self._block: Opened | None = None
        self._body: bytes | None = None
        self._unread = False
        self._result: dict[str, Any] = {}
        self._held: Message | None = None

    # ----------------------------------------------------------------- the request

    async def read(self) -> None:
        """Read the body, if a hook asks for it.

        Raises:
            HTTPException: It is too long.
        """
        if not self._opening.reads_body(route_of(self.scope)):
            return
        most, body = settings().max_request_body, bytearray()
        while True:
            message = await self._receive()
            if message["type"] != "http.request":  # the client has gone
                return
            body += message.get("body", b"")
            if len(body) > most:
                raise HTTPException(413)
            if not message.get("more_body", False):
                break
        self._body, self._unread = bytes(body), True

    async def receive(self) -> Message:
        """The server's ``receive``, with the body that hooks have read, or rewritten."""
        if self._unread:
            self._unread = False
            return {"type": "http.request", "body": self._body or b"", "more_body": False}
        return await self._receive()

    async def enter(self) -> bool:
        """Run the gates; returns whether they have rewritten the request.

        Raises:
            Reject: They have refused it; an ``HTTPException`` too.
            Answered: One of them has answered it.
        """
        self.entered = True
        scope = self.scope
        before = Incoming(scope["method"], scope["path"], read(scope["headers"]), self._body)
        made: list[Incoming] = []

        @asynccontextmanager
        async def served(incoming: Incoming) -> AsyncGenerator[dict[str, Any]]:
            made.append(incoming)
            yield self._result

        block = self._opening(self.requests.adapter_of(scope), served, scope, (before,))
        answer = await block.__aenter__()
        if not block.entered:
            await self._out(answer)
            raise Answered(500)
        self._block = block
        if made[0] is before:
            return False
        self._rewrite(before, made[0])
        return True

    def _rewrite(self, before: Incoming, after: Incoming) -> None:
        changed = after.body is not None and after.body != before.body
        if changed:
            self._body, self._unread = after.body, True
        length = len(after.body or b"") if changed else None
        self.scope["headers"] = written(after.headers, self.scope["headers"], length)

    # ----------------------------------------------------------------- the response

    async def send(self, message: Message) -> None:
        """The application's ``send``. A route that answers before its gates have run does not get around them."""
        kind = message["type"]
        if not self.entered and await self.enter():
            raise HookError("a hook has rewritten a request whose route had answered it already")
        if self._block is None:
            self.started = True
            await self._send(message)
        elif kind == _START:
            headers = read(list(message.get("headers", ())))
            self._result.update(status_code=message["status"], headers=headers)
            if "content-length" in headers or message["status"] in _WITHOUT_BODY:
                self._held = message
            else:
                self.started = True
                await self._send(message)
        elif kind == _BODY and self._held is not None and not message.get("more_body", False):
            self._result["body"] = bytes(message.get("body", b""))
            await self._decided(message)
        else:
            await self._flush()
            await self._send(message)
            if kind == _BODY and not message.get("more_body", False):
                await self.leave()

    async def _decided(self, message: Message) -> None:
        """Let hooks see a whole response, and send what they have made of it."""
        block, held, was = self._block, self._held, dict(self._result)
        assert block is not None
        assert held is not None
        self._block, self._held = None, None
        await block.__aexit__(None, None, None)
        result = block.result
        self.started = True
        if result == was:
            await self._send(held)
            await self._send(message)
        else:
            await self._out(result, held)

    async def _flush(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self.started = True
            await self._send(held)

    async def _out(self, answer: Mapping[str, Any], held: Message | None = None) -> None:
        """Send a response of a hook."""
        raw: Raw = [] if held is None else list(held["headers"])
        headers = written(answer["headers"], raw, len(answer["body"]))
        self.started = True
        await self._send({"type": _START, "status": answer["status_code"], "headers": headers})
        await self._send({"type": _BODY, "body": answer["body"]})

    async def leave(self, error: BaseException | None = None) -> None:
        """End the operation, if it still runs."""
        block, self._block = self._block, None
        if block is not None:
            await block.__aexit__(None if error is None else type(error), error, None)
