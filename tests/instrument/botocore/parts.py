"""What the tests of AWS's SDK share."""

import json
from importlib.metadata import version
from typing import Any

import pytest

from spanhook.cli.conformance.libraries.botocore import client
from spanhook.cli.conformance.libraries.botocore_ways import CLAUDE, CONVERSE
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer

LATER = tuple(map(int, version("botocore").split(".")[:2])) >= (1, 40)
"""Whether the SDK knows of caching, thinking, guardrails and citations; it drops what it does not know."""
LEAKS = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
"""For tests that drop streams and clients, with their connections."""
TOOLS = {
    "tools": [
        {"toolSpec": {"name": "look_up", "description": "Looks up.", "inputSchema": {"json": {"type": "object"}}}},
    ]
}


def bedrock(server: BedrockServer, **settings: Any) -> Any:
    """A client of the server."""
    return client(server.url, **settings)


def converse(made: Any, **more: Any) -> Any:
    return made.converse(**{**CONVERSE, **more})


def streamed(made: Any, **more: Any) -> Any:
    return made.converse_stream(**{**CONVERSE, **more})["stream"]


def invoked(made: Any, body: Any, model: str = CLAUDE, **more: Any) -> Any:
    return made.invoke_model(modelId=model, body=json.dumps(body), **more)
