"""Errors of the protocol: their codes, and the one by which a request is refused."""

from typing import Any

from spanhook import semconv
from spanhook.model import Args, Attributes, Kwargs, Usage, exception_name

REFUSED = -32003
"""The code of a refusal, one of those that each implementation gives its own meaning."""


def code_of(error: BaseException) -> str:
    """The code of an error that came, or is to go, over the wire; empty for any other exception."""
    code = getattr(getattr(error, "error", None), "code", None)
    return str(code) if isinstance(code, int) else ""


def error_type(error: BaseException) -> str:
    return code_of(error) or exception_name(error)


def failure(_instance: Any, _args: Args, _kwargs: Kwargs, error: BaseException) -> tuple[Attributes, Usage | None]:
    code = code_of(error)
    return ({semconv.RPC_RESPONSE_STATUS_CODE: code} if code else {}), None
