"""Parameters of pages. Forms send those that nobody has filled in as empty texts."""

from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import Query

from spanhook.server.problems import Problem

Filter = Annotated[str, Query(max_length=200)]
Cursor = Annotated[str, Query(max_length=500)]


def time_in(given: str, name: str) -> datetime | None:
    """A time as a form sends it, in UTC unless it says otherwise; ``None`` for none.

    Raises:
        Problem: It is none.
    """
    if not given:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise Problem("invalid", f"{name} is {given!r}; expected a time such as 2026-01-31T12:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def day_in(given: str, name: str) -> date | None:
    """A day as a form sends it; ``None`` for none.

    Raises:
        Problem: It is none.
    """
    if not given:
        return None
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise Problem("invalid", f"{name} is {given!r}; expected a day such as 2026-01-31") from None
