"""Every way of calling models through Google's Gen AI SDK."""

from collections.abc import Callable
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.genai import Client, _api_client, types

from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES
from spanhook.cli.conformance.subject import Use

ASKED = "Say hello."
MODEL = "gemini-2.5-flash"
CONTENT: dict[str, Any] = {
    "model": MODEL,
    "contents": ASKED,
    "config": {"system_instruction": "Be brief.", "temperature": 0.5},
}
EMBEDDED: dict[str, Any] = {"model": "gemini-embedding-001", "contents": ["one", "two"]}
_USED = vars(_api_client).get("_DEFAULT_HTTP_CLIENT_BACKEND", "httpx")
_HTTP: Any = vars(_api_client)[_USED]  # the library that this version uses


def options(url: str, **more: Any) -> types.HttpOptions:
    """Options of clients for a server at a URL, which do not retry.

    Async ones keep no connections, which belong to an event loop.
    """
    once = _HTTP.Limits(max_keepalive_connections=0)
    transport = _HTTP.AsyncHTTPTransport(verify=NO_CERTIFICATES, limits=once)
    attempts = types.HttpRetryOptions(attempts=1)
    given: dict[str, Any] = {"client_args": {"verify": NO_CERTIFICATES}, "async_client_args": {"transport": transport}}
    given |= {"retry_options": attempts, **more}
    return types.HttpOptions(base_url=url, **given)


def client(url: str, **more: Any) -> Client:
    """A client of the Gemini API, which is that of the server at ``url``."""
    return Client(api_key="test", http_options=options(url, **more))


def vertex(url: str, **more: Any) -> Client:
    """A client of Vertex AI, which is that of the server at ``url``."""
    credentials: Any = AnonymousCredentials()
    credentials.token = "test"  # the SDK wants one
    where: Any = {"vertexai": True, "project": "acme", "location": "us-central1"}
    return Client(**where, credentials=credentials, http_options=options(url, **more))


def facts(response: Any) -> Any:
    """What a response says, apart from its headers."""
    told = response.model_dump(exclude={"sdk_http_response"}, exclude_none=True)
    return type(response).__name__, told


async def collected(stream: Any) -> list[Any]:
    """Everything that an async iterator yields."""
    return [one async for one in stream]


def _both(name: str, sync: Callable[[Any], Any], later: Callable[[Any], Any]) -> dict[str, Use]:
    return {name: sync, f"async {name}": later}


async def _awaited(made: Any) -> Any:
    return facts(await made)


async def _astreamed(made: Any) -> Any:
    return list(map(facts, await collected(await made)))


def generate(api: Any) -> Any:
    return facts(api.models.generate_content(**CONTENT))


def agenerate(api: Any) -> Any:
    return _awaited(api.aio.models.generate_content(**CONTENT))


def stream(api: Any) -> Any:
    return list(map(facts, api.models.generate_content_stream(**CONTENT)))


def astream(api: Any) -> Any:
    return _astreamed(api.aio.models.generate_content_stream(**CONTENT))


def _chat(api: Any) -> Any:
    return api.chats.create(model=MODEL, config=CONTENT["config"])


def chat(api: Any) -> Any:
    return facts(_chat(api).send_message(ASKED))


def achat(api: Any) -> Any:
    return _awaited(_chat(api.aio).send_message(ASKED))


def chat_stream(api: Any) -> Any:
    return list(map(facts, _chat(api).send_message_stream(ASKED)))


def achat_stream(api: Any) -> Any:
    return _astreamed(_chat(api.aio).send_message_stream(ASKED))


def kept(api: Client, call: Callable[..., Any]) -> Callable[[], Any]:
    """A call of a method that was bound before; the client closes its connections when it is freed."""

    def again(_api: Client = api) -> Any:
        made = call(**CONTENT)
        return _awaited(made) if hasattr(made, "__await__") else facts(made)

    return again


DIRECT: dict[str, Use] = {**_both("generate", generate, agenerate), **_both("stream", stream, astream)}
WAYS: dict[str, Use] = {
    **DIRECT,
    **_both("chat", chat, achat),
    **_both("chat stream", chat_stream, achat_stream),
}


def embed(api: Any) -> Any:
    return facts(api.models.embed_content(**EMBEDDED))


def aembed(api: Any) -> Any:
    return _awaited(api.aio.models.embed_content(**EMBEDDED))


EMBEDDINGS = _both("embed", embed, aembed)

INTERACTION: dict[str, Any] = {"model": MODEL, "input": ASKED, "system_instruction": "Be brief."}


def interact(api: Any) -> Any:
    return facts(api.interactions.create(**INTERACTION))


def ainteract(api: Any) -> Any:
    return _awaited(api.aio.interactions.create(**INTERACTION))


def interaction_stream(api: Any) -> Any:
    return list(map(facts, api.interactions.create(**INTERACTION, stream=True)))


def ainteraction_stream(api: Any) -> Any:
    return _astreamed(api.aio.interactions.create(**INTERACTION, stream=True))


INTERACTIONS = {**_both("create", interact, ainteract), **_both("stream", interaction_stream, ainteraction_stream)}

__all__ = [
    "ASKED",
    "CONTENT",
    "DIRECT",
    "EMBEDDED",
    "EMBEDDINGS",
    "INTERACTION",
    "INTERACTIONS",
    "MODEL",
    "WAYS",
    "client",
    "collected",
    "facts",
    "kept",
    "options",
    "vertex",
]
