"""What is gated at OpenAI's client: the SDK itself, and LangChain's models over it, against a server on loopback."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import trio
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient
from openai import OpenAI as Client

from tests.conformance.subjects import CHAT_BIND, CHAT_WAYS, EMBEDDINGS_WAYS, TEXT_WAYS, Body, Subject, Use
from tests.instrument.openai_ways import CHAT, EMBEDDINGS, RESPONSES, WAYS, Way
from tests.servers.openai_server import OpenAIServer, Seen

_ONCE = type(DEFAULT_CONNECTION_LIMITS)(
    max_keepalive_connections=0
)  # a connection is not used again on another event loop


class Heard(list[Seen]):
    """The requests of one subject."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self._body = body

    def append(self, seen: Seen, /) -> None:
        super().append(seen)
        self._body.run(seen)


@cache
def _server() -> OpenAIServer:
    return OpenAIServer().__enter__()


def _connections() -> dict[str, Any]:
    return {
        "http_client": DefaultHttpxClient(verify=False, limits=_ONCE),
        "http_async_client": DefaultAsyncHttpxClient(verify=False, limits=_ONCE),
    }


@dataclass
class Clients:
    """One of each, made before anything is instrumented."""

    sync: Client
    later: AsyncOpenAI

    @classmethod
    def of(cls, body: Body) -> "Clients":
        server = _server()
        server.requests = Heard(body)
        ours = _connections()
        given: dict[str, Any] = {"base_url": server.url, "api_key": "test", "max_retries": 0}
        return cls(
            Client(http_client=ours["http_client"], **given),
            AsyncOpenAI(http_client=ours["http_async_client"], **given),
        )


def _use(way: Way) -> Use:
    return lambda clients: way.ask(clients.later if way.is_async else clients.sync)


_HOWS = ("create", "stream", "raw", "raw stream", "streaming lines", "streaming parsed", "manager")


def _ways(api: str) -> dict[str, Use]:
    names = {f"{prefix}{api} {how}" for prefix in ("", "async ") for how in _HOWS}
    return {way.name: _use(way) for way in WAYS if way.name in names}


def _under_trio(api: str) -> dict[str, Use]:
    """Ways of the async client where Trio runs it; ``test_trio`` has more."""
    names = {f"async {api} {how}" for how in ("create", "stream")}
    return {way.name.replace("async", "trio"): _on_trio(way) for way in WAYS if way.name in names}


def _on_trio(way: Way) -> Use:
    return lambda clients: trio.run(way.ask, clients.later)


def _langchain(made: type[Any], body: Body, **options: Any) -> Any:
    server = _server()
    server.requests = Heard(body)
    return made(base_url=server.url, api_key="test", max_retries=0, **_connections(), **options)


def _chat(body: Body) -> Any:
    return _langchain(ChatOpenAI, body, model="gpt-4o-mini")


def _responses(body: Body) -> Any:
    return _langchain(ChatOpenAI, body, model="gpt-4o-mini", use_responses_api=True)


def _text(body: Body) -> Any:
    return _langchain(OpenAI, body, model="gpt-3.5-turbo-instruct")


def _embeddings(body: Body) -> Any:
    return _langchain(OpenAIEmbeddings, body, model="text-embedding-3-small", check_embedding_ctx_length=False)


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "openai chat",
        "llm.call",
        Clients.of,
        {**_ways("chat"), **_under_trio("chat")},
        {
            "create": lambda clients: _bound(clients.sync.chat.completions.create, CHAT),
            "acreate": lambda clients: _bound(clients.later.chat.completions.create, CHAT),
            "raw": lambda clients: _bound(clients.sync.chat.completions.with_raw_response.create, CHAT),
        },
    ),
    Subject(
        "openai responses",
        "llm.call",
        Clients.of,
        _ways("responses"),
        {
            "create": lambda clients: _bound(clients.sync.responses.create, RESPONSES),
            "acreate": lambda clients: _bound(clients.later.responses.create, RESPONSES),
            "raw": lambda clients: _bound(clients.sync.responses.with_raw_response.create, RESPONSES),
        },
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
    ),
    Subject("ChatOpenAI", "llm.call", _chat, CHAT_WAYS, CHAT_BIND),
    Subject(
        "ChatOpenAI responses",
        "llm.call",
        _responses,
        # The Responses API knows no `stop`, and LangChain 1.0 hands it on all the same.
        {**CHAT_WAYS, "bound": lambda model: model.bind(temperature=0.5).invoke("hi")},
        CHAT_BIND,
    ),
    Subject("langchain OpenAI", "llm.call", _text, TEXT_WAYS, {}),
    Subject("OpenAIEmbeddings", "embeddings.create", _embeddings, EMBEDDINGS_WAYS, {}),
)


def _bound(method: Any, given: dict[str, Any]) -> Any:
    return lambda: method(**given)
