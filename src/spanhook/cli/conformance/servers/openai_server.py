"""A small OpenAI server on loopback: real HTTP and the provider's wire format, in a thread of the test's own process.

    with OpenAIServer() as server:
        client = OpenAI(base_url=server.url, api_key="test")
        client.chat.completions.create(model="gpt-4o-mini", messages=[...])
        assert server.requests[0].body["model"] == "gpt-4o-mini"

It gives every request the same answer by default: ``script`` sets the replies to the next requests, ``reply`` the reply
to all others. Nothing waits, unless ``Reply.gate`` or ``Reply.hold`` is set.
"""

import email
import json
import re
import sys
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import unquote

from spanhook.cli.conformance.servers import openai_bodies as bodies
from spanhook.cli.conformance.servers import other_endpoints
from spanhook.cli.conformance.servers.loopback import Server
from spanhook.cli.conformance.servers.openai_replies import Call, Json, Reply, Tokens, error, error_body
from spanhook.cli.conformance.servers.requests import Line, Seen

__all__ = ["Call", "OpenAIServer", "Reply", "Seen", "Tokens", "error"]


class Handler(BaseHTTPRequestHandler):
    owner: "OpenAIServer"
    line: list[Seen]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    media = "text/event-stream"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the requests are recorded."""

    def do_GET(self) -> None:
        self._take({})
        self.unknown()

    do_DELETE = do_GET

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        content, kind = self.rfile.read(length), self.headers.get("content-type") or ""
        body = _form(content, kind) if kind.startswith("multipart/") else json.loads(content or b"{}")
        path = self._take(body)
        reply = self.owner.next()
        if isinstance(self.line, Line):
            reply = self.line.reply(reply)
        if reply.hold is not None:
            reply.hold.wait(10.0)
        if reply.status != 200:
            self.json(reply.status, self.error_body(reply.status, reply.code, reply.message), reply.headers)
        elif reply.body is not None:
            self.json(200, reply.body, reply.headers, reply)
        else:
            self.say(path, body, reply)

    @staticmethod
    def error_body(status: int, code: str, message: str) -> Json:
        """The JSON of an error."""
        return error_body(status, code, message)

    def say(self, path: str, body: Json, reply: Reply) -> None:
        """Answer the request at this lower-case path."""
        if (other := other_endpoints.answer(path, body, reply.text, reply.tokens.responses())) is not None:
            self._other(body, reply, other)
        elif path.endswith("/embeddings"):
            self.json(200, bodies.embeddings(body, reply), reply.headers, reply)
        elif path.endswith("/decisions"):
            self.json(200, bodies.decision(body, reply), reply.headers, reply)
        elif path.endswith("/chat/completions"):
            self.answer(body, reply, bodies.chat(body, reply), bodies.chat_events(body, reply))
        elif path.endswith("/completions"):
            self.answer(body, reply, bodies.text(body, reply), bodies.text_events(body, reply))
        elif path.endswith(("/responses", "/responses/compact")):
            self.answer(body, reply, bodies.response(body, reply), bodies.response_events(body, reply))
        else:
            self.unknown()

    def unknown(self) -> None:
        """Answer that the path does not exist."""
        self.json(404, self.error_body(404, "", ""), {})

    def _take(self, body: Json) -> str:
        self.line, path = self.owner.line_of(self.path)
        path = path.removeprefix("/v1")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.line.append(Seen(self.command, path, body, headers))
        return re.sub("/+", "/", unquote(path).partition("?")[0]).rstrip("/").lower()

    def _other(self, body: Json, reply: Reply, answer: Any) -> None:
        if isinstance(answer, bytes):
            self._head(200, "audio/mpeg", {**reply.headers, "content-length": str(len(answer))})
            self.wfile.write(answer)
        elif isinstance(answer, str):
            self._head(200, "text/plain", {**reply.headers, "content-length": str(len(answer.encode()))})
            self.wfile.write(answer.encode())
        else:
            self.answer(body, reply, answer, other_endpoints.events(answer))

    def answer(self, body: Json, reply: Reply, whole: Json, events: Iterator[tuple[str, Json | str]]) -> None:
        if body.get("stream") in (True, "true"):
            self._stream(reply, events)
        else:
            self.json(200, whole, reply.headers, reply)

    def json(self, status: int, body: Json, headers: dict[str, str], reply: Reply | None = None) -> None:
        content, pack = json.dumps(body).encode(), _packer(reply)
        if pack is not None:
            content = pack.compress(content) + pack.flush()
        headers = {**headers, **_encoding(reply), "content-length": str(len(content))}
        self._head(status, "application/json", headers)
        is_cut = reply is not None and reply.cut is not None
        self.wfile.write(content[: len(content) // 2] if is_cut else content)
        if is_cut:
            self._hang_up()

    def _stream(self, reply: Reply, events: Iterator[tuple[str, Json | str]]) -> None:
        pack = _packer(reply)
        headers = {**reply.headers, **_encoding(reply), "transfer-encoding": "chunked"}
        self._head(200, self.media, headers)
        try:
            for index, (name, data) in enumerate(events):
                if index == reply.cut:
                    self._hang_up()
                    return
                if index and reply.gate is not None:
                    reply.gate.wait(10.0)
                content = self.framed(name, data if isinstance(data, str) else json.dumps(data))
                self._chunk(content if pack is None else pack.compress(content) + pack.flush(zlib.Z_SYNC_FLUSH))
            if pack is not None:
                self._chunk(pack.flush())
            self._chunk(b"")
        except (BrokenPipeError, ConnectionResetError):  # the client closed the connection
            self.close_connection = True

    def framed(self, name: str, text: str) -> bytes:
        """An event of a stream."""
        head = f"event: {name}\n" if name else ""
        return f"{head}data: {text}\n\n".encode()

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _head(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("x-request-id", f"req_{len(self.owner.requests)}")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True


class _Server(Server):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect; print everything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class OpenAIServer:
    """The server. Requests are recorded in ``requests``.

    Attributes:
        handler: The request handler class.
        requests: Every request received at ``url``, in order.
        reply: The reply to requests without a scripted one.
    """

    handler: type[Handler] = Handler

    def __init__(self, reply: Reply | None = None) -> None:
        self.requests: list[Seen] = []
        self._lines: list[list[Seen]] = []
        self.reply = reply or Reply()
        self._script: deque[Reply] = deque()
        self._http = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.stop()
        self._thread.join()
        self._http.server_close()

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def origin(self) -> str:
        """The endpoint for Azure clients."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"{self.origin}/v1"

    def url_for(self, requests: list[Seen]) -> str:
        """Another base URL, whose requests are recorded in ``requests``, however late they arrive."""
        self._lines.append(requests)
        return self.url.replace(self.origin, f"{self.origin}/~{len(self._lines) - 1}")

    def line_of(self, path: str) -> tuple[list[Seen], str]:
        """Where a request at ``path`` is recorded, and its path as if it had come to ``url``."""
        if not path.startswith("/~"):
            return self.requests, path
        line, slash, rest = path[2:].partition("/")
        return self._lines[int(line)], slash + rest

    def script(self, *replies: Reply | str) -> None:
        """Set the replies to the next requests, one each; a string is a reply with that text."""
        self._script.extend(Reply(text=one) if isinstance(one, str) else one for one in replies)

    def next(self) -> Reply:
        """The reply to the next request."""
        return self._script.popleft() if self._script else self.reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Answering", (self.handler,), {"owner": self})


def _form(content: bytes, kind: str) -> Json:
    """The fields of a form; for files, their size in bytes."""
    parsed = email.message_from_bytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + content)
    fields: Json = {}
    for part in parsed.get_payload():
        entry: Any = part
        value = entry.get_payload(decode=True)
        name = entry.get_param("name", header="content-disposition")
        fields[name] = f"{len(value)} bytes" if entry.get_filename() else value.decode()
    return fields


def _encoding(reply: Reply | None) -> dict[str, str]:
    return {"content-encoding": reply.encoding} if reply is not None and reply.encoding else {}


def _packer(reply: Reply | None) -> Any:
    if reply is None or not reply.encoding:
        return None
    return zlib.compressobj(wbits=31 if reply.encoding == "gzip" else 15)
