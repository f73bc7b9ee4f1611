"""A server, and a client of it that was made before anything is bound."""

import gc
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from tests.instrument.botocore.parts import LATER, bedrock


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what the SDK does not know of yet and what is over a library that is not here, also where files are
    named.
    """
    without = [] if LATER else ["test_caching_and_thinking.py"]
    if find_spec("langchain_aws") is None:
        without.append("test_within_langchain.py")
    left_out = [item for item in items if item.path.name in without]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


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
