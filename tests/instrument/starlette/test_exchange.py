"""What passes between a server and an application while middleware of definitions, and telemetry of others, look on."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from spanhook import Hooks
from spanhook.cli.conformance.servers.asgi_client import ask
from spanhook.definitions import HookRegistry, RequestHookContext
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio
CallNext = Callable[[Any], Awaitable[Any]]


class Defined:
    """Middleware of definitions that is one function."""

    name, body = "defined", True

    def __init__(self, execute: Any, event_type: str, priority: int = 100) -> None:
        self.execute, self.event_type, self.priority = execute, event_type, priority


async def echo(request: Request) -> PlainTextResponse:
    said = await request.body()
    return PlainTextResponse(said + request.headers.get("x-more", "").encode(), headers={"x-kept": "1"})


APP = Starlette(routes=[Route("/echo", echo, methods=["POST"])])


async def asked_with(execute: Any, event: str) -> tuple[int, list[bytes]]:
    registry = HookRegistry()
    registry.register(Defined(execute, event))
    with recorder(registry.hooks):
        return await ask(APP, "/echo", headers={"x-a": "1"}, body=b"old")


async def test_middleware_of_definitions_rewrites() -> None:
    async def change(context: RequestHookContext, call_next: CallNext) -> Any:
        assert (context.method, context.path, context.body) == ("POST", "/echo", b"old")
        context.headers["x-more"] = "!"
        context.body = b"new"
        return await call_next(context)

    assert await asked_with(change, "request.pre") == (200, [b"new!"])


async def test_middleware_of_definitions_aborts() -> None:
    async def abort(context: RequestHookContext, call_next: CallNext) -> Any:
        context.abort, context.abort_reason, context.status_code = True, "slow down", 429
        return context

    for event in ("request.pre", "request.post"):
        assert await asked_with(abort, event) == (429, [b"slow down"])


async def test_middleware_of_definitions_changes_the_response() -> None:
    async def change(context: RequestHookContext, call_next: CallNext) -> Any:
        assert (context.status_code, context.response_headers["x-kept"]) == (200, "1")
        context.status_code, context.response_body = 201, b"changed"
        return await call_next(context)

    assert await asked_with(change, "request.post") == (201, [b"changed"])


async def test_the_path_cannot_be_changed() -> None:
    async def change(context: RequestHookContext, call_next: CallNext) -> Any:
        context.path = "/elsewhere"
        return await call_next(context)

    registry = HookRegistry()
    registry.register(Defined(change, "request.pre", priority=50))
    with recorder(registry.hooks):
        status, _ = await ask(APP, "/echo", headers={}, body=b"old")
    assert status >= 400


async def test_it_is_part_of_the_trace_of_other_telemetry() -> None:
    hooks = Hooks()
    hooks.before("request")(lambda op: None)
    hooks.after("request")(lambda op: None)

    async def traced(request: Request, call_next: RequestResponseEndpoint) -> Response:
        provider: TracerProvider = request.app.state.provider
        with provider.get_tracer("server").start_as_current_span("POST", kind=SpanKind.SERVER):
            return await call_next(request)

    app = Starlette(routes=APP.routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=traced)])
    with recorder(hooks) as seen:
        app.state.provider = seen.tracer_provider
        assert await ask(app, "/echo", headers={}, body=b"old") == (200, [b"old"])
    [server] = seen.tree()
    assert (server["name"], [child["name"] for child in server["children"]]) == ("POST", ["POST /echo"])
