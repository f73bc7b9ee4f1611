"""Runs that somebody waits for, as long as somebody does."""

import asyncio
import time
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request

from spanhook.server.connected import GoneError, while_connected
from spanhook.server.problems import Problem
from tests.server.serving import Served, events_of, served

APP = """
import asyncio
import pathlib
from spanhook import Reject

async def slow(given):
    mark = pathlib.Path(given)
    try:
        mark.with_suffix(".begun").touch()
        await asyncio.sleep(3600)
    finally:
        mark.touch()

async def refusing(given):
    raise Reject("no money", status_code=402, retry_after=7)

async def chatting(given):
    for number in range(3000):
        yield str(number)
"""
JSON, SSE = "application/json", "text/event-stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder: Path = tmp_path_factory.mktemp("connected")
    (folder / "waited_for.py").write_text(APP)
    agents = {one: {"target": f"{folder}/waited_for.py:{one}"} for one in ("slow", "refusing", "chatting")}
    with served(folder, agents=agents, jobs=1) as one:
        yield one


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} is missing"
        time.sleep(0.02)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("accept", [JSON, SSE])
async def test_a_run_is_stopped_if_its_caller_goes_away(server: Served, tmp_path: Path, accept: str) -> None:
    mark = tmp_path / "run"
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        caller = client.post("/v1/agents/slow", json={"input": str(mark)}, headers={"Accept": accept})
        calling = asyncio.create_task(caller)
        await asyncio.to_thread(wait_for, mark.with_suffix(".begun"))
        calling.cancel()
        await asyncio.wait((calling,))
    await asyncio.to_thread(wait_for, mark)
    await asyncio.to_thread(wait_until_free, server)


def wait_until_free(server: Served) -> None:
    until = time.monotonic() + 60
    while server.client.post("/v1/agents/chatting", json={"input": 1}).status_code == 429:
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_more_runs_than_may_be_are_refused(server: Served, tmp_path: Path) -> None:
    mark = tmp_path / "run"
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        first = asyncio.create_task(client.post("/v1/agents/slow", json={"input": str(mark)}))
        await asyncio.to_thread(wait_for, mark.with_suffix(".begun"))
        for accept in (JSON, SSE):
            answer = await client.post("/v1/agents/chatting", json={"input": 1}, headers={"Accept": accept})
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many_jobs")
            assert answer.headers["Retry-After"] == "5"
        first.cancel()
        await asyncio.wait((first,))
    await asyncio.to_thread(wait_for, mark)
    await asyncio.to_thread(wait_until_free, server)


@pytest.mark.parametrize("accept", [JSON, SSE])
def test_a_refusal_says_when_to_ask_again(server: Served, accept: str) -> None:
    answer = server.client.post("/v1/agents/refusing", json={"input": 1}, headers={"Accept": accept})
    assert (answer.status_code, answer.headers.get("Retry-After")) == (402, "7")


def test_a_reader_that_is_too_slow_is_told_of_what_it_has_missed(server: Served) -> None:
    answer = server.client.post("/v1/agents/chatting", json={"input": 1}, headers={"Accept": SSE})
    found = list(events_of(answer.text.splitlines()))
    assert found[-1][1] == "done"
    assert len(found[-1][2]["output"]) == sum(len(str(number)) for number in range(3000))
    missed = sum(data["to"] - data["from"] + 1 for _, what, data in found if what == "lost")
    assert missed
    assert missed + sum(what != "lost" for _, what, _ in found) == found[-1][0] == 3001


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_work_ends_with_the_connection_or_the_server() -> None:
    gone, begun, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def receive() -> dict[str, str]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("ended")

    async def done() -> str:
        return "done"

    request = Request({"type": "http"}, receive)
    assert await while_connected(request, done()) == "done"
    waiting = asyncio.create_task(while_connected(request, work()))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(Problem):
        await waiting
    gone.set()
    with pytest.raises(GoneError):
        await while_connected(request, work())
    assert ended == ["ended"] * 2
