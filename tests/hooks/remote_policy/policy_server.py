"""A server on loopback that answers as a policy service does, or as none should."""

import json
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.ports import free_port

Answer = Any
"""Plain data is sent as JSON with status 200, bytes as they are; see also ``Odd``."""


@dataclass
class Odd:
    """An answer that is not simply one with status 200.

    Attributes:
        status: The status.
        body: Plain data or bytes.
        cut: So many bytes less than announced are sent.
        wait: Seconds until the answer begins.
        drip: Seconds between two bytes.
        headers: Further headers.
    """

    status: int = 200
    body: Any = field(default_factory=dict)
    cut: int = 0
    wait: float = 0
    drip: float = 0
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    """One question."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class PolicyServer:
    """Answers what it is told to: an answer for all, or one after the other, or what a function gives.

    Attributes:
        seen: The questions.
        answers: The answers that are left; the last one stays.
    """

    def __init__(self, *answers: Answer | Callable[[Seen], Answer]) -> None:
        self.seen: list[Seen] = []
        self.answers = list(answers)
        self.over = threading.Event()
        self.url = ""

    def next(self, seen: Seen) -> Odd:
        self.seen.append(seen)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer = answer(seen)
        return answer if isinstance(answer, Odd) else Odd(body=answer)


@contextmanager
def serving(*answers: Answer | Callable[[Seen], Answer]) -> Generator[PolicyServer]:
    policy = PolicyServer(*answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # what is written leaves at once, and in one piece

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            answer = policy.next(Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, raw))
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            if answer.wait:
                policy.over.wait(answer.wait)
            try:
                self.send_response(answer.status)
                self.send_header("content-length", str(len(body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for at in range(len(body) - answer.cut) if answer.drip else ():
                    self.wfile.write(body[at : at + 1])
                    self.wfile.flush()
                    if policy.over.wait(answer.drip):
                        return
                if not answer.drip:
                    self.wfile.write(body[: len(body) - answer.cut])
                    self.wfile.flush()
            except OSError:
                return
            if answer.cut:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    policy.url = f"http://127.0.0.1:{server.server_address[1]}/v1/data/agents/allow"
    try:
        yield policy
    finally:
        policy.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def nobody() -> str:
    """An address that nobody listens at."""
    return f"http://127.0.0.1:{free_port()}/"


def took(since: float) -> float:
    return time.monotonic() - since
