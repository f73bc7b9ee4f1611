"""Every way of calling Groq through its SDK."""

from collections.abc import Callable
from typing import Any

from groq import AsyncGroq, DefaultAsyncHttpxClient, DefaultHttpxClient, Groq

from spanhook.cli.conformance.libraries.stainless_ways import Way, ways_of
from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES

CHAT: dict[str, Any] = {
    "model": "openai/gpt-oss-20b",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}],
}
EMBEDDINGS: dict[str, Any] = {"model": "nomic-embed-text-v1_5", "input": ["one", "two"]}
SOUND = ("a.mp3", b"sound")
ASKED = "Say hello."


def sync_client(url: str, **options: Any) -> Groq:
    """A client that does not retry, and loads no certificates, which would take longer than a test."""
    given: dict[str, Any] = {"http_client": DefaultHttpxClient(verify=NO_CERTIFICATES), "max_retries": 0, **options}
    return Groq(base_url=url, api_key="test", **given)


def async_client(url: str, **options: Any) -> AsyncGroq:
    """The async version of ``sync_client``."""
    given: dict[str, Any] = {
        "http_client": DefaultAsyncHttpxClient(verify=NO_CERTIFICATES),
        "max_retries": 0,
        **options,
    }
    return AsyncGroq(base_url=url, api_key="test", **given)


_CLIENTS = (sync_client, async_client)
WAYS = [
    *ways_of("chat", lambda client: client.chat.completions, CHAT, _CLIENTS),
    *ways_of(
        "embeddings", lambda client: client.embeddings, EMBEDDINGS, _CLIENTS, kind="embeddings.create", streams=False
    ),
]


def _read(made: Any) -> Any:
    """The bytes of a response, awaited if the client is async."""
    if not hasattr(made, "__await__"):
        return made.read()

    async def wait() -> bytes:
        return await (await made).read()

    return wait()


SOUNDS: dict[str, Callable[[Any], Any]] = {
    "speech": lambda client: _read(client.audio.speech.create(model="playai-tts", voice="Fritz-PlayAI", input=ASKED)),
    "transcription": lambda client: client.audio.transcriptions.create(
        model="whisper-large-v3", file=SOUND, prompt=ASKED
    ),
    "translation": lambda client: client.audio.translations.create(model="whisper-large-v3", file=SOUND, prompt=ASKED),
}
"""Ways of calling its endpoints for sound, by name; async clients return an awaitable."""

__all__ = ["ASKED", "CHAT", "EMBEDDINGS", "SOUND", "SOUNDS", "WAYS", "Way", "async_client", "sync_client"]
