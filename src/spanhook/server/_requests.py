"""What can be read of an ASGI request before anything is done for it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

Scope = Mapping[str, Any]

CHANGES = frozenset(("POST", "PUT", "PATCH", "DELETE"))
"""Methods that change something."""


PAGES = frozenset(
    (
        *("", "login", "logout", "events", "static"),
        *("runs", "decisions", "jobs", "schedules", "usage", "budgets", "hooks", "approvals", "webhooks"),
    )
)
"""The first part of the paths of web pages."""


def is_page(path: str) -> bool:
    """Whether a path is one of the web pages, not of the HTTP API."""
    return path.startswith("/") and path[1:].partition("/")[0] in PAGES


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks for a web page, so that a problem is told as one, too."""
    return is_page(scope["path"]) and "text/html" in (header(scope, "accept") or "")


def cookie(scope: Scope, name: str) -> str:
    """The value of a cookie; empty if it is not there."""
    for part in (header(scope, "cookie") or "").split(";"):
        known, _, value = part.strip().partition("=")
        if known == name:
            return value
    return ""


def header(scope: Scope, name: str) -> str | None:
    """The value of a header, without surrounding spaces; ``None`` if it is not there, or there twice."""
    wanted = name.lower().encode()
    found = [value for known, value in scope["headers"] if known == wanted]
    return found[0].decode("latin-1").strip() if len(found) == 1 else None


def has(scope: Scope, name: str) -> bool:
    """Whether a header is there."""
    wanted = name.lower().encode()
    return any(known == wanted for known, _ in scope["headers"])


def host_of(authority: str) -> str:
    """The host of a ``Host`` header or an authority, in lower case, without port and brackets; empty if it is none."""
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return ""
    if "@" in authority or parts.path or parts.query or parts.fragment:
        return ""
    return (parts.hostname or "").rstrip(".")


def address_of(scope: Scope) -> str:
    """The address that the connection comes from; empty for a socket without one."""
    client = scope.get("client")
    return str(client[0]) if client else ""
