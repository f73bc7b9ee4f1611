"""How botocore carries JSON: as parameters, or as the bytes of a body among them."""

import json
from collections.abc import Iterable
from typing import Any

from botocore.eventstream import EventStream
from botocore.response import StreamingBody

from spanhook.instrument.botocore.content import Events, ModelBody, Parts, closed
from spanhook.instrument.botocore.parameters import JsonBytes, operation_of, parameters_of, with_parameters
from spanhook.instrument.botocore.streams import Given, GivenBody
from spanhook.instrument.wire import Content, Event, Fields, Payload, Server, Servers, Transport, fields_of
from spanhook.model import Args, Kwargs

_SERVERS = Servers("aws.bedrock", {})
_STREAMED = frozenset(("ConverseStream", "InvokeModelWithResponseStream"))
_CODES = {
    401: "AccessDeniedException",
    402: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
    504: "ModelTimeoutException",
}
"""Bedrock's errors, by HTTP status."""
_SERVER = 500
"""From this HTTP status on, errors are the server's."""


class BotocoreTransport(Transport):
    """Converse: the parameters are the JSON."""

    stream = "stream"
    """The member of a response that has the stream."""

    # ------------------------------------------------------------------------------------------ calls

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:  # noqa: ARG002
        given = parameters_of(args, kwargs)
        return {**given, "model": given.get("modelId")}

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:  # noqa: ARG002
        given = {**body, "modelId": body.get("model")}
        del given["model"]
        return with_parameters(args, kwargs, given)

    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:  # noqa: ARG002
        return _SERVERS.at(object, instance.meta.endpoint_url)  # each client has a class of its own

    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:
        return operation_of(args, kwargs) in _STREAMED

    # ------------------------------------------------------------------------------------------ results

    def fields_in(self, result: Any) -> Fields:
        return fields_of(result)

    def stream_of(self, result: Any) -> str:
        return "sync" if isinstance(fields_of(result).get("stream"), EventStream) else ""

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:  # noqa: ARG002
        return Events(result, "stream")

    # ------------------------------------------------------------------------------------------ answers

    def fits(self, args: Args, kwargs: Kwargs, value: Any) -> bool:
        """A whole response, such as one of an earlier call."""
        return type(value) is dict and "ResponseMetadata" in value and not self.is_streamed(args, kwargs)

    def deliver(
        self,
        instance: Any,  # noqa: ARG002
        args: Args,
        kwargs: Kwargs,
        payload: Payload,
        events: Iterable[Event],
        last: str,  # noqa: ARG002
    ) -> Any:
        if self.is_streamed(args, kwargs):
            return {**_metadata(), "stream": self.given(data for _, data in events)}
        return {**_metadata(), **payload}

    @staticmethod
    def given(events: Iterable[Any]) -> Any:
        """A stream of these events."""
        return Given(events)

    def error(
        self,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        status: int,
        reason: str,
        payload: Payload,  # noqa: ARG002
    ) -> BaseException | None:
        code = _CODES.get(status) or ("InternalServerException" if status >= _SERVER else "ValidationException")
        response = {"Error": {"Message": reason, "Code": code}, **_metadata(status), "message": reason}
        return instance.exceptions.from_code(code)(response, operation_of(args, kwargs))


class StartedTransport(BotocoreTransport):
    """Models that are started, and write what they make into S3: one of the parameters is the JSON."""

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:  # noqa: ARG002
        given = parameters_of(args, kwargs)
        return {**fields_of(given.get("modelInput")), "model": given.get("modelId")}

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:  # noqa: ARG002
        said = {name: value for name, value in body.items() if name != "model"}
        given = {**parameters_of(args, kwargs), "modelInput": said, "modelId": body.get("model")}
        return with_parameters(args, kwargs, given)

    def stream_of(self, result: Any) -> str:  # noqa: ARG002
        return ""


class InvokedTransport(BotocoreTransport):
    """Models that are invoked with JSON of their own."""

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:  # noqa: ARG002
        given = parameters_of(args, kwargs)
        body = given.get("body")
        return {**(body.told if isinstance(body, JsonBytes) else {}), "model": given.get("modelId")}

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:  # noqa: ARG002
        given = dict(parameters_of(args, kwargs))
        said = {name: value for name, value in body.items() if name != "model"}
        given["modelId"] = body.get("model")
        before = given.get("body")
        if isinstance(before, JsonBytes) and "model" in before.told:
            said["model"] = before.told["model"]
        if not isinstance(before, JsonBytes) or said != before.told:
            given["body"] = JsonBytes(json.dumps(said).encode())
        return with_parameters(args, kwargs, given)

    def fields_in(self, result: Any) -> Fields:
        told = fields_of(result)
        body = told.get("body")
        return fields_of(getattr(body, "told", None)) if "ResponseMetadata" in told else told

    def stream_of(self, result: Any) -> str:
        body = fields_of(result).get("body")
        is_given = isinstance(body, GivenBody)  # whose content is known
        return "sync" if isinstance(body, EventStream | StreamingBody) and not is_given else ""

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:
        return Parts(result, "body") if self.is_streamed(args, kwargs) else ModelBody(result)

    def deliver(
        self,
        instance: Any,  # noqa: ARG002
        args: Args,
        kwargs: Kwargs,
        payload: Payload,
        events: Iterable[Event],
        last: str,  # noqa: ARG002
    ) -> Any:
        if self.is_streamed(args, kwargs):
            body = self.given(closed({}, data) for _, data in events)
        else:
            body = self.given_body(json.dumps(payload).encode(), payload)
        return {**_metadata(), "contentType": "application/json", "body": body}

    @staticmethod
    def given_body(content: bytes, told: Payload) -> Any:
        """A body with this content."""
        return GivenBody(content, told)


def _metadata(status: int = 200) -> dict[str, Any]:
    known: dict[str, Any] = {"RequestId": "spanhook", "HTTPStatusCode": status, "HTTPHeaders": {}, "RetryAttempts": 0}
    return {"ResponseMetadata": known}
