"""How a generated SDK carries JSON: in requests of ``httpx``, whose responses it parses itself."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from spanhook.instrument.speakeasy.requests import form_of, is_unread, json_of, request_of, with_json
from spanhook.instrument.wire import (
    Content,
    Event,
    Fields,
    HttpContent,
    Payload,
    Server,
    Servers,
    Transport,
    answered,
    answered_with,
)
from spanhook.model import Args, Kwargs

Failed = Callable[[str, Any, str], BaseException]
"""Creates the SDK's exception of a message, the response and its body."""
_READ = "_spanhook_json"
"""The attribute of a response that keeps its JSON once it has been read."""
_ERROR = 400
"""From this HTTP status on, a response is an error."""
_EVENTS = "text/event-stream"


class SpeakeasyTransport(Transport):
    """The transport of one package.

    Args:
        servers: The servers that its clients use.
        failed: Creates its exception for a response with an error status.
    """

    def __init__(self, servers: Servers, failed: Failed) -> None:
        self.servers, self._failed = servers, failed

    # ------------------------------------------------------------------------------------------ calls

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:  # noqa: ARG002
        return json_of(request_of(args, kwargs))

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:  # noqa: ARG002
        request = with_json(request_of(args, kwargs), body)
        if len(args) > 1:
            return (args[0], request, *args[2:]), kwargs
        return args, {**kwargs, "request": request}

    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:
        url = request_of(args, kwargs).url
        return self.servers.at(type(instance), None, f"{url.scheme}://{url.netloc.decode('ascii')}")

    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:
        """Some calls may stream, and the JSON says whether they do."""
        if not is_unread(args, kwargs):
            return False
        request = request_of(args, kwargs)
        said = json_of(request).get("stream")
        if said is None:
            return _EVENTS in request.headers.get("accept", "")
        return said is True or (isinstance(said, str) and said.lower() == "true")  # in a form, it is text

    def is_raw(self, args: Args, kwargs: Kwargs) -> bool:  # noqa: ARG002
        return True  # the SDK gets the bytes

    def uploads(self, args: Args, kwargs: Kwargs) -> Iterable[str]:
        return [one.name for one in form_of(request_of(args, kwargs)) if hasattr(one, "file")]

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
        return HttpContent(result, streamed=_EVENTS in kind or (self.is_streamed(args, kwargs) and "json" not in kind))

    # ------------------------------------------------------------------------------------------ answers

    def fits(self, args: Args, kwargs: Kwargs, value: Any) -> bool:
        return not self.is_streamed(args, kwargs) and hasattr(value, "is_closed") and hasattr(value, "status_code")

    def said_in(self, value: Any) -> Any:
        return dict(self.fields_in(value)) if hasattr(value, "is_closed") else super().said_in(value)

    def deliver(
        self,
        instance: Any,  # noqa: ARG002
        args: Args,
        kwargs: Kwargs,
        payload: Payload,
        events: Iterable[Event],
        last: str,
    ) -> Any:
        return answered_with(request_of(args, kwargs), payload, events, last, streamed=self.is_streamed(args, kwargs))

    def error(
        self,
        instance: Any,  # noqa: ARG002
        args: Args,
        kwargs: Kwargs,
        status: int,
        reason: str,
        payload: Payload,
    ) -> BaseException | None:
        body = json.dumps(payload)
        return self._failed(reason, answered(request_of(args, kwargs), body.encode(), "application/json", status), body)


def _json_in(response: Any) -> Fields:
    try:
        read = response.json()
    except Exception:  # not JSON, or left unread
        return {}
    return read if isinstance(read, dict) else {}
