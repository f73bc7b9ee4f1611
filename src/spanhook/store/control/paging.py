"""Pages of rows, the newest first: a cursor says after which row the next page begins, so that nothing is counted."""

import base64
import binascii
import struct
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, literal, tuple_

from spanhook.errors import SpanhookError

T = TypeVar("T")
MOST_ROWS = 1000
_PLACE = struct.Struct(">qq")


class CursorError(SpanhookError, ValueError):
    """A cursor is not one that a page gave."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows.

    Attributes:
        rows: The rows.
        cursor: Where the next page begins; empty if this is the last one.
    """

    rows: tuple[T, ...]
    cursor: str


def after(cursor: str) -> tuple[int, int] | None:
    """The place that a cursor stands for; ``None`` for the first page.

    Raises:
        CursorError: It is no cursor.
    """
    if not cursor:
        return None
    try:
        time_ns, number = _PLACE.unpack(base64.urlsafe_b64decode(cursor.encode()))
    except (struct.error, binascii.Error, ValueError):
        raise CursorError(f"cursor={cursor[:40]!r}: expected the one that came with the page before") from None
    return time_ns, number


def bounds(limit: int) -> int:
    """How many rows a page has."""
    return max(1, min(limit, MOST_ROWS))


def paged(
    query: Select[Any], time_ns: ColumnElement[int], id: ColumnElement[int], cursor: str, limit: int
) -> Select[Any]:
    """A query for a page: one row more than that, by which ``page`` knows whether there are others.

    Args:
        query: All rows.
        time_ns, id: What they are ordered by; together different for each row.
        cursor: Where the page begins.
        limit: How many rows it has.

    Raises:
        CursorError: It is no cursor.
    """
    place = after(cursor)
    if place is not None:
        query = query.where(tuple_(time_ns, id) < tuple_(*(literal(one, time_ns.type) for one in place)))
    return query.order_by(time_ns.desc(), id.desc()).limit(bounds(limit) + 1)


def page(rows: list[T], places: list[tuple[int, int]], limit: int) -> Page[T]:
    """A page of what such a query found.

    Args:
        rows: What it found.
        places: The time and the id of each.
        limit: How many rows the page has.
    """
    size = bounds(limit)
    more = len(rows) > size
    cursor = base64.urlsafe_b64encode(_PLACE.pack(*places[size - 1])).decode() if more else ""
    return Page(tuple(rows[:size]), cursor)
