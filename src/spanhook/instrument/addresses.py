"""Which server a URL is of."""

from functools import lru_cache
from urllib.parse import urlsplit


@lru_cache(1000)
def address_of(url: str) -> tuple[str, int]:
    """The host and port of a URL; empty and 0 where it has none.

    Raises:
        ValueError: Its port is no number, or none that there can be.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        return "", 0
    return parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)
