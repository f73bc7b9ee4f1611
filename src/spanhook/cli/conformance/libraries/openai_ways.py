"""Every way of calling OpenAI through its SDK."""

from typing import Any

from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

from spanhook.cli.conformance.libraries.stainless_ways import Answer, Way, collected, facts, named, raw_facts, ways_of
from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES

__all__ = ["Answer", "Way", "collected", "facts", "named", "raw_facts"]

MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}]
CHAT: dict[str, Any] = {"model": "gpt-4o-mini", "messages": MESSAGES}
RESPONSES: dict[str, Any] = {"model": "gpt-4o-mini", "input": "Say hello.", "instructions": "Be brief."}
EMBEDDINGS: dict[str, Any] = {"model": "text-embedding-3-small", "input": ["one", "two"]}
DECISIONS: dict[str, Any] = {
    "model": "gpt-6-luna",
    "input": "Say hello.",
    "questions": [{"type": "predicate", "name": "polite", "instructions": "It is polite."}],
}
TEXT: dict[str, Any] = {"model": "gpt-3.5-turbo-instruct", "prompt": "Say hello."}


def sync_client(url: str, **options: Any) -> OpenAI:
    """A client that does not retry, and loads no certificates, which would take longer than a test."""
    given: dict[str, Any] = {"http_client": DefaultHttpxClient(verify=NO_CERTIFICATES), "max_retries": 0, **options}
    return OpenAI(base_url=url, api_key="test", **given)


def async_client(url: str, **options: Any) -> AsyncOpenAI:
    """The async version of ``sync_client``."""
    given: dict[str, Any] = {
        "http_client": DefaultAsyncHttpxClient(verify=NO_CERTIFICATES),
        "max_retries": 0,
        **options,
    }
    return AsyncOpenAI(base_url=url, api_key="test", **given)


_CLIENTS = (sync_client, async_client)
_DECISIONS = ways_of("decisions", lambda client: client.decisions, DECISIONS, _CLIENTS, streams=False)
WAYS = [
    *ways_of(
        "chat",
        lambda client: client.chat.completions,
        CHAT,
        _CLIENTS,
        final="get_final_completion",
        shape="response_format",
    ),
    *ways_of(
        "responses",
        lambda client: client.responses,
        RESPONSES,
        _CLIENTS,
        final="get_final_response",
        shape="text_format",
    ),
    *ways_of("text", lambda client: client.completions, TEXT, _CLIENTS),
    *ways_of(
        "embeddings",
        lambda client: client.embeddings,
        EMBEDDINGS,
        _CLIENTS,
        kind="embeddings.create",
        streams=False,
    ),
    *(_DECISIONS if hasattr(OpenAI, "decisions") else ()),  # not in version 1
]
