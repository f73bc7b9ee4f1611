"""A policy service on loopback that the load's remote policies ask; it keeps count of what it has answered."""

import atexit
import json
import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

TOO_MUCH, NOT_NOW = "a large amount", "while the bank is closed"
"""What it denies, and what it answers with status 500; all else it allows."""
SILENT = "/silent"
"""A path below which it never answers."""


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.startswith(SILENT):
            self.rfile.read(1)  # until nobody waits any more
            self.close_connection = True
            return
        about = question["arguments"]["about"]
        status = 500 if about == NOT_NOW else 200
        answer = "failed" if about == NOT_NOW else "denied" if about == TOO_MUCH else "allowed"
        _service.count(answer)
        body = b"true" if answer == "allowed" else b"false"
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: Any) -> None: ...


class _Service(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.answers: Counter[str] = Counter()
        self._lock = threading.Lock()
        atexit.register(self.server_close)

    def count(self, answer: str) -> None:
        with self._lock:
            self.answers[answer] += 1

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of whoever stopped waiting."""


_service = _Service()
URL = f"http://127.0.0.1:{_service.server_port}"
"""Where it is, from the import on; it answers while it is served."""


@contextmanager
def serving() -> Generator[Counter[str], None, None]:
    """Answer while the block runs, also if the environment has a proxy for all addresses.

    Returns:
        How often it has answered what since then.
    """
    _service.answers = answers = Counter[str]()
    before = os.environ.get("no_proxy")
    known = before or os.environ.get("NO_PROXY", "")
    os.environ["no_proxy"] = f"{known},127.0.0.1" if known else "127.0.0.1"
    thread = threading.Thread(
        target=_service.serve_forever, kwargs={"poll_interval": 0.05}, name="spanhook-load-policies"
    )
    thread.start()
    try:
        yield answers
    finally:
        _service.shutdown()
        thread.join()
        if before is None:
            del os.environ["no_proxy"]
        else:
            os.environ["no_proxy"] = before
