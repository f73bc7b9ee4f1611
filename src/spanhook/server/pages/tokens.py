"""Tokens that only our own pages put into forms, against forms of other sites (CSRF).

A token is derived from the session's cookie; without one, from a cookie with a random text.
"""

import hashlib
import hmac
import secrets
from typing import Literal, NamedTuple

from starlette.responses import Response

from spanhook.server import sessions
from spanhook.server._requests import Scope, cookie, header, host_of
from spanhook.server.addresses import is_loopback

COOKIE = "spanhook_form"
FIELD = "csrf"


class Token(NamedTuple):
    """A token.

    Attributes:
        token: What a form sends.
        cookie: The cookie that the browser needs for it; empty if it has one.
    """

    token: str
    cookie: str = ""


def of(scope: Scope) -> Token:
    """The token for the forms of a page."""
    known = _base(scope)
    fresh = "" if known else secrets.token_urlsafe(32)
    return Token(_derived(known or fresh), fresh)


def holds(scope: Scope, given: str) -> bool:
    """Whether a form has the token of its page."""
    known = _base(scope)
    return bool(known) and hmac.compare_digest(_derived(known).encode(), given.encode("utf-8", "replace"))


def keep(
    response: Response,
    value: str,
    scope: Scope,
    *,
    name: str = COOKIE,
    seconds: int | None = None,
    path: str = "/",
    samesite: Literal["strict", "lax"] = "strict",
) -> None:
    """Set a cookie that is sent to this server alone, and only by its own pages, or, if ``lax``, also if a page of
    another site leads here.

    It is never sent over plain HTTP, but for a server on this machine.
    """
    local = is_loopback(host_of(header(scope, "host") or ""))
    response.set_cookie(name, value, max_age=seconds, path=path, secure=not local, httponly=True, samesite=samesite)


def _base(scope: Scope) -> str:
    return cookie(scope, sessions.COOKIE) or cookie(scope, COOKIE)


def _derived(base: str) -> str:
    return hmac.new(base.encode(), b"spanhook form", hashlib.sha256).hexdigest()
