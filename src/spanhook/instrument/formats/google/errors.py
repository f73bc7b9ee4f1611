"""Google's errors (https://cloud.google.com/apis/design/errors)."""

from spanhook.instrument.wire import Payload

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_SERVER = 500
"""From this HTTP status on, errors are the server's."""


def error_of(status: int, reason: str) -> Payload:
    """What a server would send with an HTTP status that refuses a request."""
    name = _STATUSES.get(status, "INTERNAL" if status >= _SERVER else "FAILED_PRECONDITION")
    return {"error": {"code": status, "message": reason, "status": name}}
