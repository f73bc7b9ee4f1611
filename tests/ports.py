"""Ports of the loopback interface for servers that tests start."""

import socket


def free_port() -> int:
    """A port that nobody else gets, before its server starts or while that is stopped, until this process ends.

    It stays bound here. Servers can listen on it all the same, since they let an address be used again; whoever asks
    the system for a port, or connects from one, gets another.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _held.append(held)
    return held.getsockname()[1]


def free_ports(count: int) -> list[int]:
    """As many of them."""
    return [free_port() for _ in range(count)]


_held: list[socket.socket] = []
