"""LangGraph's API server in memory, in this process."""

import json
import logging
from functools import cache

from spanhook.cli.conformance.servers.agent_server import GRAPH, graph_file, serve

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


@cache
def port() -> int:
    """The port on which it listens; it is started once in a process, and ends with it."""
    logging.getLogger("langgraph_api").setLevel(logging.CRITICAL)
    graphs = json.dumps({GRAPH: f"{graph_file()}:graph"})
    return serve("langgraph_api.server:app", {**_ENVIRONMENT, "LANGSERVE_GRAPHS": graphs})
