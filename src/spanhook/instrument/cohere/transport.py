"""How Cohere's SDK carries JSON: as arguments of its transport, which returns responses of ``httpx``."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from spanhook.instrument.wire import (
    LINES,
    SERVER_SENT,
    Content,
    Event,
    Fields,
    Form,
    HttpContent,
    Payload,
    ResponseTransport,
    Server,
    Servers,
    answered,
    answered_with,
)
from spanhook.model import Args, Kwargs

_BODY = "additional_body_parameters"
_PLATFORMS = {"cohere.aws_client": "aws.bedrock", "cohere.oci_client": "oci"}
"""Providers by the module of the hooks with which their clients send requests elsewhere."""


def path_of(args: Args, kwargs: Kwargs) -> str:
    """The path of a call."""
    return str((args[0] if args else kwargs.get("path")) or "")


def settle(kwargs: Any) -> None:
    """Replace the JSON or the form of a call with what the SDK would make of it, without what was left out."""
    from cohere.core.http_client import get_request_body

    options = kwargs.get("request_options")
    given = {"json": kwargs.get("json"), "data": kwargs.get("data")}
    body, form = get_request_body(**given, request_options=options, omit=kwargs.get("omit"))
    kwargs.update({"json": body} if given["data"] is None else {"data": form})
    if options and options.get(_BODY):
        kwargs["request_options"] = {name: value for name, value in options.items() if name != _BODY}


class CohereTransport(ResponseTransport):
    """The transport of one method.

    Args:
        streams: It returns a stream.
        form: The form of its events.
    """

    servers = Servers("cohere", {})

    def __init__(self, *, streams: bool = False, form: Form = SERVER_SENT) -> None:
        self._streams, self._form = streams, form

    # ------------------------------------------------------------------------------------------ calls

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:  # noqa: ARG002
        given = kwargs.get("data") if kwargs.get("json") is None else kwargs["json"]
        return given if isinstance(given, dict) else {}

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:  # noqa: ARG002
        return args, {**kwargs, "data" if kwargs.get("json") is None else "json": dict(body)}

    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:  # noqa: ARG002
        for hook in instance.httpx_client.event_hooks.get("request", ()):
            if hook.__module__ in _PLATFORMS:
                return _PLATFORMS[hook.__module__], "", 0  # its address is made later
        return self.servers.at(type(instance), None, _base(instance, kwargs))

    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:  # noqa: ARG002
        return self._streams

    def uploads(self, args: Args, kwargs: Kwargs) -> Iterable[str]:  # noqa: ARG002
        files = kwargs.get("files")
        return list(files) if isinstance(files, dict) else ()

    # ------------------------------------------------------------------------------------------ results

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:  # noqa: ARG002
        return HttpContent(result, streamed=self._streams, form=self._form)

    # ------------------------------------------------------------------------------------------ answers

    def deliver(
        self, instance: Any, args: Args, kwargs: Kwargs, payload: Payload, events: Iterable[Event], last: str
    ) -> Any:
        request = _request(instance, args, kwargs)
        return answered_with(request, payload, events, last, streamed=self._streams, form=self._form)

    def error(
        self,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        status: int,
        reason: str,  # noqa: ARG002
        payload: Payload,
    ) -> BaseException | None:
        from cohere import errors
        from cohere.core.api_error import ApiError

        content = json.dumps(payload).encode()
        headers = dict(answered(_request(instance, args, kwargs), content, "application/json", status).headers)
        for name in errors.__all__:
            made = _error(partial(getattr(errors, name), payload), headers)
            if made.status_code == status:
                return made
        return _error(partial(ApiError, status_code=status, body=payload), headers)


def _error(kind: Callable[..., Any], headers: dict[str, str]) -> Any:
    try:
        return kind(headers=headers)
    except TypeError:  # not in older versions
        return kind()


def _base(instance: Any, kwargs: Kwargs) -> str:
    """The URL to which a call's path is added; a function of the client in newer versions."""
    base = kwargs.get("base_url") or instance.base_url
    return str(base() if callable(base) else base)


def _request(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The HTTP request of a call, without its body."""
    url = f"{_base(instance, kwargs).rstrip('/')}/{path_of(args, kwargs).lstrip('/')}"
    return instance.httpx_client.build_request("POST", url)


WHOLE = CohereTransport()
EVENTS = CohereTransport(streams=True)
IN_LINES = CohereTransport(streams=True, form=LINES)
