"""Requests that an operation sends to a server in this process, whose task serves them elsewhere.

A sender gives such a request an id that nobody can guess, so that no other request passes for one.
"""

from collections.abc import Generator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

_senders: dict[Any, Any] = {}


@contextmanager
def sent(sender: Any) -> Generator[str]:
    """A block that sends a request on behalf of the operation ``sender``; gives the id that the request has to have."""
    request_id = f"spanhook-{token_hex(16)}"
    _senders[request_id] = sender
    try:
        yield request_id
    finally:
        del _senders[request_id]


def sender_of(request_id: object) -> Any:
    """The operation that has sent a request; ``None`` if it comes from elsewhere."""
    return _senders.get(request_id) if isinstance(request_id, str) else None
