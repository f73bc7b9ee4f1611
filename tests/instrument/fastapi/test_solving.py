"""Hooks on requests to FastAPI, behind uvicorn: after the dependencies, where applications authenticate."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Body, Depends, FastAPI, File, Form, Header, HTTPException, Request, Response, UploadFile
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from spanhook import Hooks, Operation, Reject
from spanhook.testing import recorder
from tests.servers.uvicorn_server import served, workers

calls: list[str] = []


class Question(BaseModel):
    text: str
    limit: int = 10


def token(authorization: Annotated[str, Header()] = "") -> str:
    calls.append("token")
    return authorization


async def user(request: Request, token: Annotated[str, Depends(token)]) -> AsyncIterator[str]:
    calls.append("user")
    if not token:
        raise HTTPException(401)
    request.state.user_id, request.state.tenant_id = token, f"of {token}"
    try:
        yield token
    except HTTPException as error:
        calls.append(f"saw {error.status_code}")
        raise
    finally:
        calls.append("closed")


def fresh() -> int:
    calls.append("fresh")
    return len(calls)


def called() -> list[str]:
    """What was called; the end of a dependency may come after the client has its response."""
    until = time.monotonic() + 60
    while "closed" not in calls and time.monotonic() < until:
        time.sleep(0.01)
    return calls


User = Annotated[str, Depends(user)]
router = APIRouter(prefix="/v1")


@router.post("/ask/{place}")
async def ask(
    place: int,
    question: Question,
    user: User,
    again: Annotated[int, Depends(fresh, use_cache=False)],
    x_more: Annotated[str, Header()] = "",
) -> dict[str, Any]:
    calls.append("endpoint")
    return {"place": place, "question": question.model_dump(), "user": user, "more": x_more, "again": again > 0}


@router.post("/form")
def form(user: User, text: Annotated[str, Form()]) -> str:
    return text


@router.post("/file")
async def file(user: User, file: Annotated[UploadFile, File()]) -> str:
    return (await file.read()).decode()


@router.post("/raw")
async def raw(user: User, request: Request) -> str:
    return (await request.body()).decode()


@router.post("/two")
async def two(user: User, one: Annotated[str, Body()], other: Annotated[str, Body()]) -> str:
    return one + other


@router.get("/words")
async def words(user: User) -> StreamingResponse:
    async def pieces() -> AsyncIterator[str]:
        for word in ("one", "two"):
            yield f"data: {word}\n\n"

    return StreamingResponse(pieces(), media_type="text/event-stream")


class Through:
    """Pure ASGI middleware, around everything."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


INNER = FastAPI()
INNER.include_router(router)
APP = FastAPI()
APP.include_router(router)
APP.mount("/inner", INNER)
APP.add_middleware(Through)
TOKEN = {"authorization": "ada"}
OLD = {"text": "old"}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with served(APP) as client:
        yield client


@pytest.fixture(autouse=True)
def forget() -> None:
    calls.clear()


@pytest.mark.parametrize("above", ["", "/inner"])
def test_hooks_run_after_the_dependencies(client: httpx.Client, above: str) -> None:
    hooks, seen = Hooks(), list[Any]()

    @hooks.before("request")
    def look(op: Operation) -> None:
        calls.append("hook")
        seen.append((op.name, op.identity.tenant_id, op.identity.user_id))

    with recorder(hooks) as recorded:
        assert client.post(f"{above}/v1/ask/1", json=OLD).status_code == 401
        assert client.post(f"{above}/v1/ask/x", json=OLD, headers=TOKEN).status_code == 422
        assert "hook" not in calls
        calls.clear()
        assert client.post(f"{above}/v1/ask/1", json=OLD, headers=TOKEN).status_code == 200
    assert called() == ["token", "user", "fresh", "hook", "endpoint", "closed"]
    assert seen == [(f"{above}/v1/ask/{{place}}", "of ada", "ada")]
    assert [node["name"] for node in recorded.tree()] == [f"POST {above}/v1/ask/{{place}}"]


def test_a_refusal_is_its_status_and_dependencies_see_it(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request")
    def unpaid(_op: Operation) -> None:
        raise Reject("not paid", status_code=402)

    with recorder(hooks):
        refused = client.post("/v1/ask/1", json=OLD, headers=TOKEN)
    assert (refused.status_code, refused.json()) == (402, {"detail": "not paid"})
    assert called() == ["token", "user", "fresh", "saw 402", "closed"]


def test_a_rewrite_solves_the_endpoints_own_parameters_again(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request", body=True)
    def rewrite(op: Operation) -> None:
        assert op.request.body == b'{"text":"old"}'
        others = {"x-more": "1", "authorization": "eve"}
        op.replace(body=b'{"text": "new", "limit": 3}', headers={**op.request.headers, **others})

    with recorder(hooks):
        got = client.post("/v1/ask/1", json=OLD, headers=TOKEN).json()
    question = {"text": "new", "limit": 3}
    assert got == {"place": 1, "question": question, "user": "ada", "more": "1", "again": True}
    assert called() == ["token", "user", "fresh", "endpoint", "closed"]


def test_a_rewrite_that_is_not_valid_is_422(client: httpx.Client) -> None:
    hooks = Hooks()
    hooks.before("request", body=True)(lambda op: op.replace(body=b'{"text": 1}'))
    with recorder(hooks):
        assert client.post("/v1/ask/1", json=OLD, headers=TOKEN).status_code == 422
    assert "endpoint" not in calls


def test_bodies_of_every_sort_are_rewritten(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request", body=True)
    def rewrite(op: Operation) -> None:
        op.replace(body=op.request.body.replace(b"old", b"newer"))

    with recorder(hooks):
        assert client.post("/v1/form", data={"text": "old"}, headers=TOKEN).json() == "newer"
        assert client.post("/v1/file", files={"file": b"old"}, headers=TOKEN).json() == "newer"
        assert client.post("/v1/raw", content="old", headers=TOKEN).json() == "newer"
        assert client.post("/v1/two", json={"one": "old", "other": "old"}, headers=TOKEN).json() == "newernewer"


def test_bodies_that_hooks_read_arrive(client: httpx.Client) -> None:
    hooks, seen = Hooks(), list[bytes]()
    hooks.before("request", body=True)(lambda op: seen.append(op.request.body))
    with recorder(hooks):
        assert client.post("/v1/form", data={"text": "old"}, headers=TOKEN).json() == "old"
        assert client.post("/v1/raw", content="old", headers=TOKEN).json() == "old"
    assert seen == [b"text=old", b"old"]


def test_events(client: httpx.Client) -> None:
    hooks, seen = Hooks(), SimpleQueue[Any]()
    hooks.after("request")(lambda op: seen.put((op.status_code, "body" in op.result)))
    with recorder(hooks):
        assert client.get("/v1/words", headers=TOKEN).text == "data: one\n\ndata: two\n\n"
        assert seen.get(timeout=60) == (200, False)  # the server goes on when the client has it all
    assert seen.empty()


def test_an_answer_and_another_response(client: httpx.Client) -> None:
    hooks = Hooks()

    @hooks.before("request", names={"/v1/raw"})
    def answer(op: Operation) -> None:
        op.respond({"status_code": 201, "headers": {"x-cache": "hit"}, "body": b"kept"})

    @hooks.after("request", names={"/v1/form"})
    def replace(op: Operation) -> None:
        op.respond("replaced")

    with recorder(hooks):
        got = client.post("/v1/raw", content="old", headers=TOKEN)
        assert (got.status_code, got.text, got.headers["x-cache"]) == (201, "kept", "hit")
        assert client.post("/v1/form", data={"text": "old"}, headers=TOKEN).text == "replaced"


THREE = """
import os
import time

import spanhook
from fastapi import Depends, FastAPI, Header, Request
from spanhook import Hooks, Operation, Reject

hooks = Hooks()


@hooks.before("request", names={"/ask"})
def quota(op: Operation) -> None:
    if op.identity.user_id != "ada":
        raise Reject(f"not {op.identity.user_id}", status_code=402)


spanhook.instrument(hooks, require=["fastapi"])


def user(request: Request, authorization: str = Header("")) -> str:
    request.state.user_id = authorization
    return authorization


app = FastAPI()


@app.get("/up")
def up() -> str:
    return "up"


@app.get("/ask")
async def ask(user: str = Depends(user)) -> dict:
    time.sleep(0.02)  # this worker is busy: others take what comes in meanwhile
    return {"user": user, "worker": os.getpid()}
"""


@pytest.mark.slow
def test_three_workers(tmp_path: Path) -> None:
    (tmp_path / "three.py").write_text(THREE)
    served: Counter[int] = Counter()
    with workers(tmp_path, "three:app", 3) as client, ThreadPoolExecutor(12) as at_once:

        def ask(user: str) -> httpx.Response:
            return client.get("/ask", headers={"authorization": user})

        for _ in range(20):
            for refused in at_once.map(ask, ["eve"] * 12):
                assert (refused.status_code, refused.json()) == (402, {"detail": "not eve"})
            served.update(let.json()["worker"] for let in at_once.map(ask, ["ada"] * 12))
            if len(served) == 3:
                break
    assert len(served) == 3


class Cached(APIRoute):
    """A route that answers some requests without its endpoint, as applications that cache do."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        usual = super().get_route_handler()

        async def handle(request: Request) -> Response:
            calls.append("route")
            return Response("secret") if "cached" in request.query_params else await usual(request)

        return handle


def test_a_route_that_answers_by_itself_does_not_get_around_the_gates() -> None:
    app = FastAPI()
    cached = APIRouter(route_class=Cached)
    cached.get("/page")(lambda: "page")
    app.include_router(cached)
    hooks, rewriting = Hooks(), Hooks()

    @hooks.before("request")
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    rewriting.before("request")(lambda op: op.replace(headers={}))
    with served(app) as client:
        with recorder(hooks) as seen:
            for path in ("/page", "/page?cached"):
                refused = client.get(path)
                assert (refused.status_code, refused.json()) == (402, {"detail": "no"})
        assert [op.status for op in seen.operations] == ["rejected"] * 2
        with recorder(rewriting):
            assert client.get("/page").status_code == 200
            assert client.get("/page?cached").status_code == 500
        with recorder(Hooks()):
            assert client.get("/page?cached").text == "secret"
