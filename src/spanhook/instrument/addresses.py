"""The server of a URL."""

from functools import lru_cache
from urllib.parse import urlsplit


@lru_cache(1000)
def address_of(url: str) -> tuple[str, int]:
    """The host and port of a URL; empty and 0 if it has none.

    Raises:
        ValueError: Its port is not a number, or out of range.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        return "", 0
    return parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)
