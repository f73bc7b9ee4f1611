"""Which errors speak against what was called, and not against the call."""

from collections.abc import Iterable
from typing import Any


class Faults:
    """Tells failures of what was called from other errors.

    Args:
        status_codes: HTTP statuses below 500 that are failures.
        ignore: Names of classes of exceptions that are none.
    """

    def __init__(self, status_codes: Iterable[int], ignore: Iterable[str]) -> None:
        self._status_codes = frozenset(status_codes)
        self._ignore = frozenset(ignore)

    def include(self, error: BaseException | None) -> bool:
        """Whether this error is a failure: by its HTTP status if it has one, otherwise by its class."""
        if error is None:
            return True
        if any(cls.__name__ in self._ignore for cls in type(error).__mro__):
            return False
        status = _status(error)
        return status is None or status >= 500 or status in self._status_codes


def _status(error: BaseException) -> int | None:
    """The HTTP status, where clients put it: OpenAI's, Anthropic's, Google's, httpx, requests, urllib, aiohttp."""
    for place in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value: Any = getattr(place, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
                return int(value)
    return None
