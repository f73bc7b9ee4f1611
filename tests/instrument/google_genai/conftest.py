"""A server on loopback, and clients of it."""

from collections.abc import Iterator

import pytest
from google.genai import Client

from spanhook.cli.conformance.libraries import google_genai_ways as ways
from spanhook.cli.conformance.servers.google_server import GoogleServer


@pytest.fixture
def server() -> Iterator[GoogleServer]:
    with GoogleServer() as running:
        yield running


@pytest.fixture
def client(server: GoogleServer) -> Client:
    return ways.client(server.url)


@pytest.fixture
def vertex(server: GoogleServer) -> Client:
    return ways.vertex(server.url)
