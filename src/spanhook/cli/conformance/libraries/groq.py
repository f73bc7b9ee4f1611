"""What is gated at Groq's client, against a server on loopback."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from groq import DEFAULT_CONNECTION_LIMITS, AsyncGroq, DefaultAsyncHttpxClient, DefaultHttpxClient, Groq

from spanhook.cli.conformance.libraries.groq_ways import CHAT, EMBEDDINGS, SOUNDS, WAYS, Way
from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES
from spanhook.cli.conformance.servers.groq_server import GroqServer
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated, Use

_ONCE = type(DEFAULT_CONNECTION_LIMITS)(max_keepalive_connections=0)  # a connection is not reused on another event loop
_USED = {"/chat/completions": Tokens().input + Tokens().output, "/embeddings": Tokens().input}
"""The usage that the server reports, by the end of the path."""


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    return _USED.get(seen.path.removeprefix("/openai/v1"), 0)


@cache
def _server() -> GroqServer:
    return GroqServer().__enter__()


@dataclass
class Clients:
    """One client of each kind, created before anything is instrumented."""

    sync: Groq
    later: AsyncGroq

    @classmethod
    def of(cls, body: Body) -> "Clients":
        url = _server().url_for(Line(body, _tokens))
        given: dict[str, Any] = {"base_url": url, "api_key": "test", "max_retries": 0}
        return cls(
            Groq(http_client=DefaultHttpxClient(verify=NO_CERTIFICATES, limits=_ONCE), **given),
            AsyncGroq(http_client=DefaultAsyncHttpxClient(verify=NO_CERTIFICATES, limits=_ONCE), **given),
        )


def _use(way: Way) -> Use:
    return lambda clients: way.ask(clients.later if way.is_async else clients.sync)


_HOWS = ("create", "stream", "raw", "raw stream", "streaming lines", "streaming parsed")


def _ways(api: str) -> dict[str, Use]:
    names = {f"{prefix}{api} {how}" for prefix in ("", "async ") for how in _HOWS}
    return {way.name.replace(f"{api} ", "", 1): _use(way) for way in WAYS if way.name in names}


def _both(ways: dict[str, Callable[[Any], Any]]) -> dict[str, Use]:
    """Each way, with a sync and an async client."""

    def sync(ask: Callable[[Any], Any]) -> Use:
        return lambda clients: ask(clients.sync)

    def later(ask: Callable[[Any], Any]) -> Use:
        return lambda clients: ask(clients.later)

    return {name: sync(ask) for name, ask in ways.items()} | {f"async {name}": later(ask) for name, ask in ways.items()}


def _bound(method: Any, given: dict[str, Any]) -> Any:
    return lambda: method(**given)


_HTTP: dict[str, Any] = {"asked": "Say hello.", "faults": OVER_HTTP, "slow": True}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "groq chat",
        "llm.call",
        Clients.of,
        _ways("chat"),
        {
            "create": lambda clients: _bound(clients.sync.chat.completions.create, CHAT),
            "acreate": lambda clients: _bound(clients.later.chat.completions.create, CHAT),
        },
        said=Reply.text,
        opened={
            "stream": lambda clients: clients.sync.chat.completions.create(**CHAT, stream=True),
            "async stream": lambda clients: clients.later.chat.completions.create(**CHAT, stream=True),
        },
        **_HTTP,
    ),
    Subject(
        "groq embeddings",
        "embeddings.create",
        Clients.of,
        _ways("embeddings"),
        {"create": lambda clients: _bound(clients.sync.embeddings.create, EMBEDDINGS)},
        faults=OVER_HTTP,
        slow=True,
    ),
    Subject("groq audio", "llm.call", Clients.of, _both(SOUNDS), {}, faults=OVER_HTTP, slow=True),
)

UNGATED = (
    Ungated("files", Clients.of, lambda clients: clients.sync.files.list()),
    Ungated("models", Clients.of, lambda clients: clients.sync.models.list()),
    Ungated("reading what exists, such as batches", Clients.of, lambda clients: clients.sync.batches.list()),
    Ungated(
        "its HTTP client, used directly",
        Clients.of,
        lambda clients: clients.sync._client.post(f"{clients.sync.base_url}openai/v1/chat/completions", json=CHAT),
    ),
)
