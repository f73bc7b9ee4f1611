"""A small Bedrock on loopback: real HTTP, JSON, and AWS's binary stream of events."""

import base64
import json
import struct
from collections.abc import Iterable, Iterator
from zlib import crc32

from spanhook.cli.conformance.servers import bedrock_bodies as bodies
from spanhook.cli.conformance.servers.openai_replies import Json, Reply
from spanhook.cli.conformance.servers.openai_server import Handler, OpenAIServer

_ERRORS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_STRING = 7
"""The type of a header that is text."""


class _Answering(Handler):
    def date_time_string(self, timestamp: float | None = None) -> str:
        """Always the same: the SDK puts headers in what it returns."""
        return "Thu, 01 Jan 2026 00:00:00 GMT"

    @staticmethod
    def error_body(status: int, code: str, message: str) -> Json:
        kind = code or _ERRORS.get(status, "InternalServerException")
        return {"__type": kind, "message": message or "Something went wrong."}

    def say(self, path: str, body: Json, reply: Reply) -> None:
        model, _, operation = path.removeprefix("/model/").rpartition("/")
        if operation == "converse":
            self.json(200, bodies.converse(reply), reply.headers, reply)
        elif operation == "converse-stream":
            self._events(reply, bodies.converse_events(reply))
        elif operation == "invoke":
            headers = reply.headers or {
                "x-amzn-bedrock-input-token-count": str(reply.tokens.input),
                "x-amzn-bedrock-output-token-count": str(reply.tokens.output),
            }
            self.json(200, bodies.invoked(model, body, reply), headers, reply)
        elif operation == "invoke-with-response-stream":
            self._events(reply, _parts(bodies.invoked_chunks(model, body, reply)))
        else:
            self.unknown()

    def _events(self, reply: Reply, events: Iterable[tuple[str, Json]]) -> None:
        self._head(200, "application/vnd.amazon.eventstream", {**reply.headers, "transfer-encoding": "chunked"})
        try:
            for index, (kind, told) in enumerate(events):
                if index == reply.cut:
                    self._hang_up()
                    return
                if index and reply.gate is not None:
                    reply.gate.wait(10.0)
                self._chunk(frame(kind, told))
            self._chunk(b"")
        except (BrokenPipeError, ConnectionResetError):  # the client closed the connection
            self.close_connection = True


class BedrockServer(OpenAIServer):
    """The server: scripted like OpenAI's."""

    handler = _Answering

    @property
    def url(self) -> str:
        """The endpoint for AWS's clients."""
        return self.origin


def frame(kind: str, told: Json) -> bytes:
    """An event, or an exception if its name says so, in AWS's binary form.

    https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html
    """
    sort = "exception" if kind.endswith("Exception") else "event"
    names = {f":{sort}-type": kind, ":content-type": "application/json", ":message-type": sort}
    headers = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", _STRING, len(value)) + value.encode()
        for name, value in names.items()
    )
    payload = json.dumps(told).encode()
    prelude = struct.pack("!II", len(headers) + len(payload) + 16, len(headers))
    said = prelude + struct.pack("!I", crc32(prelude)) + headers + payload
    return said + struct.pack("!I", crc32(said))


def _parts(chunks: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    for one in chunks:
        yield "chunk", {"bytes": base64.b64encode(json.dumps(one).encode()).decode()}
