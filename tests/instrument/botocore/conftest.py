"""A server, and a client of it that was made before anything is bound."""

from collections.abc import Iterator
from typing import Any

import pytest

from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from tests.instrument.botocore.parts import bedrock


@pytest.fixture
def server() -> Iterator[BedrockServer]:
    with BedrockServer() as running:
        yield running


@pytest.fixture
def made(server: BedrockServer) -> Any:
    return bedrock(server)
