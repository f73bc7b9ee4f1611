"""A server, and a client of Mistral's own API."""

from collections.abc import Iterator
from typing import Any

import pytest

from spanhook.cli.conformance.libraries.mistralai_ways import client as made
from spanhook.cli.conformance.servers.mistral_server import MistralServer


@pytest.fixture
def mistral() -> Iterator[MistralServer]:
    with MistralServer() as running:
        yield running


@pytest.fixture
def client(mistral: MistralServer) -> Any:
    return made(mistral.url)
