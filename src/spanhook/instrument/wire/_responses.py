"""SDKs whose methods return responses of ``httpx``, which their own code parses afterwards."""

from typing import Any

from spanhook.instrument.wire.content import Content
from spanhook.instrument.wire.http import HttpContent
from spanhook.instrument.wire.reading import Fields
from spanhook.instrument.wire.transport import Transport
from spanhook.model import Args, Kwargs

_READ = "_spanhook_json"
"""The attribute of a response that keeps its JSON once it has been read."""
_ERROR = 400
"""From this HTTP status on, a response is an error."""
_EVENTS = "text/event-stream"


class ResponseTransport(Transport):
    """How such an SDK carries JSON in its responses."""

    def may_request_usage(self, args: Args, kwargs: Kwargs) -> bool:  # noqa: ARG002
        return False  # the SDK gets the bytes, from which nothing can be hidden

    # ------------------------------------------------------------------------------------------ results

    def fields_in(self, result: Any) -> Fields:
        if isinstance(result, dict):
            return result
        if not getattr(result, "is_closed", False):
            return {}
        known = vars(result).get(_READ)
        if known is None:
            known = _json_in(result)
            setattr(result, _READ, known)
        return known

    def fault(self, result: Any) -> str:
        """Responses with an error status are returned, and the SDK raises its exception afterwards."""
        status = getattr(result, "status_code", 0)
        return str(status) if status >= _ERROR else ""

    def stream_of(self, result: Any) -> str:
        if getattr(result, "is_closed", True) or self.fault(result):
            return ""
        return "async" if hasattr(result.stream, "__aiter__") else "sync"

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:
        kind = result.headers.get("content-type", "").lower()
        streamed = _EVENTS in kind or (self.is_streamed(args, kwargs) and not kind.startswith("application/json"))
        return HttpContent(result, streamed=streamed)

    # ------------------------------------------------------------------------------------------ answers

    def fits(self, args: Args, kwargs: Kwargs, value: Any) -> bool:
        return not self.is_streamed(args, kwargs) and hasattr(value, "is_closed") and hasattr(value, "status_code")

    def said_in(self, value: Any) -> Any:
        return dict(self.fields_in(value)) if hasattr(value, "is_closed") else super().said_in(value)


def _json_in(response: Any) -> Fields:
    try:
        read = response.json()
    except Exception:  # not JSON, or left unread
        return {}
    return read if isinstance(read, dict) else {}
