"""What every request passes before it reaches a route.

In this order, so that nobody costs more than they may: the host's name, who calls, how often, where a change comes
from, and its body. Routes then ask for scopes.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from spanhook.diagnostics import internal
from spanhook.errors import StoreError
from spanhook.server._requests import CHANGES, Scope, has, header, host_of, is_page
from spanhook.server.authentication import Authentication
from spanhook.server.measuring import Measures
from spanhook.server.problems import Problem, unavailable
from spanhook.server.rates import Rates
from spanhook.server.settings import ServerSettings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

STATIC = ("/static/pages.css", "/static/pages.js", "/static/icon.svg")
OPENID = ("/login/openid", "/login/callback")
PUBLIC = frozenset(("/healthz", "/readyz", "/openapi.json", "/", "/login", "/logout", *OPENID, *STATIC))
"""Paths that need no authentication."""
TELEMETRY = frozenset(("/v1/traces", "/v1/metrics", "/v1/logs"))
_UNCOUNTED = TELEMETRY | {"/v1/sync"}
"""Paths with a rate of their own: back-pressure, and processes that ask every second with one key."""
BODY_TIMEOUT_S = 30.0
"""How long a body may take to arrive."""
_DRAINED, _DRAIN_S = 4, 5.0
"""How much more of a body that is too large is read before that is said: so many times what is allowed, and seconds."""
HEADERS = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every response that has none of the name."""


class Guard:
    """Middleware that lets only those requests through that may be served.

    It puts the ``Principal`` into ``state.principal`` of the request.

    Args:
        app: What serves them.
        settings: What can be set of the server.
        authentication: Recognizes callers.
        rates: Limits of requests.
        measures: The server's own metrics.
        answer: The response to a problem with a request, from its ASGI scope.
    """

    def __init__(
        self,
        app: App,
        settings: ServerSettings,
        authentication: Authentication,
        rates: Rates,
        measures: Measures,
        answer: Callable[[Problem, Any], App],
    ) -> None:
        self._app, self._settings, self._answer = app, settings, answer
        self._authentication, self._rates, self._measures = authentication, rates, measures

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve({**scope, "path": plain(scope["path"])}, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Any, receive: Receive, send: Send) -> None:
        response = Response(send, self._answer)
        with self._measures.request(scope, response):
            try:
                checked = await self._checked(scope, receive)
                await self._app(scope, checked, response.send)
            except Problem as problem:
                await response.problem(problem, scope, receive)
            except StoreError as error:
                await response.problem(unavailable(error), scope, receive)
            except Exception as error:
                internal.report("server.request", error)
                await response.problem(Problem("internal", "the server has failed; see its log"), scope, receive)

    async def _checked(self, scope: Any, receive: Receive) -> Receive:
        self._check_host(scope)
        if scope["path"] not in PUBLIC:
            principal = await self._authentication.principal(scope)
            who = {"principal": principal, "tenant_id": principal.tenant, "user_id": principal.subject}
            scope.setdefault("state", {}).update(who)  # where hooks of requests find whose it is
            if scope["path"] not in _UNCOUNTED:
                await self._rates.count(principal)
        if scope["method"] not in CHANGES:
            return receive
        self._check_origin(scope)
        body = await self._body(scope, receive)
        if body or scope["method"] == "POST":  # browsers ask before a page of another origin sends other methods
            _check_type(scope)
        return _replayed(body, receive)

    def _check_host(self, scope: Scope) -> None:
        if host_of(header(scope, "host") or "") not in self._settings.hosts:
            raise Problem("wrong_host", "the server is not known by the name in Host; see allowed_hosts")

    def _check_origin(self, scope: Scope) -> None:
        """Refuse changes that a web page of another origin has sent (with a browser's own headers, which it cannot
        forge). Programs that are no browsers send neither header.
        """
        allowed = self._settings.allowed_origins
        origin = header(scope, "origin")
        own = f"{scope['scheme']}://{header(scope, 'host')}"
        if has(scope, "origin") and (origin is None or (origin != own and origin not in allowed)):
            raise Problem("cross_site", "the page that sent this is of another origin; see allowed_origins")
        site = header(scope, "sec-fetch-site") if has(scope, "sec-fetch-site") else "none"
        if site not in ("same-origin", "none") and (origin is None or origin not in allowed):
            raise Problem("cross_site", "the page that sent this is of another site")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        most = self._settings.max_telemetry if scope["path"] in TELEMETRY else self._settings.max_body
        length = header(scope, "content-length")
        if length is not None and length.isdecimal() and int(length) > most:
            await _drain(receive, most)
            raise _too_large(most)
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem("malformed_request", "the body has not arrived")
                    body += message.get("body", b"")
                    if len(body) > most:
                        if message.get("more_body"):
                            await _drain(receive, most)
                        raise _too_large(most)
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise Problem("request_timeout", f"the body took longer than {BODY_TIMEOUT_S:g} s") from None


class Response:
    """A response on its way, with the headers of every response.

    Attributes:
        status: Its status; 0 before it begins.
    """

    def __init__(self, send: Send, answer: Callable[[Problem, Any], App]) -> None:
        self._send, self._answer = send, answer
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a part of it."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = list(message.get("headers", ()))
            names = {bytes(name).lower() for name, _ in given}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in names]
            message = {**message, "headers": given + added}
        await self._send(message)

    async def problem(self, problem: Problem, scope: Any, receive: Receive) -> None:
        """Send a problem, unless the response has begun: then the connection is closed by raising it."""
        if self.status:
            raise problem
        if problem.code in ("body_too_large", "request_timeout"):
            problem.headers["Connection"] = "close"
        response = self._answer(problem, scope)
        await response(scope, receive, self.send)


def plain(path: str) -> str:
    """A path without the slash at its end."""
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def _check_type(scope: Scope) -> None:
    given = (header(scope, "content-type") or "").partition(";")[0].strip().lower()
    expected = ["application/x-www-form-urlencoded" if is_page(scope["path"]) else "application/json"]
    if scope["path"] in TELEMETRY:
        expected.append("application/x-protobuf")
    if given not in expected:
        raise Problem("media_type", f"Content-Type is {given!r}; expected {' or '.join(expected)}")


async def _drain(receive: Receive, most: int) -> None:
    """Read and forget the rest of a body, within bounds: a client that is still sending would not see the answer."""
    left = _DRAINED * most
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _too_large(most: int) -> Problem:
    return Problem("body_too_large", f"the body is larger than {most} bytes")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """``receive`` for what comes after, which gets the body in one piece."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
