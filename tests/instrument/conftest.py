"""Fixtures that the tests of several libraries share."""

from collections.abc import Iterator

import pytest

from spanhook.cli.conformance.servers.openai_server import OpenAIServer


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running
