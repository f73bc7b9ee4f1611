"""Hooks on requests to Starlette, behind uvicorn."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from spanhook import Hooks, Operation, Reject, tool
from spanhook.hooks.audit_log import AuditLog
from spanhook.settings import Settings
from spanhook.testing import recorder
from tests.servers.uvicorn_server import served

go_on, background = Event(), Event()


class Authenticated:
    """Middleware of an application: it knows who has which token."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            token = Request(scope).headers.get("authorization", "")
            if not token:
                await PlainTextResponse("who are you?", 401)(scope, receive, send)
                return
            scope.setdefault("state", {})["user"] = {"id": token, "tenant_id": f"of {token}"}
        await self.app(scope, receive, send)


async def echo(request: Request) -> JSONResponse:
    return JSONResponse({"body": (await request.body()).decode(), "x": request.headers.get("x-more")})


async def words(_request: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[str]:
        yield "data: one\n\n"
        while not go_on.is_set():  # the client has seen the first
            import anyio

            await anyio.sleep(0.01)
        yield "data: two\n\n"

    return StreamingResponse(pieces(), media_type="text/event-stream")


@tool
def pay() -> str:
    return "paid"


def paying(_request: Request) -> PlainTextResponse:
    return PlainTextResponse(pay())


async def missing(_request: Request) -> Response:
    raise HTTPException(404, "nothing here")


async def broken(_request: Request) -> Response:
    return PlainTextResponse("no", 503)


async def later(_request: Request) -> Response:
    return PlainTextResponse("soon", background=BackgroundTask(background.wait, 30))


class Endpoint(HTTPEndpoint):
    async def post(self, request: Request) -> Response:
        return await echo(request)


ROUTES = [
    Route("/echo/{id}", echo, methods=["POST"]),
    Route("/words", words),
    Route("/pay", paying),
    Route("/missing", missing),
    Route("/broken", broken),
    Route("/later", later),
    Route("/class", Endpoint),
]
INNER = Starlette(routes=ROUTES)
APP = Starlette(routes=[*ROUTES, Mount("/inner", INNER)], middleware=[Middleware(Authenticated)])
TOKEN = {"authorization": "ada"}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with served(APP) as client:
        yield client


def test_hooks_run_after_authentication_once_wherever_it_is_mounted(client: httpx.Client) -> None:
    hooks, seen = Hooks(), list[tuple[Any, ...]]()

    @hooks.before("request")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.method, op.request.path, op.identity.tenant_id, op.identity.user_id))

    with recorder(hooks) as recorded:
        assert client.post("/echo/1").status_code == 401
        for path in ("/echo/1", "/inner/echo/2", "/class"):
            assert client.post(path, headers={**TOKEN, "x-tenant-id": "theirs"}, content="hi").status_code == 200
    assert seen == [
        ("/echo/{id}", "POST", "/echo/1", "of ada", "ada"),
        ("/inner/echo/{id}", "POST", "/inner/echo/2", "of ada", "ada"),
        ("/class", "POST", "/class", "of ada", "ada"),
    ]
    assert [(node["name"], node["status"]) for node in recorded.tree()] == [
        ("POST /echo/{id}", "UNSET"),
        ("POST /inner/echo/{id}", "UNSET"),
        ("POST /class", "UNSET"),
    ]


def test_a_refusal_is_its_status(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request", names={"/echo/{id}"})
    def quota(_op: Operation) -> None:
        raise Reject("too many", status_code=429, retry_after=2.5)

    @hooks.before("request", names={"/class"})
    def unpaid(_op: Operation) -> None:
        raise Reject("not paid", status_code=402)

    with recorder(hooks) as seen:
        refused = client.post("/echo/1", headers=TOKEN)
        assert (refused.status_code, refused.text, refused.headers["retry-after"]) == (429, "too many", "3")
        refused = client.post("/class", headers=TOKEN)
        assert (refused.status_code, refused.text) == (402, "not paid")
        assert "retry-after" not in refused.headers
    assert [op.status for op in seen.operations] == ["rejected", "rejected"]


def test_a_refusal_inside_an_endpoint_reaches_the_client_too(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def unpaid(_op: Operation) -> None:
        raise Reject("not paid", status_code=402)

    @hooks.after("request")
    def never(_op: Operation) -> None:
        raise AssertionError

    with recorder(hooks) as seen:
        refused = client.get("/pay", headers=TOKEN)
    assert (refused.status_code, refused.text) == (402, "not paid")
    assert [(op.kind, op.status) for op in seen.operations] == [("tool.execute", "rejected"), ("request", "rejected")]
    assert seen.operations[0].parent is not None


def test_it_is_rewritten(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request", body=True)
    def rewrite(op: Operation) -> None:
        assert op.request.body == b"old"
        op.replace(body=b"new and longer", headers={**op.request.headers, "x-more": "1"})

    with recorder(hooks):
        for path in ("/echo/1", "/class", "/inner/echo/1"):
            assert client.post(path, headers=TOKEN, content="old").json() == {"body": "new and longer", "x": "1"}


def test_headers_alone(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request")
    def rewrite(op: Operation) -> None:
        op.replace(headers={**op.request.headers, "X-More": "1"})

    with recorder(hooks):
        assert client.post("/echo/1", headers=TOKEN, content="old").json() == {"body": "old", "x": "1"}


def test_a_body_is_read_for_those_who_ask_alone(client: httpx.Client) -> None:
    hooks, failed = Hooks(), list[str]()

    @hooks.before("request", fail_mode="open")
    def read(op: Operation) -> None:
        try:
            assert op.request.body
        except Exception as error:
            failed.append(str(error))

    with recorder(hooks):
        assert client.post("/echo/1", headers=TOKEN, content="old").json()["body"] == "old"
    assert failed == ["op.request.body was not read; a hook that needs it is registered with body=True"]


def test_a_long_body_is_413(client: httpx.Client) -> None:
    hooks = Hooks()
    hooks.before("request", names={"/echo/{id}"}, body=True)(lambda op: None)
    with recorder(hooks, settings=Settings(max_request_body=10)):
        assert client.post("/class", headers=TOKEN, content="0123456789a").status_code == 200
        assert client.post("/echo/1", headers=TOKEN, content="0123456789").status_code == 200
        assert client.post("/echo/1", headers=TOKEN, content="0123456789a").status_code == 413


def test_a_response_is_seen_and_replaced(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.after("request")
    def change(op: Operation) -> None:
        assert op.status_code == 200
        assert op.response_headers["content-type"] == "application/json"
        body = {**json.loads(op.result["body"]), "added": True}
        headers = {**op.response_headers, "x-seen": "1"}
        op.respond({"status_code": 202, "headers": headers, "body": json.dumps(body).encode()})

    with recorder(hooks):
        got = client.post("/echo/1", headers=TOKEN, content="old")
    assert (got.status_code, got.headers["x-seen"]) == (202, "1")
    assert got.json() == {"body": "old", "x": None, "added": True}


def test_a_response_is_withheld(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.after("request", priority=50)
    def withhold(_op: Operation) -> None:
        raise Reject("not for you", status_code=451)

    with recorder(hooks):
        got = client.post("/echo/1", headers=TOKEN, content="old")
    assert (got.status_code, got.text) == (451, "not for you")


def test_a_hook_answers(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request")
    def answer(op: Operation) -> None:
        op.respond({"status_code": 203, "headers": {"x-cache": "hit"}, "body": b"kept"})

    with recorder(hooks):
        got = client.post("/echo/1", headers=TOKEN, content="old")
    assert (got.status_code, got.text, got.headers["x-cache"]) == (203, "kept", "hit")


def test_events_pass_as_they_are_sent(client: httpx.Client) -> None:
    hooks, seen, looked = Hooks(), list[Any](), Event()

    @hooks.after("request", priority=50)
    def look(op: Operation) -> None:
        seen.append((op.status_code, "body" in op.result))
        looked.set()

    go_on.clear()
    with recorder(hooks) as recorded, client.stream("GET", "/words", headers=TOKEN) as response:
        pieces = response.iter_text()
        assert next(pieces) == "data: one\n\n"
        assert recorded.operations == []
        go_on.set()
        assert "".join(pieces) == "data: two\n\n"
        assert looked.wait(60)  # the server goes on when the client has it all
    assert seen == [(200, False)]


def test_a_response_does_not_wait_for_its_background_task(client: httpx.Client) -> None:
    hooks = Hooks()
    hooks.after("request")(lambda op: None)
    background.clear()
    with recorder(hooks) as seen:
        assert client.get("/later", headers=TOKEN).text == "soon"
        assert [op.status for op in seen.operations] == ["success"]
        background.set()


class Again:
    """Middleware of an application that serves a request once more if it fails."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self.app(scope, receive, send)
        except RuntimeError:
            await self.app(scope, receive, send)


def test_a_request_that_is_served_again_is_gated_again() -> None:
    hooks, asked, served_as = Hooks(), list[str](), list[str]()

    @hooks.before("request")
    def once(op: Operation) -> None:
        asked.append(op.name)
        if len(asked) > 1:
            raise Reject("once is enough", status_code=429)

    async def failing(_request: Request) -> Response:
        served_as.append("served")
        raise RuntimeError("not this time")

    app = Starlette(routes=[Route("/failing", failing)], middleware=[Middleware(Again)])
    with served(app) as client, recorder(hooks) as seen:
        assert client.get("/failing").status_code == 429
    assert (asked, served_as) == (["/failing", "/failing"], ["served"])
    assert [op.status for op in seen.operations] == ["error", "rejected"]


def test_how_it_went(client: httpx.Client) -> None:
    hooks, seen = Hooks(), list[Any]()
    hooks.on_error("request")(lambda op: seen.append((op.name, getattr(op.error, "status_code", None))))
    hooks.after("request")(lambda op: seen.append((op.name, op.status_code)))
    with recorder(hooks) as recorded:
        assert client.get("/missing", headers=TOKEN).status_code == 404
        assert client.get("/broken", headers=TOKEN).status_code == 503
    told = [(node["status"], node["attributes"]["http.response.status_code"]) for node in recorded.tree()]
    assert told == [("ERROR", 404), ("ERROR", 503)]
    assert seen[0] == ("/missing", 404)


def test_an_audit_log_with_contents_keeps_no_credentials(client: httpx.Client, tmp_path: Path) -> None:
    headers = {**TOKEN, "cookie": "session=hush", "x-kept": "1"}
    with recorder(Hooks(AuditLog(str(tmp_path), content="full"))):
        assert client.post("/echo/1", headers=headers, content="hi").status_code == 200
    told = (json.loads(line) for file in tmp_path.iterdir() for line in file.read_text().splitlines())
    [kept] = [one for one in told if one.get("operation") == "request"]
    asked = json.loads(kept["request"])["headers"]
    assert {asked[name] for name in ("authorization", "cookie")} == {"(not kept)"}
    assert asked["x-kept"] == "1"
    assert "hush" not in json.dumps(kept)
