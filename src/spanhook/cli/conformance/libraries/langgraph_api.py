"""What is gated in LangGraph's API server, asked over HTTP by a client, and what is not."""

from spanhook.cli.conformance.servers.agent_server import Served
from spanhook.cli.conformance.servers.langgraph_server import port
from spanhook.cli.conformance.subject import Subject, Ungated

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "LangGraph's API server",
        "run",
        lambda body: Served(body, port),
        {"wait": Served.wait, "stream": Served.stream},
        {},
        raises=False,  # the client gets a response
    ),
)

UNGATED = (Ungated("updates of a thread's state, and everything that begins no run"),)
