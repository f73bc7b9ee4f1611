"""How a generated SDK carries JSON: in requests of ``httpx``, whose responses it parses itself."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from spanhook.instrument.speakeasy.requests import form_of, is_unread, json_of, request_of, with_json
from spanhook.instrument.wire import (
    Event,
    Fields,
    Payload,
    ResponseTransport,
    Server,
    Servers,
    answered,
    answered_with,
)
from spanhook.model import Args, Kwargs

Failed = Callable[[str, Any, str], BaseException]
"""Creates the SDK's exception of a message, the response and its body."""
_EVENTS = "text/event-stream"


class SpeakeasyTransport(ResponseTransport):
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

    def uploads(self, args: Args, kwargs: Kwargs) -> Iterable[str]:
        return [one.name for one in form_of(request_of(args, kwargs)) if hasattr(one, "file")]

    # ------------------------------------------------------------------------------------------ answers

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
