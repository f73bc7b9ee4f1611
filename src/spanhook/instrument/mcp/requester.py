"""What a server knows of who sent a request."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.model import Attributes


def over_http(request: Any) -> Attributes:
    """Attributes of a request that came over HTTP, if it did."""
    if request is None:
        return {}
    return {semconv.NETWORK_TRANSPORT: "tcp", semconv.NETWORK_PROTOCOL_NAME: "http"}


def _token(request: Any) -> Any:
    """The access token that the server's own authentication has accepted."""
    scope = getattr(request, "scope", None)
    return getattr(scope.get("user"), "access_token", None) if isinstance(scope, Mapping) else None


def whose(request: Any) -> Mapping[str, str]:
    """The user for whom the client has its access token, if that says so."""
    subject = getattr(_token(request), "subject", None)
    return {"user_id": subject} if isinstance(subject, str) and subject else {}


def facts(client: Any, meta: Mapping[str, Any], request: Any) -> dict[str, Any]:
    """What hooks may want to know of it."""
    found: dict[str, Any] = {"_meta": dict(meta)} if meta else {}
    if client is not None:
        found["client"] = {"name": client.name, "version": client.version}
    token = _token(request)
    if token is not None:
        found["client_id"], found["scopes"] = token.client_id, list(token.scopes)
    return found
