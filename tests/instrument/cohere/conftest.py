"""A server, and clients of both versions of the API."""

from collections.abc import Iterator
from typing import Any

import pytest

from spanhook.cli.conformance.libraries.cohere_ways import client as made
from spanhook.cli.conformance.libraries.cohere_ways import old_client
from spanhook.cli.conformance.servers.cohere_server import CohereServer


@pytest.fixture
def cohere() -> Iterator[CohereServer]:
    with CohereServer() as running:
        yield running


@pytest.fixture
def client(cohere: CohereServer) -> Any:
    return made(cohere.url)


@pytest.fixture
def old(cohere: CohereServer) -> Any:
    return old_client(cohere.url)
