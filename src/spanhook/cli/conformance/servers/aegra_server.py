"""Aegra with a PostgreSQL server of its own, in this process."""

import atexit
import json
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from spanhook.cli.conformance.servers.agent_server import GRAPH, graph_file, serve
from spanhook.cli.conformance.servers.postgres_server import USER, running_postgres


@cache
def port() -> int:
    """The port on which it listens; it is started once in a process, and ends with it."""
    stack = ExitStack()
    atexit.register(stack.close)
    path = Path(graph_file())
    config = path.with_name("aegra.json")
    config.write_text(json.dumps({"graphs": {GRAPH: f"{path}:graph"}}))
    environment = {
        "AEGRA_CONFIG": str(config),
        "POSTGRES_HOST": "127.0.0.1",
        "POSTGRES_PORT": str(stack.enter_context(running_postgres())),
        "POSTGRES_DB": USER,
        "POSTGRES_USER": USER,
        "POSTGRES_PASSWORD": "-",
        "AUTH_TYPE": "noop",
        "LOG_LEVEL": "CRITICAL",
    }
    return serve("aegra_api.main:app", environment)
