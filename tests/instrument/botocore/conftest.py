"""A server, and a client of it that was made before anything is bound."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from tests.instrument.botocore.parts import LATER, bedrock

collect_ignore = [] if LATER else ["test_caching_and_thinking.py"]


@pytest.fixture
def server() -> Iterator[BedrockServer]:
    with BedrockServer() as running:
        yield running


@pytest.fixture
def made(server: BedrockServer) -> Iterator[Any]:
    client = bedrock(server)
    yield client
    client.close()
    gc.collect()
