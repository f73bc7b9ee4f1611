"""A small server of Mistral's API on loopback, and of its models on Azure and Google Cloud."""

import re
from collections.abc import Callable

from spanhook.cli.conformance.servers import mistral_bodies as bodies
from spanhook.cli.conformance.servers.openai_replies import Json, Reply
from spanhook.cli.conformance.servers.openai_server import Handler, OpenAIServer
from spanhook.cli.conformance.servers.requests import Seen

_PROJECT = re.compile(r"^/v1/projects/~(\d+)/")
_STREAMED: dict[str, tuple[Callable[[Json, Reply], Json], Callable[[Json, Reply], bodies.Events]]] = {
    "/(chat|agents|fim)/completions$": (bodies.chat, bodies.chat_events),
    ":(stream)?rawpredict$": (bodies.chat, bodies.chat_events),
    "/conversations(/[^/]+(/restart)?)?$": (bodies.conversation, bodies.conversation_events),
    "/audio/transcriptions$": (bodies.transcription, bodies.transcription_events),
}
_WHOLE: dict[str, Callable[[Json, Reply], Json]] = {
    "/embeddings$": bodies.embeddings,
    "/moderations$": bodies.moderation,
    "/classifications$": bodies.classification,
    "/ocr$": bodies.ocr,
    "/audio/speech$": bodies.speech,
    "/batch/jobs$": bodies.batch,
}


class _Answering(Handler):
    @staticmethod
    def error_body(status: int, code: str, message: str) -> Json:
        return {
            "object": "error",
            "message": message or "Something went wrong.",
            "type": "invalid_request_error",
            "param": None,
            "code": code or str(status),
        }

    def say(self, path: str, body: Json, reply: Reply) -> None:
        for pattern, (whole, events) in _STREAMED.items():
            if re.search(pattern, path):
                self.answer(body, reply, whole(body, reply), events(body, reply))
                return
        for pattern, made in _WHOLE.items():
            if re.search(pattern, path):
                self.json(200, made(body, reply), reply.headers, reply)
                return
        super().say(path, body, reply)


class MistralServer(OpenAIServer):
    """The server: scripted like OpenAI's."""

    handler = _Answering

    @property
    def url(self) -> str:
        """The base URL for Mistral's clients, whose paths begin with ``/v1``."""
        return self.origin

    def project_for(self, requests: list[Seen]) -> str:
        """A project of Google Cloud, whose requests are recorded in ``requests``."""
        return self.url_for(requests).rpartition("/")[2]

    def line_of(self, path: str) -> tuple[list[Seen], str]:
        found = _PROJECT.match(path)
        return super().line_of(path if found is None else f"/~{found[1]}{path}")
