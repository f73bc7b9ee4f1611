"""What is gated in LangGraph's API server, asked over HTTP by a client, and what is not."""

import json
from typing import Any
from uuid import uuid4

from spanhook.cli.conformance.servers.langgraph_server import GRAPH, bodies, port, post
from spanhook.cli.conformance.subject import Body, Subject, Ungated

ASKED = "what is new"


class Served:
    """A client of the server, whose runs count into a body."""

    def __init__(self, body: Body) -> None:
        port()
        self.key = str(uuid4())
        bodies[self.key] = body

    def asking(self, asked: str = ASKED) -> dict[str, Any]:
        return {"assistant_id": GRAPH, "input": {"key": self.key, "asked": asked}}


def _told(status: int, text: str) -> Any:
    """What a client learns, without the ids that differ from run to run."""
    told = json.loads(text)
    return status, told.get("said"), told.get("__error__"), told.get("detail")


def _thread() -> str:
    return json.loads(post("/threads", {})[1])["thread_id"]


def _stream(served: Served) -> Any:
    status, text = post(f"/threads/{_thread()}/runs/stream", {**served.asking(), "stream_mode": ["values"]})
    if status != 200:
        return _told(status, text)
    events = [event.split("data: ", 1) for event in text.replace("\r\n", "\n").split("\n\n") if "data: " in event]
    return [json.loads(data).get("said") for name, data in events if "values" in name]


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "LangGraph's API server",
        "run",
        Served,
        {
            "wait": lambda served: _told(*post("/runs/wait", served.asking())),
            "stream": _stream,
        },
        {},
        raises=False,  # the client gets a response
    ),
)

UNGATED = (Ungated("updates of a thread's state, and everything that begins no run"),)
