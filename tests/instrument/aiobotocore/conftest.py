"""A server."""

from collections.abc import Iterator

import pytest

from spanhook.cli.conformance.servers.bedrock_server import BedrockServer


@pytest.fixture
def server() -> Iterator[BedrockServer]:
    with BedrockServer() as running:
        yield running
