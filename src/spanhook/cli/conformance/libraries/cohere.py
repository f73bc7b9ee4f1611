"""What is gated at Cohere's client, against a server on loopback."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from spanhook.cli.conformance.libraries.cohere_ways import (
    ASKED,
    CHAT,
    CLASSIFY,
    EMBED,
    GENERATE,
    GREET,
    OLD_CHAT,
    RERANK,
    SUMMARIZE,
    client,
    later_client,
    later_old_client,
    old_client,
    opened,
    streams,
    whole,
)
from spanhook.cli.conformance.servers.cohere_server import CohereServer
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated

_TOKENS = {"chat": Tokens().total, "generate": Tokens().total, "summarize": Tokens().total, "embed": Tokens().input}
"""The usage that the server reports, by the end of the path."""


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    return _TOKENS.get(seen.path.rpartition("/")[2], 0)


@cache
def _server() -> CohereServer:
    return CohereServer().__enter__()


@dataclass
class Clients:
    """One client of each kind, created before anything is instrumented."""

    sync: Any
    later: Any

    @classmethod
    def of(cls, body: Body) -> "Clients":
        """Of version 2 of the API."""
        url = _server().url_for(Line(body, _tokens))
        return cls(client(url), later_client(url))

    @classmethod
    def old(cls, body: Body) -> "Clients":
        """Of version 1 of the API."""
        url = _server().url_for(Line(body, _tokens))
        return cls(old_client(url), later_old_client(url))


def _bound(method: Any) -> Callable[[], Any]:
    return lambda: method(**CHAT)


_HTTP: dict[str, Any] = {"asked": ASKED, "faults": OVER_HTTP, "slow": True}
_SPOKEN: dict[str, Any] = {"said": Reply.text, **_HTTP}
_PLAIN: dict[str, Any] = {"faults": OVER_HTTP, "slow": True}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "cohere chat",
        "llm.call",
        Clients.of,
        {**whole("chat", CHAT), **streams("chat_stream", CHAT)},
        {"create": lambda clients: _bound(clients.sync.chat), "acreate": lambda clients: _bound(clients.later.chat)},
        opened=opened("chat_stream", CHAT),
        **_SPOKEN,
    ),
    Subject(
        "cohere chat, version 1",
        "llm.call",
        Clients.old,
        {**whole("chat", OLD_CHAT), **streams("chat_stream", OLD_CHAT)},
        {},
        opened=opened("chat_stream", OLD_CHAT),
        **_SPOKEN,
    ),
    Subject(
        "cohere generate",
        "llm.call",
        Clients.old,
        {**whole("generate", GENERATE), **streams("generate_stream", GENERATE)},
        {},
        opened=opened("generate_stream", GENERATE),
        said=Reply.text,
        asked=GREET,
        **_PLAIN,
    ),
    Subject("cohere embed", "embeddings.create", Clients.of, whole("embed", EMBED), {}, **_PLAIN),
    Subject("cohere embed, version 1", "embeddings.create", Clients.old, whole("embed", EMBED), {}, **_PLAIN),
    Subject("cohere rerank", "llm.call", Clients.of, whole("rerank", RERANK), {}, **_HTTP),
    Subject("cohere rerank, version 1", "llm.call", Clients.old, whole("rerank", RERANK), {}, **_HTTP),
    Subject("cohere classify", "llm.call", Clients.old, whole("classify", CLASSIFY), {}, **_HTTP),
    Subject("cohere summarize", "llm.call", Clients.old, whole("summarize", SUMMARIZE), {}, **_SPOKEN),
)

UNGATED = (
    Ungated("datasets, connectors, and tools that Cohere runs"),
    Ungated("SageMaker's endpoints, called through AWS's SDK (sagemaker_finetuning)"),
    Ungated("models", Clients.of, lambda clients: clients.sync.models.list()),
    Ungated("tokenize", Clients.of, lambda clients: clients.sync.tokenize(text="a", model="m", offline=False)),
    Ungated(
        "its HTTP client, used directly",
        Clients.of,
        lambda clients: clients.sync._client_wrapper.httpx_client.httpx_client.post(
            f"{clients.sync._client_wrapper.get_base_url()}/v2/chat", json={"model": "m", "messages": []}
        ),
    ),
)
