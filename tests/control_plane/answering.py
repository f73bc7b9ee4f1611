"""A server on loopback that gives the answers it is told to, right or wrong."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Answering:
    """What the server answers, and what it was asked.

    Attributes:
        url: Its address.
        status, content, headers: The answer to ``GET``.
        report_status: The answer to reports.
        asked: The requests: method, path and headers.
        reports: The reports.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.status, self.content, self.headers = 200, b"", dict[str, str]()
        self.report_status = 200
        self.asked = list[tuple[str, str, dict[str, str]]]()
        self.reports = list[dict[str, Any]]()

    def sends(self, content: bytes, etag: str = '"1"') -> None:
        """Answer with a set from now on."""
        self.status, self.content, self.headers = 200, content, {"ETag": etag}


@contextmanager
def answering() -> Generator[Answering]:
    """A server that runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            told.asked.append(("GET", self.path, dict(self.headers)))
            known = self.headers.get("If-None-Match")
            if told.status == 200 and known is not None and known == told.headers.get("ETag"):
                self._answer(304, b"", told.headers)
            else:
                self._answer(told.status, told.content, told.headers)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.asked.append(("POST", self.path, dict(self.headers)))
            told.reports.append(json.loads(body))
            self._answer(told.report_status, b"{}", {})

        def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told = Answering(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
