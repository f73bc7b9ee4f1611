"""What is gated at Mistral's client, against a server on loopback."""

from functools import cache
from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries import mistralai_tools as tools
from spanhook.cli.conformance.libraries.mistralai_ways import (
    AGENTS,
    APPENDS,
    ASKED,
    CHAT,
    CHATS,
    CLASSIFIES,
    EMBEDS,
    FIMS,
    MODERATES,
    MODERATES_CHAT,
    RESPONSES,
    RESTARTS,
    SPEECH,
    STARTS,
    Api,
    azure,
    client,
    google,
    later,
    sync,
)
from spanhook.cli.conformance.servers.mistral_server import MistralServer
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated

_NONE = ("/moderations", "/classifications", "/ocr", "/audio/speech", "/batch/jobs")
"""Ends of paths without usage in tokens."""


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    if seen.path.endswith(_NONE):
        return 0
    return Tokens().input if seen.path.endswith("/embeddings") else Tokens().total


@cache
def _server() -> MistralServer:
    return MistralServer().__enter__()


def _client(body: Body) -> Any:
    return client(_server().url_for(Line(body, _tokens)))


def _azure(body: Body) -> Any:
    return azure(_server().url_for(Line(body, _tokens)))


def _google(body: Body) -> Any:
    return google(_server().url, _server().project_for(Line(body, _tokens)))


_HTTP: dict[str, Any] = {"asked": ASKED, "faults": OVER_HTTP, "slow": True}


def _spoken(name: str, api: Api, make: Any = _client, bind: Any = None) -> Subject:
    """An API that answers with text."""
    return Subject(name, "llm.call", make, api.ways, bind or {}, said=Reply.text, opened=api.opened, **_HTTP)


def _bound(api: Api, name: str) -> Any:
    def bind(client: Any) -> Any:
        method = getattr(api.of(client), name)
        return lambda: method(**api.given)

    return bind


_KEPT = {"create": _bound(CHATS, "complete"), "acreate": _bound(CHATS, "complete_async")}


def _has_google() -> bool:
    """Whether the client for Google Cloud can be used."""
    try:
        return find_spec("google.auth") is not None
    except ImportError:
        return False


def _newer() -> tuple[Subject, ...]:
    """What older versions lack."""
    found: list[Subject] = []
    if find_spec("mistralai.client.speech") is not None:
        found.append(Subject("mistralai speech", "llm.call", _client, SPEECH, {}, **_HTTP))
    if find_spec("mistralai.client.responses") is not None:
        ways = {name: (later if "async" in name else sync)(ask) for name, ask in RESPONSES.items()}
        opened: dict[str, Any] = {name: RESPONSES[name] for name in ("stream", "async stream")}
        found.append(
            Subject("mistralai responses", "llm.call", _client, ways, {}, said=Reply.text, opened=opened, **_HTTP)
        )
    return tuple(found)


SUBJECTS: tuple[Subject, ...] = (
    _spoken("mistralai chat", CHATS, bind=_KEPT),
    _spoken("mistralai agents", AGENTS),
    _spoken("mistralai fill-in-the-middle", FIMS),
    _spoken("mistralai conversations", STARTS),
    _spoken("mistralai conversations, continued", APPENDS),
    _spoken("mistralai conversations, restarted", RESTARTS),
    _spoken("mistralai on Azure", CHATS, _azure),
    *((_spoken("mistralai on Google Cloud", CHATS, _google),) if _has_google() else ()),
    Subject("mistralai embeddings", "embeddings.create", _client, EMBEDS.ways, {}, faults=OVER_HTTP, slow=True),
    *(
        Subject(f"mistralai {name}", "llm.call", _client, api.ways, {}, faults=OVER_HTTP, slow=True)
        for name, api in (
            ("moderation", MODERATES),
            ("moderation of chats", MODERATES_CHAT),
            ("classification", CLASSIFIES),
        )
    ),
    *_newer(),
    *tools.SUBJECTS,
)

UNGATED = (
    Ungated("realtime, and voice agents' models, over websockets"),
    Ungated("workflows, connectors and everything else that runs at Mistral's"),
    Ungated("files", _client, lambda client: client.files.list()),
    Ungated("models", _client, lambda client: client.models.list()),
    Ungated("reading what exists, such as batches", _client, lambda client: client.batch.jobs.list()),
    Ungated(
        "its HTTP client, used directly",
        _client,
        lambda client: client.sdk_configuration.client.post(
            f"{client.sdk_configuration.server_url}/v1/chat/completions", json=CHAT
        ),
    ),
)
