"""A small server of Cohere's API on loopback."""

import re
from collections.abc import Callable

from spanhook.cli.conformance.servers import cohere_bodies as bodies
from spanhook.cli.conformance.servers.openai_replies import Json, Reply
from spanhook.cli.conformance.servers.openai_server import Handler, OpenAIServer

_EVENTS, _LINES = "text/event-stream", "application/stream+json"
_STREAMED: dict[str, tuple[Callable[[Json, Reply], Json], Callable[[Json, Reply], bodies.Events]]] = {
    "^/v2/chat$": (bodies.chat, bodies.chat_events),
    "^/chat$": (bodies.chat_v1, bodies.chat_v1_events),
    "^/generate$": (bodies.generation, bodies.generation_events),
}
_WHOLE: dict[str, Callable[[Json, Reply], Json]] = {
    "/embed$": bodies.embed,
    "/rerank$": bodies.rerank,
    "/classify$": bodies.classify,
    "/summarize$": bodies.summary,
    "/audio/transcriptions$": bodies.sound,
    "/parse$": bodies.document,
}


class _Answering(Handler):
    def date_time_string(self, timestamp: float | None = None) -> str:
        return "Thu, 01 Jan 2026 00:00:00 GMT"  # the SDK's errors show it

    @staticmethod
    def error_body(status: int, code: str, message: str) -> Json:  # noqa: ARG004
        return {"id": "error-1", "message": message or "Something went wrong."}

    def say(self, path: str, body: Json, reply: Reply) -> None:
        for pattern, (whole, events) in _STREAMED.items():
            if re.search(pattern, path):
                self.media = _EVENTS if "v2" in path else _LINES
                self.answer(body, reply, whole(body, reply), events(body, reply))
                return
        for pattern, made in _WHOLE.items():
            if re.search(pattern, path):
                self.json(200, made(body, reply), reply.headers, reply)
                return
        self.unknown()

    def framed(self, name: str, text: str) -> bytes:
        return f"{text}\n".encode() if self.media == _LINES else super().framed(name, text)


class CohereServer(OpenAIServer):
    """The server: scripted like OpenAI's. Paths of version 1 are recorded without their version, as OpenAI's are."""

    handler = _Answering

    @property
    def url(self) -> str:
        """The base URL for Cohere's clients, whose paths begin with their version."""
        return self.origin
