"""How a request reads: method, route, headers, body; and its response."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, cast

from starlette.exceptions import HTTPException

from spanhook import semconv
from spanhook.errors import HookError, Reject
from spanhook.instrument.layers import STARLETTE
from spanhook.instrument.starlette.incoming import Incoming, Scope
from spanhook.instrument.starlette.routes import route_of
from spanhook.instrument.starlette.whose import whose
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Change,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    Usage,
    exact_text,
)

METHODS = frozenset(("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"))


def _start(scope: Scope, _args: Args, _kwargs: Kwargs) -> Attributes:
    method = str(scope["method"])
    return {semconv.HTTP_REQUEST_METHOD: method if method in METHODS else "_OTHER", semconv.HTTP_ROUTE: route_of(scope)}


def _request(_scope: Scope, args: Args, _kwargs: Kwargs) -> Request:
    incoming: Incoming = args[0]
    return Request(inputs=incoming.inputs())


def _rewrite(_scope: Scope, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    incoming: Incoming = args[0]
    inputs: Any = change.inputs
    if not isinstance(inputs, Mapping):
        raise HookError(f"op.replace(inputs=...) takes a mapping, not {type(inputs).__name__}")
    return (incoming.rewritten(cast("Mapping[str, Any]", inputs)),), kwargs


def _response(result: Any) -> tuple[Attributes, Usage | None]:
    return {semconv.HTTP_RESPONSE_STATUS_CODE: result["status_code"]} if result else {}, None


def _output(result: Any) -> list[Message]:
    """The body, if it is text."""
    body = result.get("body") if result else None
    if not body:
        return []
    try:
        return [{"role": "assistant", "parts": [{"type": "text", "content": body.decode()}]}]
    except UnicodeDecodeError:
        return []


def response_of(value: Any, before: Mapping[str, Any]) -> dict[str, Any]:
    """The response that a hook wants: what it says of ``status_code``, ``headers`` and ``body``, or a body or text."""
    given = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {"body": value}
    body: Any = given.get("body", before.get("body", b""))
    headers: Mapping[str, Any] = given.get("headers", before.get("headers", {}))
    return {
        "status_code": given.get("status_code") or before.get("status_code", 200),
        "headers": {exact_text(name).lower(): str(one) for name, one in headers.items()},
        "body": body if isinstance(body, bytes) else str("" if body is None else body).encode(),
    }


def _answer(_scope: Scope, _args: Args, _kwargs: Kwargs, value: Any) -> dict[str, Any]:
    return response_of(value, {})


def _amend(result: Any, _scope: Scope, _args: Args, _kwargs: Kwargs, value: Any) -> dict[str, Any]:
    return response_of(value, result or {})


def _failure(_scope: Scope, _args: Args, _kwargs: Kwargs, error: BaseException) -> tuple[Attributes, Usage | None]:
    return {semconv.HTTP_RESPONSE_STATUS_CODE: error.status_code} if isinstance(error, HTTPException) else {}, None


def _fault(result: Any) -> str:
    status = result.get("status_code", 0) if result else 0
    return str(status) if status >= 500 else ""


def _identity(scope: Scope, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    return whose(scope)


Refusal = Callable[[int, str, dict[str, str] | None], HTTPException]
"""Makes the exception of a status, a detail and headers."""


def refusal(reject: Reject, make: Refusal) -> HTTPException:
    """The response that a client gets for a rejection, as the framework's own exception."""
    retry = reject.retry_after
    return make(reject.status_code, reject.reason, None if retry is None else {"Retry-After": str(max(0, ceil(retry)))})


class Requests:
    """How requests to applications of one framework read.

    Args:
        layer: The framework.
        make: Makes its own exceptions.

    Attributes:
        other: The adapter for requests with unknown methods.
    """

    def __init__(self, layer: str, make: Refusal) -> None:
        self.layer, self.make = layer, make
        self.other = self._of("HTTP")
        self._known = {method: self._of(method) for method in sorted(METHODS)}

    def adapter_of(self, scope: Scope) -> Adapter:
        """How a request reads: its method begins the name of its span."""
        return self._known.get(scope["method"], self.other)

    def _of(self, method: str) -> Adapter:
        return Adapter(
            kind="request",
            layer=self.layer,
            start=_start,
            method=method,
            context=CallContext(identity=_identity),
            reading=Reading(request=_request, response=_response, output=_output, failure=_failure, fault=_fault),
            editing=Editing(
                rewrite=_rewrite,
                takes=frozenset(("inputs",)),
                answer=_answer,
                amend=_amend,
                native_error=self._native_error,
            ),
        )

    def _native_error(self, _scope: Scope, _args: Args, _kwargs: Kwargs, reject: Reject) -> HTTPException:
        return refusal(reject, self.make)


REQUESTS = Requests(STARLETTE, HTTPException)
REQUEST = REQUESTS.other
