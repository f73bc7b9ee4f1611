"""What a client is told of a refused run, beyond what Aegra makes of the exception."""

from typing import Any

from spanhook.errors import Reject
from spanhook.model import Args, Kwargs

_RETRY_AFTER = "Retry-After"


def answered(_instance: Any, args: Args, kwargs: Kwargs, response: Any) -> None:
    """After Aegra has made a response of an exception, of whose headers it knows nothing."""
    error = args[1] if len(args) > 1 else kwargs.get("exc")
    headers = getattr(error, "headers", None) or {}
    if isinstance(error, Reject) and _RETRY_AFTER in headers:
        response.headers[_RETRY_AFTER] = headers[_RETRY_AFTER]
