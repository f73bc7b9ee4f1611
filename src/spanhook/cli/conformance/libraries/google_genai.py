"""What is gated at Google's Gen AI client, against a server on loopback, and what is not."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from google.genai import Client

from spanhook.cli.conformance.libraries import google_genai_ways as ways
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated

_USED = {
    "generatecontent": Tokens().total,
    "streamgeneratecontent": Tokens().total,
    "batchembedcontents": Tokens().input,
    "predict": Tokens().input,
    "interactions": Tokens().total,
}
"""The usage that the server reports, by method."""


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    method = re.split("[:/]", seen.path.partition("?")[0])[-1].lower()
    count = len(seen.body.get("instances") or [None])
    return _USED.get(method, 0) * count


@cache
def _server() -> GoogleServer:
    return GoogleServer().__enter__()


def _client(make: Callable[[str], Client]) -> Callable[[Body], Client]:
    """A client, created before anything is instrumented."""
    return lambda body: make(_server().url_for(Line(body, _tokens)))


def _kept(api: Any) -> Callable[[], Any]:
    return ways.kept(api, api.models.generate_content)


def _akept(api: Any) -> Callable[[], Any]:
    return ways.kept(api, api.aio.models.generate_content)


def _opened(api: Any) -> Any:
    return api.models.generate_content_stream(**ways.CONTENT)


def _aopened(api: Any) -> Any:
    return api.aio.models.generate_content_stream(**ways.CONTENT)


_HTTP: dict[str, Any] = {"faults": OVER_HTTP, "slow": True}
_CONTENT: dict[str, Any] = {
    "bind": {"generate_content": _kept, "agenerate_content": _akept},
    "said": Reply.text,
    "asked": ways.ASKED,
    "opened": {"stream": _opened, "async stream": _aopened},
    **_HTTP,
}


def _interaction(api: Any) -> Any:
    return api.interactions.create(**ways.INTERACTION, stream=True)


def _ainteraction(api: Any) -> Any:
    return api.aio.interactions.create(**ways.INTERACTION, stream=True)


_HERE = hasattr(Client, "interactions")  # not in the oldest versions
_INTERACTIONS = Subject(
    "google_genai interactions",
    "llm.call",
    _client(ways.client),
    ways.INTERACTIONS if _HERE else {},
    {},
    said=Reply.text,
    asked=ways.ASKED,
    lacking=() if _HERE else tuple(ways.INTERACTIONS),
    opened={"stream": _interaction, "async stream": _ainteraction} if _HERE else {},
    **_HTTP,
)

SUBJECTS: tuple[Subject, ...] = (
    Subject("google_genai content", "llm.call", _client(ways.client), ways=ways.WAYS, **_CONTENT),
    Subject("google_genai content, Vertex AI", "llm.call", _client(ways.vertex), ways=ways.DIRECT, **_CONTENT),
    Subject("google_genai embeddings", "embeddings.create", _client(ways.client), ways.EMBEDDINGS, {}, **_HTTP),
    Subject(
        "google_genai embeddings, Vertex AI", "embeddings.create", _client(ways.vertex), ways.EMBEDDINGS, {}, **_HTTP
    ),
    _INTERACTIONS,
)

UNGATED = (
    Ungated("live sessions and live interactions, which are websockets"),
    Ungated(
        "counting tokens",
        _client(ways.client),
        lambda api: api.models.count_tokens(model=ways.MODEL, contents=ways.ASKED),
    ),
    Ungated("files, caches and tuned models", _client(ways.client), lambda api: list(api.files.list())),
    Ungated("reading what exists, such as batches", _client(ways.client), lambda api: list(api.batches.list())),
)
