"""How runs end on LangGraph's own server, in memory, when the server itself stops them."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commands import SPANHOOK, Folder
from tests.instrument.langgraph_api.serving import ALONE, AUTH, dev
from tests.instrument.langgraph_api.test_creating import HOOKS, Served, asking
from tests.ports import free_port

GRAPH = """
import asyncio
import time
from typing import TypedDict
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph

class State(TypedDict):
    value: str

class Slow:
    def dict(self):
        time.sleep(3)
        return {}

async def work(state):
    if state["value"] == "publish":
        get_stream_writer()(Slow())
    await asyncio.sleep(60)
    return {}

builder = StateGraph(State)
builder.add_node("work", work)
builder.add_edge(START, "work")
graph = builder.compile()
"""


@contextmanager
def serving(path: Path, **env: str) -> Generator[Served]:
    folder = Folder(path).write(hooks=HOOKS, auth=AUTH, graph=GRAPH)
    config = {"dependencies": ["."], "graphs": {"support": "./graph.py:graph"}, "auth": {"path": "./auth.py:auth"}}
    folder.file("langgraph.json", json.dumps(config))
    port = free_port()
    command = (*SPANHOOK, "run", "--hooks", "hooks.py:hooks", "--", *dev(port))
    with folder.server(*command, port=port, **ALONE, **env):
        yield Served(port, path / "told")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("server"), BG_JOB_TIMEOUT_SECS="2") as found:
        yield found


@pytest.mark.parametrize("value", ["wait", "publish"])
def test_a_run_that_takes_too_long_has_failed(served: Served, value: str) -> None:
    """Whether its graph works or the server publishes a part of the stream."""
    client = served.client
    thread = client.json("POST", "/threads", {}, value)["thread_id"]
    run = client.json("POST", f"/threads/{thread}/runs", asking(value, stream_mode=["custom"]), value)["run_id"]
    told = served.told(value, until=2, seconds=20)
    assert told[1:] == [["error", run, value, "TimeoutError"]]
    client.ask("GET", f"/threads/{thread}/runs/{run}/join", None, value)
    assert client.json("GET", f"/threads/{thread}/runs/{run}", None, value)["status"] == "timeout"


def test_a_run_that_is_put_back_has_not_ended(tmp_path: Path) -> None:
    """The server stops while it publishes a part of the stream."""
    with serving(tmp_path) as served:
        client, user = served.client, "ada"
        path = f"/threads/{client.json('POST', '/threads', {}, user)['thread_id']}/runs"
        run = client.json("POST", path, asking("publish", stream_mode=["custom"]), user)["run_id"]
        for _ in range(1000):
            if client.json("GET", f"{path}/{run}", None, user)["status"] == "running":
                break
    assert [one[0] for one in served.told(user)] == ["before"]
