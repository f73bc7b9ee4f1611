"""Cursors of pages: where the next page begins. They are opaque to callers, and grant nothing."""

import base64
import json
from typing import Any, cast

from spanhook.server.problems import Problem

_MOST = 2**63 - 1


def cursor_of(number: int, text: str = "") -> str:
    """A cursor after the row with this key."""
    return base64.urlsafe_b64encode(json.dumps([number, text]).encode()).decode().rstrip("=")


def position(cursor: str) -> tuple[int, str]:
    """The key that a cursor was made of.

    Raises:
        Problem: It is no cursor.
    """
    try:
        found: Any = json.loads(base64.urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}".encode("ascii")))
    except (ValueError, RecursionError):
        raise _invalid() from None
    if not isinstance(found, list) or len(cast("list[Any]", found)) != 2:
        raise _invalid()
    number, text = cast("list[Any]", found)
    if type(number) is not int or not 0 <= number <= _MOST or not isinstance(text, str):
        raise _invalid()
    return number, text


def _invalid() -> Problem:
    return Problem("invalid", "cursor: expected next_cursor of the page before")
