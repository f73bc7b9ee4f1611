"""Servers for LiteLLM's calls, and LiteLLM as it is at first."""

import gc
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from spanhook.cli.conformance.libraries.litellm_ways import litellm, renew
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer

HERE = Path(__file__).parent


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def anthropic() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        yield running


@pytest.fixture
def to_openai(server: OpenAIServer) -> dict[str, Any]:
    """Arguments of a chat completion by the OpenAI server."""
    messages = [{"role": "user", "content": "Say hello."}]
    given = {"api_base": server.url, "api_key": "test", "max_retries": 0}
    return {"model": "openai/gpt-4o-mini", "messages": messages, **given}


@pytest.fixture
def to_anthropic(anthropic: AnthropicServer) -> dict[str, Any]:
    """Arguments of a chat completion by the Anthropic server."""
    messages = [{"role": "user", "content": "Say hello."}]
    given = {"api_base": f"{anthropic.url}/v1/messages", "api_key": "test", "max_retries": 0}
    return {"model": "anthropic/claude-sonnet-4-5", "messages": messages, **given}


@pytest.fixture
def given(server: OpenAIServer, tmp_path: Path) -> dict[str, Any]:
    """Arguments of a harness's agent, in a folder of its own."""
    return {
        "sandbox": import_module("litellm.harness.sandbox").local(str(tmp_path)),
        "model": "openai/gpt-4o-mini",
        "api_base": server.url,
        "api_key": "test",
    }


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    """Connections that LiteLLM has left open are gone before other tests begin."""
    yield
    renew()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No client of another event loop, no cache, no callbacks."""
    renew()
    litellm.aclient_session = httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0), verify=False)
    yield
    litellm.aclient_session = None
    litellm.cache, litellm.callbacks, litellm.num_retries = None, [], None
    renew()
    gc.collect()  # what LiteLLM has left open


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """LiteLLM's own code causes warnings, and leaves connections open; as errors, these would change what it does."""
    for item in items:
        if item.path.parent == HERE:
            for what in ("UserWarning", "DeprecationWarning", "ResourceWarning", "RuntimeWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))
