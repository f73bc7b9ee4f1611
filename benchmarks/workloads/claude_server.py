"""A server that speaks Anthropic's API, in a process of its own: its model uses a tool twice, then answers.

``python -m benchmarks.workloads.claude_server`` prints its port and ends with its standard input.
"""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

TOOL, DONE = "mcp__here__add", "All done."
_FIRST, _SECOND = "_first", "_second"
_numbers = count(1)

Json = dict[str, Any]


class Model(BaseHTTPRequestHandler):
    """The model."""

    def log_message(self, format: str, *args: Any) -> None:
        del format, args

    def do_POST(self) -> None:
        """Answer a request for a message as a stream of events, and any other with a count of tokens."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_message = asked.get("stream")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_message else "application/json")
        self.end_headers()
        if not is_message:
            self.wfile.write(b'{"input_tokens": 20}')
            return
        for event in _events(asked):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def _events(asked: Json) -> Iterator[Json]:
    number = next(_numbers)
    last = json.dumps(asked["messages"][-1])
    block: Json
    delta: Json
    usage = {"input_tokens": 20, "output_tokens": 1}
    message: Json = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [],
    }
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    if _SECOND in last or not asked.get("tools"):
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}, "end_turn"
    else:
        call_id = f"toolu_{number}{_SECOND if _FIRST in last else _FIRST}"
        block = {"type": "tool_use", "id": call_id, "name": TOOL, "input": {}}
        delta, reason = {"type": "input_json_delta", "partial_json": '{"a": 1, "b": 2}'}, "tool_use"
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 8}}
    yield {"type": "message_stop"}


def main() -> None:
    """Serve until standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
