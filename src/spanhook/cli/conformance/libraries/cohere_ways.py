"""Every way of calling Cohere through its SDK."""

from collections.abc import Callable
from typing import Any

import httpx
from cohere import AsyncClient, AsyncClientV2, Client, ClientV2

from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES
from spanhook.cli.conformance.subject import Use

ASKED = "Say hello."
ONCE: dict[str, Any] = {"request_options": {"max_retries": 0}}
CHAT: dict[str, Any] = {
    "model": "command-a-03-2025",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}],
    **ONCE,
}
OLD_CHAT: dict[str, Any] = {
    "model": "command-r",
    "message": ASKED,
    "preamble": "Be brief.",
    "chat_history": [{"role": "USER", "message": ASKED}, {"role": "CHATBOT", "message": "No."}],
    **ONCE,
}
GREET = "Greet me."
"""A prompt with none of the words of the answer, which repeats the prompt."""
GENERATE: dict[str, Any] = {"model": "command", "prompt": GREET, **ONCE}
EMBED: dict[str, Any] = {
    "model": "embed-v4.0",
    "texts": ["one", "two"],
    "input_type": "search_query",
    "embedding_types": ["float"],
    **ONCE,
}
RERANK: dict[str, Any] = {"model": "rerank-v3.5", "query": ASKED, "documents": ["one", "two"], **ONCE}
CLASSIFY: dict[str, Any] = {"model": "embed-v4.0", "inputs": [ASKED], **ONCE}
SUMMARIZE: dict[str, Any] = {"model": "command", "text": ASKED, **ONCE}

Ask = Callable[[Any], Any]


def _given(kind: Any) -> dict[str, Any]:
    """An HTTP client that loads no certificates, and keeps no connection for another event loop."""
    return {"httpx_client": kind(verify=NO_CERTIFICATES, limits=httpx.Limits(max_keepalive_connections=0))}


def client(url: str) -> Any:
    """A client of version 2 of the API."""
    return ClientV2("test", base_url=url, **_given(httpx.Client))


def later_client(url: str) -> Any:
    """The async version of ``client``."""
    return AsyncClientV2("test", base_url=url, **_given(httpx.AsyncClient))


def old_client(url: str) -> Any:
    """A client of version 1 of the API."""
    return Client("test", base_url=url, **_given(httpx.Client))


def later_old_client(url: str) -> Any:
    """The async version of ``old_client``."""
    return AsyncClient("test", base_url=url, **_given(httpx.AsyncClient))


def whole(name: str, given: dict[str, Any]) -> dict[str, Use]:
    """Ways of calling a method that does not stream; each takes a pair of clients, sync and async."""

    def sync(clients: Any) -> Any:
        return getattr(clients.sync, name)(**given)

    def later(clients: Any) -> Any:
        return getattr(clients.later, name)(**given)

    ways: dict[str, Use] = {"create": sync, "async create": later}
    if hasattr(Client, "with_raw_response"):

        def raw(clients: Any) -> Any:
            return getattr(clients.sync.with_raw_response, name)(**given).data

        async def later_raw(clients: Any) -> Any:
            return (await getattr(clients.later.with_raw_response, name)(**given)).data

        ways |= {"raw": raw, "async raw": later_raw}
    return ways


def opened(name: str, given: dict[str, Any]) -> dict[str, Use]:
    """Streams that nobody has read.

    Not the async ones: they are async generators inside of others, which an event loop that shuts down fails to close.
    Nor those of older versions, which cannot be closed at all: their generators catch ``GeneratorExit``.
    """
    if not hasattr(Client, "with_raw_response"):
        return {}
    return {"stream": lambda clients: getattr(clients.sync, name)(**given)}


def streams(name: str, given: dict[str, Any]) -> dict[str, Use]:
    """Ways of calling a method that streams."""

    def sync(clients: Any) -> Any:
        return list(getattr(clients.sync, name)(**given))

    async def later(clients: Any) -> Any:
        return [one async for one in getattr(clients.later, name)(**given)]

    ways: dict[str, Use] = {"stream": sync, "async stream": later}
    if hasattr(Client, "with_raw_response"):

        def raw(clients: Any) -> Any:
            with getattr(clients.sync.with_raw_response, name)(**given) as response:
                return list(response.data)

        async def later_raw(clients: Any) -> Any:
            async with getattr(clients.later.with_raw_response, name)(**given) as response:
                return [one async for one in response.data]

        ways |= {"raw stream": raw, "async raw stream": later_raw}
    return ways
