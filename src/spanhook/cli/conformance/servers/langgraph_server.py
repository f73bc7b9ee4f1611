"""LangGraph's API server in memory, in this process, with a graph that runs the body of a subject."""

import asyncio
import http.client
import json
import logging
import os
import socket
import sys
import tempfile
import threading
import time
from functools import cache
from importlib import import_module
from typing import Any, TypedDict

from spanhook.cli.conformance.subject import Body

GRAPH = "told"
SAID = "nothing is new"
_STARTING_S = 60.0
_NAME = "spanhook_conformance_graph"
_ENVIRONMENT = {
    "DATABASE_URI": ":memory:",
    "REDIS_URI": "fake",
    "MIGRATIONS_PATH": "__inmem",
    "N_JOBS_PER_WORKER": "2",
    "LANGGRAPH_RUNTIME_EDITION": "inmem",
    "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
    "LANGGRAPH_ALLOW_BLOCKING": "true",
    "LANGGRAPH_NO_VERSION_CHECK": "1",
    "LANGSMITH_TRACING": "false",
    "LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev",
    "LOG_LEVEL": "CRITICAL",
}
bodies: dict[str, Body] = {}
"""The bodies that runs count into, by what runs are given."""


class State(TypedDict):
    """The state of the graph."""

    key: str
    asked: str
    said: str


def work(state: State) -> dict[str, str]:
    """The only node of the graph."""
    bodies[state["key"]].run(state["asked"])
    return {"said": SAID}


@cache
def port() -> int:
    """The port on which the server listens; it is started once in a process, and ends with it.

    Raises:
        TimeoutError: It did not start.
    """
    folder = tempfile.mkdtemp(prefix="spanhook-langgraph-")
    with open(os.path.join(folder, f"{_NAME}.py"), "w") as made:
        made.write(_SOURCE)
    sys.path.append(folder)
    os.environ.update(_ENVIRONMENT, LANGSERVE_GRAPHS=json.dumps({GRAPH: f"{folder}/{_NAME}.py:graph"}))
    uvicorn: Any = import_module("uvicorn")
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    found: int = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config("langgraph_api.server:app", log_config=None, access_log=False))
    logging.getLogger("langgraph_api").setLevel(logging.CRITICAL)
    threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True).start()
    until = time.monotonic() + _STARTING_S
    while not server.started:
        if time.monotonic() > until:
            raise TimeoutError("LangGraph's server did not start")
        time.sleep(0.05)
    return found


_SOURCE = """
from langgraph.graph import START, StateGraph
from spanhook.cli.conformance.servers.langgraph_server import State, work

builder = StateGraph(State)
builder.add_node("work", work)
builder.add_edge(START, "work")
graph = builder.compile()
"""


def post(path: str, body: Any) -> tuple[int, str]:
    """Ask the server; returns the status and the text of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port(), timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()
