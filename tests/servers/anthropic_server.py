"""A small Anthropic on loopback: real HTTP and the provider's wire format, in a thread of the test's own process.

It counts its requests in ``requests`` and answers each alike; ``failing`` says how many of the next get an error.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from spanhook.conformance.loopback import Server

Json = dict[str, Any]
INPUT, OUTPUT = 20, 8


class AnthropicServer:
    """The server; ``requests`` has the JSON of each request that came in."""

    def __init__(self) -> None:
        self.requests: list[Json] = []
        self.failing = 0
        owner = self

        class Handler(_Handler):
            server_of = owner

        self._http = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.stop()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server_of: AnthropicServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the requests are kept."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        owner = self.server_of
        owner.requests.append(asked)
        if owner.failing:
            owner.failing -= 1
            told: Json = {"type": "error", "error": {"type": "api_error", "message": "no"}}
            self._send(500, "application/json", json.dumps(told))
        elif asked.get("stream"):
            events = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in _events(asked))
            self._send(200, "text/event-stream", events)
        else:
            content = [{"type": "text", "text": "hello there"}]
            self._send(200, "application/json", json.dumps({**_message(asked), "content": content}))

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _message(asked: Json) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": INPUT, "output_tokens": OUTPUT},
    }


def _events(asked: Json) -> list[Json]:
    return [
        {"type": "message_start", "message": {**_message(asked), "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello there"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": OUTPUT},
        },
        {"type": "message_stop"},
    ]
