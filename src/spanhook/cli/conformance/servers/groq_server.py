"""A small Groq server on loopback: OpenAI's, with Groq's usage and with ``x_groq`` in its chunks."""

from collections.abc import Iterator

from spanhook.cli.conformance.servers import openai_bodies as bodies
from spanhook.cli.conformance.servers.openai_replies import Json, Reply
from spanhook.cli.conformance.servers.openai_server import Handler, OpenAIServer

_TIMES = {"queue_time": 0.01, "prompt_time": 0.002, "completion_time": 0.05, "total_time": 0.052}


class _Answering(Handler):
    def say(self, path: str, body: Json, reply: Reply) -> None:
        if path.endswith("/chat/completions"):
            self.answer(body, reply, _whole(body, reply), _events(body, reply))
        else:
            super().say(path, body, reply)


class GroqServer(OpenAIServer):
    """The server: scripted like OpenAI's."""

    handler = _Answering

    @property
    def url(self) -> str:
        """The base URL for Groq's clients, whose paths begin with ``/openai/v1``."""
        return self.origin


def _usage(reply: Reply) -> Json:
    return {**reply.tokens.chat(), **_TIMES}


def _whole(body: Json, reply: Reply) -> Json:
    return {**bodies.chat(body, reply), "usage": _usage(reply), "x_groq": {"id": "req_1"}}


def _events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    """The events of OpenAI's stream; the first one with Groq's id, the last with usage too."""
    for index, (name, data) in enumerate(bodies.chat_events(body, reply)):
        if isinstance(data, str):
            yield name, data
        elif index == 0:
            yield name, {**data, "x_groq": {"id": "req_1"}}
        elif any(choice["finish_reason"] for choice in data["choices"]):
            yield name, {**data, "x_groq": {"id": "req_1", "usage": _usage(reply)}}
        else:
            yield name, data
