"""Whose requests are: what the application's authentication says, and never what the client does."""

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from spanhook import Hooks, Operation
from spanhook.cli.conformance.servers.asgi_client import ask
from spanhook.instrument.starlette.whose import whose
from spanhook.settings import Settings
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


class Account:
    """A user as applications have them."""

    id = 7
    org_id = "acme"


class Backend(AuthenticationBackend):
    """Knows whoever has a name."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        name = conn.headers.get("authorization")
        return (AuthCredentials(["known"]), SimpleUser(name)) if name else None


async def account(request: Request, call_next: RequestResponseEndpoint) -> Response:
    request.state.tenant_id = "of middleware"
    return await call_next(request)


async def endpoint(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("here")


async def identity(app: Any, **settings: Any) -> list[tuple[str, str, str]]:
    hooks, seen = Hooks(), list[tuple[str, str, str]]()
    hooks.before("request")(lambda op: seen.append(_ids(op)))
    sent = {"authorization": "ada", "x-user-id": "eve", "x-tenant-id": "evil"}
    with recorder(hooks, settings=Settings(**settings)):
        for headers in (sent, {}):
            assert await ask(app, "/", method="GET", headers=headers) == (200, [b"here"])
    return seen


def _ids(op: Operation) -> tuple[str, str, str]:
    return op.identity.tenant_id, op.identity.user_id, op.identity.session_id


async def test_starlettes_own_authentication_and_state() -> None:
    middleware = [
        Middleware(AuthenticationMiddleware, backend=Backend()),
        Middleware(BaseHTTPMiddleware, dispatch=account),
    ]
    app = Starlette(routes=[Route("/", endpoint)], middleware=middleware)
    assert await identity(app) == [("of middleware", "ada", ""), ("of middleware", "", "")]


async def test_middleware_of_a_route() -> None:
    around = [Middleware(AuthenticationMiddleware, backend=Backend())]
    app = Starlette(routes=[Route("/", endpoint, middleware=around)])
    assert await identity(app) == [("", "ada", ""), ("", "", "")]


async def test_a_function_of_the_application() -> None:
    def who(scope: Any) -> dict[str, str]:
        return {"tenant_id": "t", "user_id": scope["user"].display_name, "session_id": ""}

    around = [Middleware(AuthenticationMiddleware, backend=Backend())]
    app = Starlette(routes=[Route("/", endpoint)], middleware=around)
    assert await identity(app, request_identity=who) == [("t", "ada", ""), ("t", "", "")]


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        ({}, {}),
        ({"state": {"user": Account()}}, {"tenant_id": "acme", "user_id": "7"}),
        ({"state": {"user": {"sub": "x", "tenant_id": "t"}}}, {"tenant_id": "t", "user_id": "x"}),
        ({"state": {"user": "ada", "session_id": "s"}}, {"user_id": "ada", "session_id": "s"}),
        ({"state": {"user_id": 1, "user": Account()}}, {"tenant_id": "acme", "user_id": "1"}),
        ({"user": BaseUser()}, {}),
    ],
)
def test_what_is_found(scope: dict[str, Any], found: dict[str, str]) -> None:
    assert whose(scope) == found
