"""A refusal that an endpoint lets out is a response, although no hook applies to requests."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from fastapi import Depends, FastAPI, WebSocket
from fastapi.responses import StreamingResponse
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.testclient import TestClient, WebSocketDenialResponse

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.instrument.starlette.serving import ANSWERS_HANDSHAKES
from spanhook.testing import recorder


@pytest.fixture
def hooks() -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def gate(_op: Operation) -> None:
        raise Reject("too many", status_code=429, retry_after=3)

    return hooks


@spanhook.tool("look")
def look() -> str:
    return "x"


def by_starlette(_request: Request) -> Response:
    return JSONResponse(look())


async def by_starlette_async(_request: Request) -> Response:
    return JSONResponse(look())


class ByClass(HTTPEndpoint):
    async def get(self, _request: Request) -> Response:
        return JSONResponse(look())


class Application:
    """An application that refuses before the one inside of it, if there is one."""

    def __init__(self, app: Any = None) -> None: ...

    async def __call__(self, *_args: Any) -> None:
        look()


async def in_tasks(_request: Request) -> Response:
    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(asyncio.to_thread(look))
    return Response()


def starlette(**settings: object) -> Starlette:
    routes = [Route("/sync", by_starlette), Route("/async", by_starlette_async), Route("/class", ByClass)]
    return Starlette(routes=[*routes, Mount("/mounted", routes=routes)], **settings)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def fastapi() -> FastAPI:
    app = FastAPI()

    @app.get("/sync")
    def by_fastapi() -> str:
        return look()

    @app.get("/async")
    async def by_fastapi_async() -> str:
        return look()

    @app.get("/class")
    def by_dependency(found: str = Depends(look)) -> str:
        return found

    app.mount("/mounted", starlette())
    return app


@pytest.mark.parametrize("make", [starlette, fastapi])
@pytest.mark.parametrize("path", ["/sync", "/async", "/class", "/mounted/sync"])
def test_it_has_the_status_of_the_refusal(hooks: Hooks, make: Callable[[], Starlette], path: str) -> None:
    with recorder(hooks) as seen:
        response = TestClient(make()).get(path)
    assert (response.status_code, response.headers["retry-after"]) == (429, "3")
    assert "too many" in response.text
    assert [op.kind for op in seen.operations] == ["tool.execute"]


@pytest.mark.parametrize("path", ["/tasks", "/application", "/mounted/x", "/middleware", "/middleware/of/mount"])
@pytest.mark.parametrize("hooked", [False, True])
def test_so_has_one_in_a_group_or_in_an_application_below_a_route(hooks: Hooks, path: str, hooked: bool) -> None:
    if hooked:
        hooks.before("request")(lambda _op: None)
    inside = [Middleware(Application)]
    routes = [
        Route("/tasks", in_tasks),
        Route("/application", Application()),
        Mount("/mounted", Application()),
        Route("/middleware", by_starlette, middleware=inside),
        Mount("/middleware", routes=[Route("/of/mount", by_starlette)], middleware=inside),
    ]
    with recorder(hooks):
        response = TestClient(Starlette(routes=routes)).get(path)
    assert (response.status_code, response.headers["retry-after"]) == (429, "3")


def test_the_applications_own_handlers_have_a_group_or_the_refusal_in_it(hooks: Hooks) -> None:
    def handle(_request: Request, error: Exception) -> Response:
        return Response(type(error).__name__, 418)

    with recorder(hooks):
        for known in (Reject, ExceptionGroup):
            app = Starlette(routes=[Route("/", in_tasks)], exception_handlers={known: handle})
            assert TestClient(app).get("/").text == known.__name__


def test_a_group_with_another_error_is_one(hooks: Hooks) -> None:
    async def failing(_request: Request) -> Response:
        raise ExceptionGroup("both", [Reject("no"), ValueError("x")])

    with recorder(hooks), pytest.raises(ExceptionGroup):
        TestClient(Starlette(routes=[Route("/", failing)])).get("/")


def test_a_websocket_that_is_not_accepted_gets_the_status(hooks: Hooks) -> None:
    app = FastAPI()

    @app.websocket("/{accepted}")
    async def talk(websocket: WebSocket, accepted: bool) -> None:
        if accepted:
            await websocket.accept()
        look()

    with recorder(hooks):
        expected: Any = WebSocketDenialResponse if ANSWERS_HANDSHAKES else Reject
        with pytest.raises(expected) as denied, TestClient(app).websocket_connect("/false"):
            pass
        with pytest.raises((Reject, ExceptionGroup)), TestClient(app).websocket_connect("/true") as client:
            client.receive_text()
    assert denied.value.status_code == 429
    if ANSWERS_HANDSHAKES:
        assert denied.value.headers["retry-after"] == "3"


def test_the_applications_own_handler_has_it(hooks: Hooks) -> None:
    def handle(_request: Request, error: Exception) -> Response:
        return Response(type(error).__name__, 418)

    with recorder(hooks):
        response = TestClient(starlette(exception_handlers={Reject: handle})).get("/sync")
    assert (response.status_code, response.text) == (418, "Reject")


def test_a_response_that_has_begun_ends_with_the_refusal(hooks: Hooks) -> None:
    app = FastAPI()

    async def pieces() -> AsyncIterator[str]:
        yield "x"
        look()

    @app.get("/")
    async def streamed() -> StreamingResponse:
        return StreamingResponse(pieces())

    with recorder(hooks), pytest.raises((Reject, ExceptionGroup)) as raised:
        TestClient(app).get("/")
    assert "too many" in str(raised.value) or raised.group_contains(Reject)


def test_without_spanhook_it_is_an_error_of_the_application() -> None:
    def refusing(_request: Request) -> Response:
        raise Reject("no")

    with pytest.raises(Reject):
        TestClient(Starlette(routes=[Route("/", refusing)])).get("/")
