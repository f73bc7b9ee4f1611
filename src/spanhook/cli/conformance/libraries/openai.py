"""What is gated at OpenAI's client, against a server on loopback."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from operator import attrgetter
from typing import Any

from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

from spanhook.cli.conformance.libraries.openai_endpoints import IMAGES, MODERATIONS, SOUNDS, VIDEOS, Ask
from spanhook.cli.conformance.libraries.openai_tools import LACKING, SAID, TOOL_WAYS, Tooled
from spanhook.cli.conformance.libraries.openai_ways import CHAT, EMBEDDINGS, RESPONSES, TEXT, WAYS, Way
from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated, Use

_ONCE = type(DEFAULT_CONNECTION_LIMITS)(max_keepalive_connections=0)  # a connection is not reused on another event loop


_OTHERS = ("/images/", "/audio/", "/moderations", "/videos")
_REPORTING = ("gpt-image-1", "gpt-4o-transcribe")
"""Models for the APIs that report tokens."""


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    if seen.path.endswith("/embeddings"):
        return Tokens().input
    if seen.path.startswith(_OTHERS):
        return Tokens().input + Tokens().output if seen.body.get("model") in _REPORTING else 0
    streams = seen.body.get("stream")
    options: dict[str, Any] = seen.body.get("stream_options") or {}
    reports = not streams or "/responses" in seen.path or options.get("include_usage")
    return Tokens().input + Tokens().output if reports else 0


@cache
def _server() -> OpenAIServer:
    return OpenAIServer().__enter__()


def counting_into(body: Body) -> str:
    """A base URL of the single server, whose requests count as runs of ``body``."""
    return serving(Line(body, _tokens))


def serving(line: Line) -> str:
    """A base URL of the single server, whose requests are recorded in ``line``."""
    return _server().url_for(line)


def connections() -> dict[str, Any]:
    return {
        "http_client": DefaultHttpxClient(verify=NO_CERTIFICATES, limits=_ONCE),
        "http_async_client": DefaultAsyncHttpxClient(verify=NO_CERTIFICATES, limits=_ONCE),
    }


@dataclass
class Clients:
    """One client of each kind, created before anything is instrumented."""

    sync: OpenAI
    later: AsyncOpenAI

    @classmethod
    def of(cls, body: Body) -> "Clients":
        ours = connections()
        given: dict[str, Any] = {"base_url": counting_into(body), "api_key": "test", "max_retries": 0}
        return cls(
            OpenAI(http_client=ours["http_client"], **given),
            AsyncOpenAI(http_client=ours["http_async_client"], **given),
        )


def _use(way: Way) -> Use:
    return lambda clients: way.ask(clients.later if way.is_async else clients.sync)


_HOWS = ("create", "stream", "raw", "raw stream", "streaming lines", "streaming parsed", "manager")


def _ways(api: str) -> dict[str, Use]:
    names = {f"{prefix}{api} {how}" for prefix in ("", "async ") for how in _HOWS}
    return {way.name.replace(f"{api} ", "", 1): _use(way) for way in WAYS if way.name in names}


_ALIKE = ("transcription as text", "translation", "texts", "parts", "remix")
"""Ways that differ from others only in what is sent."""


def _both(ways: dict[str, Ask]) -> dict[str, Use]:
    """Each way, with a sync and an async client."""
    ways = {name: ask for name, ask in ways.items() if name not in _ALIKE}
    sync = {name: _by_client(ask) for name, ask in ways.items()}
    return sync | {f"async {name}": _by_async_client(ask) for name, ask in ways.items()}


def _by_client(ask: Ask) -> Use:
    return lambda clients: ask(clients.sync)


def _by_async_client(ask: Ask) -> Use:
    return lambda clients: ask(clients.later)


def _under_trio(api: str) -> dict[str, Use]:
    """Ways of the async client under Trio, if that is installed."""
    if find_spec("trio") is None:
        return {}
    names = {f"async {api} {how}": f"trio {how}" for how in ("create", "stream")}
    return {names[way.name]: _on_trio(way) for way in WAYS if way.name in names}


def _on_trio(way: Way) -> Use:
    def use(clients: Clients) -> Any:
        import trio

        return trio.run(way.ask, clients.later)

    return use


def _opened(api: str, given: dict[str, Any]) -> dict[str, Use]:
    """Both clients' streams, unread."""
    create, asked = attrgetter(f"{api}.create"), {**given, "stream": True}
    return {
        "stream": lambda clients: create(clients.sync)(**asked),
        "async stream": lambda clients: create(clients.later)(**asked),
    }


def _bound(method: Any, given: dict[str, Any]) -> Any:
    return lambda: method(**given)


def _parsed(method: Any, given: dict[str, Any]) -> Any:
    return lambda: method(**given).parse()


HTTP: dict[str, Any] = {"asked": "Say hello.", "faults": OVER_HTTP, "slow": True}
"""What subjects over HTTP have in common."""

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "openai chat",
        "llm.call",
        Clients.of,
        {**_ways("chat"), **_under_trio("chat")},
        {
            "create": lambda clients: _bound(clients.sync.chat.completions.create, CHAT),
            "acreate": lambda clients: _bound(clients.later.chat.completions.create, CHAT),
            "raw": lambda clients: _parsed(clients.sync.chat.completions.with_raw_response.create, CHAT),
        },
        said=Reply.text,
        opened=_opened("chat.completions", CHAT),
        **HTTP,
    ),
    Subject(
        "openai responses",
        "llm.call",
        Clients.of,
        _ways("responses"),
        {
            "create": lambda clients: _bound(clients.sync.responses.create, RESPONSES),
            "acreate": lambda clients: _bound(clients.later.responses.create, RESPONSES),
            "raw": lambda clients: _parsed(clients.sync.responses.with_raw_response.create, RESPONSES),
        },
        said=Reply.text,
        opened=_opened("responses", RESPONSES),
        **HTTP,
    ),
    Subject(
        "openai embeddings",
        "embeddings.create",
        Clients.of,
        _ways("embeddings"),
        {
            "create": lambda clients: _bound(clients.sync.embeddings.create, EMBEDDINGS),
            "acreate": lambda clients: _bound(clients.later.embeddings.create, EMBEDDINGS),
        },
        faults=OVER_HTTP,
        slow=True,
    ),
    *(
        Subject(f"openai {name}", "llm.call", Clients.of, _both(ways), {}, faults=OVER_HTTP, slow=True)
        for name, ways in (
            ("images", IMAGES),
            ("audio", SOUNDS),
            ("moderations", MODERATIONS),
            ("videos", VIDEOS),
        )
        if ways
    ),
)


MORE = (
    Subject(
        "openai completions",
        "llm.call",
        Clients.of,
        _ways("text"),
        {},
        said=Reply.text,
        opened=_opened("completions", TEXT),
        **HTTP,
    ),
    Subject(
        "openai decisions",
        "llm.call",
        Clients.of,
        _ways("decisions"),
        {},
        faults=OVER_HTTP,
        slow=True,
        lacking=() if hasattr(OpenAI, "decisions") else ("create", "async create"),
    ),
    *(
        ()
        if VIDEOS
        else (Subject("openai videos", "llm.call", Clients.of, {}, {}, lacking=("create", "async create")),)
    ),
    Subject("openai tools", "tool.execute", Tooled.of, {}, {}, lacking=tuple(TOOL_WAYS))
    if LACKING
    else Subject("openai tools", "tool.execute", Tooled.of, TOOL_WAYS, {}, said=SAID, raises=False),
)
"""What the client's own tests call in every way; here, only the command does."""

UNGATED = (
    Ungated("files", Clients.of, lambda clients: clients.sync.files.list()),
    Ungated("reading what exists, such as batches", Clients.of, lambda clients: clients.sync.batches.list()),
    Ungated("vector stores", Clients.of, lambda clients: clients.sync.vector_stores.create(name="x")),
    Ungated("conversations", Clients.of, lambda clients: clients.sync.conversations.create()),
    Ungated(
        "its HTTP client, used directly",
        Clients.of,
        lambda clients: clients.sync._client.post(f"{clients.sync.base_url}chat/completions", json=CHAT),
    ),
    Ungated("realtime and other WebSockets"),
)
