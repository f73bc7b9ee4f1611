"""Servers that run agents, in this process and for real: their graph runs the bodies of subjects."""

import asyncio
import http.client
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypedDict
from uuid import uuid4

from spanhook.cli.conformance.subject import Body

GRAPH = "told"
SAID = "nothing is new"
ASKED = "what is new"
_STARTING_S = 60.0
_ENDING_S = 1.0
_SOURCE = """
from langgraph.graph import START, StateGraph
from spanhook.cli.conformance.servers.agent_server import State, work

builder = StateGraph(State)
builder.add_node("work", work)
builder.add_edge(START, "work")
graph = builder.compile()
"""
bodies: dict[str, Body] = {}
"""The bodies that runs count into, by what runs are given."""
_loops: list[asyncio.AbstractEventLoop] = []
"""The event loops of the servers of this process."""


class State(TypedDict):
    """The state of the graph."""

    key: str
    asked: str
    said: str


def work(state: State) -> dict[str, str]:
    """The only node of the graph."""
    bodies[state["key"]].run(state["asked"])
    return {"said": SAID}


def graph_file() -> str:
    """The path of a file with the graph, in a folder of its own."""
    path = os.path.join(tempfile.mkdtemp(prefix="spanhook-graph-"), "told.py")
    with open(path, "w") as made:
        made.write(_SOURCE)
    return path


def serve(application: str, environment: Mapping[str, str]) -> int:
    """Serve an application, ``module:name``, until the process ends; returns its port.

    Args:
        application: What uvicorn serves.
        environment: Variables that it reads when it is imported.

    Raises:
        TimeoutError: It did not start.
    """
    os.environ.update(environment)
    uvicorn: Any = import_module("uvicorn")
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, log_config=None, access_log=False))

    async def main() -> None:
        _loops.append(asyncio.get_running_loop())
        await server.serve([listening])

    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
    until = time.monotonic() + _STARTING_S
    while not server.started:
        if time.monotonic() > until:
            raise TimeoutError(f"{application} did not start")
        time.sleep(0.05)
    return listening.getsockname()[1]


class Served:
    """A client of a server, whose runs count into a body.

    Args:
        body: The body.
        port: Starts the server, unless it runs; returns its port.
    """

    def __init__(self, body: Body, port: Callable[[], int]) -> None:
        self._port, self._key = port(), str(uuid4())
        bodies[self._key] = body

    def wait(self) -> Any:
        """Ask for a run, and wait for it."""
        with _until_its_tasks_end():
            return self._waited()

    def stream(self) -> Any:
        """Ask for a run, and read what it streams."""
        with _until_its_tasks_end():
            return self._streamed()

    def _waited(self) -> Any:
        return _told(*self._post(f"/threads/{self._thread()}/runs/wait", self._asking()))

    def _streamed(self) -> Any:
        asking = {**self._asking(), "stream_mode": ["values"]}
        status, text = self._post(f"/threads/{self._thread()}/runs/stream", asking)
        if status != 200:
            return _told(status, text)
        values = [json.loads(event["data"]) for event in _events(text) if event.get("event") == "values"]
        return [one.get("said") for one in values]

    def _thread(self) -> str:
        return json.loads(self._post("/threads", {})[1])["thread_id"]

    def _asking(self) -> dict[str, Any]:
        return {"assistant_id": GRAPH, "input": {"key": self._key, "asked": ASKED}}

    def _post(self, path: str, body: Any) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()


@contextmanager
def _until_its_tasks_end() -> Generator[None]:
    """Leave once the tasks that servers begin meanwhile have ended: a client can have all of a run's stream before the
    server has ended the run. A task that a server begins to keep is waited for once, for a second.
    """
    before = _tasks()
    yield
    until = time.monotonic() + _ENDING_S
    while _tasks() - before and time.monotonic() < until:
        time.sleep(0.01)


def _tasks() -> set[asyncio.Task[Any]]:
    return {task for loop in _loops for task in asyncio.all_tasks(loop)}


def _events(text: str) -> list[dict[str, str]]:
    """Server-sent events by field; one that comes again, as from a server that replays what a client may have missed,
    is known by its id.
    """
    found, seen = list[dict[str, str]](), set[str]()
    for block in text.replace("\r\n", "\n").split("\n\n"):
        event = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line[1:])
        if event.get("id") not in seen:
            found.append(event)
        if "id" in event:
            seen.add(event["id"])
    return found


def _told(status: int, text: str) -> Any:
    """What a client learns, without the ids that differ from run to run."""
    told = json.loads(text)
    return status, *(told.get(name) for name in ("said", "__error__", "detail", "error", "message"))
