"""How Google's SDK carries JSON: a path with the model and the method, a dict, and responses whose body is text."""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, cast

from spanhook.errors import Reject
from spanhook.instrument.wire import Event, Fields, Payload, Server, Servers, Transport, fields_of, is_model, plain
from spanhook.model import Args, Kwargs, copied_model, copies

_PLACES = {"http_method": 0, "path": 1, "request_dict": 2, "http_options": 3}
_PATH = re.compile(r"(?P<prefix>/?(?:[^?]*/)?)(?P<name>[^/?]+):(?P<method>[A-Za-z]+)(?P<query>\?.*)?")
_MODELS = re.compile(r"(?:models|publishers/[^/]+/models)/")
_STREAMED = "streamgeneratecontent"


def argument(args: Args, kwargs: Kwargs, name: str) -> Any:
    """An argument of a request, however it was passed."""
    place = _PLACES[name]
    return args[place] if len(args) > place else kwargs.get(name)


def _with_arguments(args: Args, kwargs: Kwargs, **changes: Any) -> tuple[Args, Kwargs]:
    given = list(args)
    more = dict(kwargs)
    for name, value in changes.items():
        if len(given) > _PLACES[name]:
            given[_PLACES[name]] = value
        else:
            more[name] = value
    return tuple(given), more


def method_in(path: Any) -> str:
    """The method that a path ends in, such as ``generateContent``; empty if it has none."""
    found = _PATH.fullmatch(path) if isinstance(path, str) else None
    return "" if found is None else found["method"]


def model_in(path: Any) -> str:
    """The model that a path names, without the prefix that all models have; tuned ones and endpoints keep theirs."""
    found = _PATH.fullmatch(path) if isinstance(path, str) else None
    if found is None:
        return ""
    prefix, name = found["prefix"], found["name"]
    return name if _MODELS.search(prefix) else f"{prefix}{name}"


def with_model(path: str, model: str) -> str:
    """The path with another model, of the same publisher unless it has a prefix of its own."""
    found = _PATH.fullmatch(path)
    assert found is not None
    end = f":{found['method']}{found['query'] or ''}"
    if "/" in model:
        return f"{model}{end}"
    models = _MODELS.search(found["prefix"])
    return f"{found['prefix'] if models else 'models/'}{model}{end}"


class GoogleTransport(Transport):
    """The transport of ``google.genai``."""

    def __init__(self) -> None:
        from google.genai.types import HttpOptions, HttpResponse

        self._options, self._response = HttpOptions, HttpResponse
        self.opened, self.closed, self.held, self.parsed = _json, _with_json, _body, _parsed
        self._servers = {True: Servers("gcp.vertex_ai", {}), False: Servers("gcp.gemini", {})}
        copies(HttpResponse)(copied_model)

    # ------------------------------------------------------------------------------------------ calls

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:
        """The JSON with what the options add to it, and with the model of the path."""
        given = fields_of(argument(args, kwargs, "request_dict"))
        extra = self._option(instance, args, kwargs, "extra_body")
        body = _merged(given, extra) if extra else given
        told = {name: one for name, one in body.items() if not name.startswith("_")}
        return {"model": model_in(argument(args, kwargs, "path")), **told}

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:
        path = argument(args, kwargs, "path")
        model, before = body.get("model"), model_in(path)
        changes: dict[str, Any] = {"request_dict": dict(body)}
        if before or not model:
            del changes["request_dict"]["model"]
        if before and isinstance(model, str) and model and model != before:
            changes["path"] = with_model(path, model)
        if self._option(instance, args, kwargs, "extra_body"):
            changes["http_options"] = self._without_extra(argument(args, kwargs, "http_options"))
        return _with_arguments(args, kwargs, **changes)

    def _without_extra(self, options: Any) -> Any:
        """Options that add nothing to the JSON, because that has been done."""
        if isinstance(options, dict):
            given = cast("dict[str, Any]", options)
            return {**{name: one for name, one in given.items() if name != "extraBody"}, "extra_body": {}}
        if options is None:
            return self._options(extra_body={})
        return options.model_copy(update={"extra_body": {}})

    def _option(self, instance: Any, args: Args, kwargs: Kwargs, name: str) -> Any:
        """An option of the request, or else of its client."""
        for options in (argument(args, kwargs, "http_options"), getattr(instance, "_http_options", None)):
            value: Any = getattr(options, name, None)
            if isinstance(options, dict):
                given, (begin, *rest) = cast("dict[str, Any]", options), name.split("_")
                value = given.get(name) or given.get(begin + "".join(map(str.capitalize, rest)))
            if value is not None:
                return value
        return None

    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:
        base: Any = self._option(instance, args, kwargs, "base_url")
        is_vertex = bool(getattr(instance, "vertexai", False))
        provider, address, port = self._servers[is_vertex].at(cast("type[Any]", type(instance)), base)
        return "gcp.vertex_ai" if is_vertex else provider, address, port

    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:
        return method_in(argument(args, kwargs, "path")).lower() == _STREAMED

    # ------------------------------------------------------------------------------------------ results

    def fields_in(self, result: Any) -> Fields:
        return fields_of(_json(result))

    def stream_of(self, result: Any) -> str:
        if hasattr(result, "__anext__"):
            return "async"
        return "sync" if hasattr(result, "__next__") else ""

    # ------------------------------------------------------------------------------------------ answers

    def fits(self, args: Args, kwargs: Kwargs, value: Any) -> bool:
        return isinstance(value, self._response) and not self.is_streamed(args, kwargs)

    def said_in(self, value: Any) -> Any:
        if isinstance(value, self._response):
            return _json(value)
        return plain(value) if is_model(value) else value

    def deliver(
        self,
        instance: Any,  # noqa: ARG002
        args: Args,
        kwargs: Kwargs,
        payload: Payload,
        events: Iterable[Event],
        last: str,  # noqa: ARG002
    ) -> Any:
        """A response; if a stream was asked for, the async one of such responses.

        The other kind of stream is that of a generator function, whose chunks are made by ``chunks_for``.
        """
        if self.is_streamed(args, kwargs):
            return _streamed(self.chunks_for(args, kwargs, events))
        return self.construct(args, kwargs, payload)

    def chunks_for(self, args: Args, kwargs: Kwargs, events: Iterable[Event]) -> Iterator[Any]:
        return (self.construct(args, kwargs, data) for _, data in events)

    def construct(self, args: Args, kwargs: Kwargs, value: Payload) -> Any:  # noqa: ARG002
        return self._response(headers={}, body=json.dumps(value))

    def error(
        self,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        status: int,
        reason: str,  # noqa: ARG002
        payload: Payload,
    ) -> BaseException:
        from google.genai import errors

        kind = errors.ServerError if status >= 500 else errors.ClientError
        base = str(self._option(instance, args, kwargs, "base_url")).rstrip("/")
        return kind(status, payload, _refusal(f"{base}/{argument(args, kwargs, 'path')}", status, payload))


def _json(response: Any) -> Any:
    """The JSON in a response's body; ``None`` if there is none."""
    return _parsed(_body(response))


def _body(response: Any) -> Any:
    return getattr(response, "body", None)


def _parsed(body: Any) -> Any:
    try:
        return json.loads(body) if isinstance(body, str) else None
    except ValueError:
        return None


def _with_json(response: Any, value: Any) -> Any:
    return response.model_copy(update={"body": json.dumps(value)})


def _merged(given: Fields, extra: Any) -> dict[str, Any]:
    """JSON as the SDK adds its extra part to it: in nested objects, field by field."""
    merged = dict(given)
    for name, value in fields_of(extra).items():
        before: Any = merged.get(name)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[name] = _merged(cast("Fields", before), value) if both else value
    return merged


async def _streamed(chunks: Iterable[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


def _refusal(url: str, status: int, payload: Payload) -> Any:
    """An HTTP response of the library that the SDK uses."""
    library = sys.modules.get("httpx2") or sys.modules.get("httpx")
    if library is None:
        return None
    return library.Response(status, json=payload, request=library.Request("POST", url))


def not_continued(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A stream that a hook has refused ends there: the SDK does not go on from where it broke off."""
    error = args[0] if args else kwargs.get("error")
    if isinstance(error, Reject):
        instance.enable_continuation = False
    return args, kwargs
