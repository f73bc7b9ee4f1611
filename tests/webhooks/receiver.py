"""A receiver of webhooks on loopback that checks signatures with the reference library."""

import ssl
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from standardwebhooks.webhooks import Webhook

Reply = tuple[int, dict[str, str]]


class Receiver:
    """What was received.

    Attributes:
        url: Where it listens.
        host: The same without the scheme.
        secret: What signatures are checked with; empty for none.
        events: The bodies of requests that were accepted, as data, in their order.
        requests: The headers of all requests, with names in lower case, and ``:path``.
        accepted: The same of those that were accepted.
    """

    def __init__(self, port: int, scheme: str, replies: Iterable[Reply], secret: str) -> None:
        self.host, self.url, self.secret = f"127.0.0.1:{port}", f"{scheme}://127.0.0.1:{port}/hook", secret
        self.port = port
        self.events = list[Any]()
        self.requests, self.accepted = list[dict[str, str]](), list[dict[str, str]]()
        self._replies, self._lock = iter(replies), Lock()

    def wait_for(self, count: int) -> None:
        """Wait until so many different events have been accepted."""
        ends = time.monotonic() + 60
        while len({event["id"] for event in list(self.events)}) < count:
            assert time.monotonic() < ends, f"{len(self.events)} of {count} events"
            time.sleep(0.005)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """What to answer to a request. A wrong signature raises, and the connection breaks."""
        with self._lock:
            event = Webhook(self.secret).verify(body, headers) if self.secret else None
            self.requests.append({**headers, ":path": path})
            status, given = next(self._replies, (204, {}))
            if status < 300:
                self.events.append(event)
                self.accepted.append(self.requests[-1])
            return status, given


@contextmanager
def receiving(
    *replies: int | Reply, secret: str = "", context: ssl.SSLContext | None = None, port: int = 0
) -> Generator[Receiver]:
    """A receiver that answers with these statuses, and headers, and then with 204."""
    given = [one if isinstance(one, tuple) else (one, dict[str, str]()) for one in replies]
    take: list[Callable[[str, dict[str, str], bytes], Reply]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, further = take[0](self.path, headers, body)
            self.send_response(status)
            for name, value in further.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    received = Receiver(server.server_address[1], "http" if context is None else "https", given, secret)
    take.append(received.take)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
