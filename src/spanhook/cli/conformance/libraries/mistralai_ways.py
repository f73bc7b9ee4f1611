"""Every way of calling Mistral's models through its SDK, and the clients that call them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mistralai.azure.client import MistralAzure
from mistralai.client import Mistral, basesdk

from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES
from spanhook.cli.conformance.subject import Use

httpx: Any = vars(basesdk)["httpx"]  # or httpx2
ASKED = "Say hello."
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": ASKED},
]
CHAT: dict[str, Any] = {"model": "mistral-large-latest", "messages": MESSAGES}
AGENT: dict[str, Any] = {"agent_id": "ag_1", "messages": MESSAGES[1:]}
FIM: dict[str, Any] = {"model": "codestral-latest", "prompt": ASKED, "suffix": "end"}
TALK: dict[str, Any] = {"model": "mistral-medium-latest", "inputs": ASKED, "instructions": "Be brief."}
MORE: dict[str, Any] = {
    "conversation_id": "conv_1",
    "inputs": [{"type": "message.input", "role": "user", "content": ASKED}],
}
RESTART: dict[str, Any] = {**MORE, "from_entry_id": "msg_1"}
EMBEDDINGS: dict[str, Any] = {"model": "mistral-embed", "inputs": ["one", "two"]}
SOUND: dict[str, Any] = {"file_name": "a.mp3", "content": b"sound"}
DOCUMENT: dict[str, Any] = {"type": "document_url", "document_url": "https://example.com/a.pdf"}

Ask = Callable[[Any], Any]
"""Makes a call with a client."""


def http_clients() -> dict[str, Any]:
    """Clients that load no certificates, which would take longer than a test, and keep no connection for another
    event loop.
    """
    given: dict[str, Any] = {"verify": NO_CERTIFICATES, "limits": httpx.Limits(max_keepalive_connections=0)}
    return {"client": httpx.Client(**given), "async_client": httpx.AsyncClient(**given)}


def client(url: str, **more: Any) -> Mistral:
    """A client of Mistral's own API."""
    return Mistral(api_key="test", server_url=url, **{**http_clients(), **more})


def azure(url: str) -> MistralAzure:
    """A client of Mistral's models on Azure."""
    return MistralAzure(api_key="test", server_url=url, **http_clients())


def google(url: str, project: str) -> Any:
    """A client of Mistral's models on Google Cloud; it needs the SDK's extra ``gcp``."""
    from mistralai.gcp.client import MistralGCP

    return MistralGCP(project_id=project, access_token="test", server_url=url, **http_clients())  # noqa: S106


def _facts(made: Any) -> Any:
    return list(made) if hasattr(made, "__next__") else made


def sync(ask: Ask) -> Use:
    """Makes a call, and reads its stream if it returns one."""
    return lambda client: _facts(ask(client))


def later(ask: Ask) -> Use:
    """``sync`` for async calls."""

    async def use(client: Any) -> Any:
        made = await ask(client)
        return [one async for one in made] if hasattr(made, "__anext__") else made

    return use


class Closable:
    """A stream of a version in which streams are only closed as context managers."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Any:
        return iter(self._stream)

    def close(self) -> None:
        self._stream.__exit__(None, None, None)


class LaterClosable:
    """The same for async streams."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __aiter__(self) -> Any:
        return aiter(self._stream)

    async def close(self) -> None:
        await self._stream.__aexit__(None, None, None)


def _closable(ask: Ask) -> Ask:
    def use(client: Any) -> Any:
        made = ask(client)
        return made if hasattr(made, "close") else Closable(made)

    return use


def _later_closable(ask: Ask) -> Ask:
    async def use(client: Any) -> Any:
        made = await ask(client)
        return made if hasattr(made, "close") else LaterClosable(made)

    return use


@dataclass(frozen=True)
class Api:
    """One API.

    Attributes:
        of: Gets it from a client.
        given: The arguments.
        whole, stream: The names of its methods; no stream if empty. The async ones have the suffix ``_async``.
    """

    of: Ask
    given: dict[str, Any]
    whole: str = "complete"
    stream: str = "stream"

    def asked(self, name: str) -> Ask:
        return lambda client: getattr(self.of(client), name)(**self.given)

    @property
    def ways(self) -> dict[str, Use]:
        found = {"create": sync(self.asked(self.whole)), "async create": later(self.asked(f"{self.whole}_async"))}
        if self.stream:
            found["stream"] = sync(self.asked(self.stream))
            found["async stream"] = later(self.asked(f"{self.stream}_async"))
        return found

    @property
    def opened(self) -> dict[str, Use]:
        if not self.stream:
            return {}
        return {
            "stream": _closable(self.asked(self.stream)),
            "async stream": _later_closable(self.asked(f"{self.stream}_async")),
        }


CHATS = Api(lambda client: client.chat, CHAT)
AGENTS = Api(lambda client: client.agents, AGENT)
FIMS = Api(lambda client: client.fim, FIM)
STARTS = Api(lambda client: client.beta.conversations, TALK, "start", "start_stream")
APPENDS = Api(lambda client: client.beta.conversations, MORE, "append", "append_stream")
RESTARTS = Api(lambda client: client.beta.conversations, RESTART, "restart", "restart_stream")
EMBEDS = Api(lambda client: client.embeddings, EMBEDDINGS, "create", "")
TRANSCRIBES = Api(lambda client: client.audio.transcriptions, {"model": "voxtral-mini-latest", "file": SOUND})
MODERATES = Api(
    lambda client: client.classifiers, {"model": "mistral-moderation-latest", "inputs": [ASKED]}, "moderate", ""
)
MODERATES_CHAT = Api(
    lambda client: client.classifiers,
    {"model": "mistral-moderation-latest", "inputs": MESSAGES[1:]},
    "moderate_chat",
    "",
)
CLASSIFIES = Api(lambda client: client.classifiers, {"model": "ft:classifier", "inputs": [ASKED]}, "classify", "")
READS = Api(lambda client: client.ocr, {"model": "mistral-ocr-latest", "document": DOCUMENT}, "process", "")


def _speaks(*, streams: bool) -> Ask:
    return lambda client: client.audio.speech.complete(model="voxtral-tts", input=ASKED, voice_id="v", stream=streams)


def _responds(name: str, *, streams: bool) -> Ask:
    given = {"model": "mistral-large-latest", "input": ASKED, "instructions": "Be brief.", "stream": streams}
    return lambda client: getattr(client.responses, name)(**given)


SPEECH: dict[str, Use] = {"create": sync(_speaks(streams=False))}
RESPONSES: dict[str, Ask] = {
    "create": _responds("create", streams=False),
    "async create": _responds("create_async", streams=False),
    "stream": _responds("create", streams=True),
    "async stream": _responds("create_async", streams=True),
}
