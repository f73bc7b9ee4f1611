"""What is gated in Aegra, asked over HTTP by a client, and what is not. It needs PostgreSQL's programs."""

from spanhook.cli.conformance.servers.aegra_server import port
from spanhook.cli.conformance.servers.agent_server import Served
from spanhook.cli.conformance.servers.postgres_server import PROGRAMS
from spanhook.cli.conformance.subject import Subject, Ungated

_WITH_POSTGRES: tuple[Subject, ...] = (
    Subject(
        "Aegra",
        "run",
        lambda body: Served(body, port),
        {"wait": Served.wait, "stream": Served.stream},
        {},
        raises=False,  # the client gets a response
    ),
)
SUBJECTS = _WITH_POSTGRES if PROGRAMS is not None else ()

UNGATED = (
    Ungated("a run whose worker died more often than Aegra tries again: its hooks are not told of its end"),
    Ungated("what a hook on runs would put in place of a run's input or output"),
)
