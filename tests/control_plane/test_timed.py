import itertools
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
import urllib3

from spanhook.control_plane import client
from spanhook.control_plane.client import Client, Unreachable
from spanhook.control_plane.timed import pool
from tests.control_plane.answering import answering

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


@contextmanager
def dripping(head: bytes, drops: Iterator[bytes]) -> Generator[str]:
    """A server that sends the rest of its answer drop by drop, and never ends."""
    over = threading.Event()

    def serve() -> None:
        connected, _ = listening.accept()
        with connected:
            connected.recv(65536)
            connected.sendall(head)
            for drop in drops:
                if over.wait(0.02):
                    return
                try:
                    connected.sendall(drop)
                except OSError:  # the other side has given up
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    ("head", "drops"),
    [
        (HEAD, itertools.repeat(b"x")),
        (b"HTTP/1.1 200 OK\r\n", (b"%c" % letter for letter in itertools.cycle(b"X-Name: value of it\r\n"))),
        (b"", itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", itertools.repeat(b"1\r\nx\r\n")),
    ],
    ids=["body", "headers", "continue", "chunks"],
)
def test_an_answer_that_drips_is_given_up(head: bytes, drops: Iterator[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_TIMEOUT", urllib3.Timeout(connect=3, read=0.2))
    with dripping(head, drops) as url, pytest.raises(Unreachable) as caught:
        Client(url, None).fetch("")
    assert caught.value.kind in ("timeout", "connection")


def test_the_last_answer_of_a_connection_is_read_too() -> None:
    with answering() as server:
        server.sends(b"a set" * 100_000)
        server.headers["Connection"] = "close"
        for _ in range(2):
            assert Client(server.url, None).fetch("").content == server.content


def test_a_connection_stays_open() -> None:
    with answering() as server:
        server.sends(b"a set" * 100_000)
        asked = pool(urllib3.Timeout(connect=3, read=10))
        for _ in range(3):
            assert asked.request("GET", server.url).data == server.content
        found = asked.connection_from_url(server.url)
        assert (found.num_connections, found.num_requests) == (1, 3)
