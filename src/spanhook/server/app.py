"""The application: routes behind the guard, and what each of them comes to when it fails."""

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from spanhook.errors import Reject, StoreError
from spanhook.server._document import document
from spanhook.server._requests import Scope, wants_page
from spanhook.server.authentication import Authentication
from spanhook.server.guard import PUBLIC, App, Guard
from spanhook.server.key_store import KeyStore
from spanhook.server.measuring import Measures
from spanhook.server.needs import needs_of
from spanhook.server.openid import OpenID
from spanhook.server.pages import PAGE_ROUTERS, problem_page
from spanhook.server.parameters import only_known
from spanhook.server.problems import Code, Mistake, Problem, unavailable
from spanhook.server.rates import Rates
from spanhook.server.routes import OPEN, ROUTERS
from spanhook.server.services import Services
from spanhook.server.settings import ServerSettings
from spanhook.server.tokens import TokenVerifier
from spanhook.store.control import CursorError, Database
from spanhook.version import __version__

_CODES: dict[int, Code] = {404: "not_found", 405: "method_not_allowed"}


def create_app(settings: ServerSettings, database: Database) -> App:
    """The ASGI application.

    Args:
        settings: What can be set of the server.
        database: The open database; whoever has opened it closes it.

    Raises:
        ConfigurationError: The secret or the keys of tokens, or what ``login`` needs, cannot be used.
    """
    measures = Measures()
    rates = Rates(settings.rate, settings.failures)
    verifier = TokenVerifier(settings.tokens) if settings.tokens is not None else None
    authentication = Authentication(
        required=settings.authenticates,
        verifier=verifier,
        keys=KeyStore(database),
        rates=rates,
        openid=OpenID(settings.login, settings.tokens) if settings.login and settings.tokens else None,
    )
    services = Services(settings, database, measures, authentication)
    return Guard(routed(services), settings, authentication, rates, measures, answer)


def routed(services: Services) -> FastAPI:
    """The routes, without the guard."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        async with services.running():
            yield

    app = FastAPI(
        title="spanhook",
        version=__version__,
        summary="The control plane of spanhook",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        separate_input_output_schemas=False,
    )
    app.state.services = services
    for router in ROUTERS:
        app.include_router(router, dependencies=() if router in OPEN else [Depends(only_known)])
    for router in PAGE_ROUTERS:
        app.include_router(router)
    for route in (*api_routes(), *page_routes()):
        if route.path not in PUBLIC and needs_of(route) is None:
            raise AssertionError(f"{route.path} asks for no scope; add a parameter Depends(Needs(...))")
    app.openapi = lambda: document(app)
    handlers: dict[Any, Callable[[Request, Any], Any]] = {
        Problem: _problem,
        StoreError: _unavailable,
        CursorError: _wrong_cursor,
        Reject: _rejected,
        RequestValidationError: _invalid,
        HTTPException: _refused,
    }
    for kind, handle in handlers.items():
        app.add_exception_handler(kind, handle)
    return app


def api_routes() -> list[APIRoute]:
    """All routes of the API."""
    return [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


def page_routes() -> list[APIRoute]:
    """All routes of the web pages."""
    return [route for router in PAGE_ROUTERS for route in router.routes if isinstance(route, APIRoute)]


def answer(problem: Problem, scope: Scope) -> Response:
    """The response to a problem: a web page if a browser has asked for one, otherwise problem details."""
    return problem_page(problem, scope) if wants_page(scope) else problem.response()


async def _problem(request: Request, error: Problem) -> Response:
    return answer(error, request.scope)


async def _unavailable(request: Request, error: StoreError) -> Response:
    return answer(unavailable(error), request.scope)


async def _wrong_cursor(request: Request, error: CursorError) -> Response:
    return answer(Problem("invalid", str(error)), request.scope)


async def _rejected(request: Request, error: Reject) -> Response:
    """A hook of requests has refused it."""
    after = {} if error.retry_after is None else {"Retry-After": str(math.ceil(error.retry_after))}
    status = error.status_code if 400 <= error.status_code < 600 else 403
    return answer(Problem("rejected", error.reason, headers=after, status=status), request.scope)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    mistakes = [
        Mistake(place=".".join(map(str, one["loc"])), message=str(one["msg"]).removeprefix("Value error, "))
        for one in error.errors()
    ]
    said = "; ".join(f"{one.place}: {one.message}" for one in mistakes[:3])
    return answer(Problem("invalid", said or "the request is not valid", errors=mistakes[:50]), request.scope)


async def _refused(request: Request, error: HTTPException) -> Response:
    code = _CODES.get(error.status_code, "malformed_request" if error.status_code < 500 else "internal")
    said = {"not_found": "there is nothing here", "method_not_allowed": "this cannot be done here"}
    allow = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    return answer(Problem(code, said.get(code, "the request cannot be read"), headers=allow), request.scope)
