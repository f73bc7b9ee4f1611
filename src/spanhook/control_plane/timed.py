"""Connections whose answers take a bounded time as a whole, however slowly they come.

Timeouts of sockets are for each read: a server that sends a byte now and then would keep its caller for ever.
"""

import io
import socket
import time
from http.client import HTTPResponse
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

READS = 2
"""How many timeouts of one read an answer may take from its first byte to its last."""


class _Raw(io.RawIOBase):
    """What comes over a socket, until a time."""

    def __init__(self, raw: io.RawIOBase, connected: socket.socket, read_s: float) -> None:
        self._raw, self._connected, self._read_s = raw, connected, read_s
        self._ends = time.monotonic() + READS * read_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._connected.settimeout(min(left, self._read_s))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(HTTPResponse):
    def __init__(self, sock: socket.socket, *given: Any, **named: Any) -> None:
        super().__init__(sock, *given, **named)
        read_s = sock.gettimeout()
        if read_s is not None:
            self.fp = io.BufferedReader(_Raw(self.fp.detach(), sock, read_s))


class _Connection(HTTPConnection):
    response_class = _Answer


class _SecureConnection(HTTPSConnection):
    response_class = _Answer


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection  # pyright: ignore[reportAssignmentType] - as urllib3's own class is


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection  # pyright: ignore[reportAssignmentType]


def pool(timeout: urllib3.Timeout) -> urllib3.PoolManager:
    """A pool of one connection that stays open.

    Args:
        timeout: The time to connect, and for each read; a whole answer may take ``READS`` times as long.
    """
    made = urllib3.PoolManager(num_pools=1, maxsize=1, retries=False, timeout=timeout)
    classes: Any = {"http": _Pool, "https": _SecurePool}
    made.pool_classes_by_scheme = classes
    return made
