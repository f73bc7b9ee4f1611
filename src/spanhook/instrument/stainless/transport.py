"""How a generated client carries JSON: the options of its requests, its results, and its own code that makes them."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from spanhook.concurrency import drive
from spanhook.instrument.stainless.options import body_of, is_raw, is_streamed, options_of, with_body
from spanhook.instrument.stainless.parsing import keeping, unparsed
from spanhook.instrument.stainless.sdk import Sdk
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
    fields_of,
)
from spanhook.model import Args, Kwargs, exact_text, later


class StainlessTransport(Transport):
    """The transport of one package.

    Args:
        library: Its import name; it must be imported.
        servers: The servers that its clients use.

    Raises:
        ImportError, AttributeError: It is still being imported.
    """

    def __init__(self, library: str, servers: Servers) -> None:
        self.sdk = Sdk(library)
        self.servers = servers
        self.stream_of = self.sdk.stream_of

    # ------------------------------------------------------------------------------------------ calls

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:  # noqa: ARG002
        return body_of(args, kwargs)

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:  # noqa: ARG002
        return with_body(args, kwargs, body)

    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:
        return self.server_at(instance, options_of(args, kwargs).url)

    def server_at(self, client: Any, url: str) -> Server:
        """The server to which ``client`` sends a request for ``url``: its own, unless the URL is absolute."""
        return self.servers.at(type(client), client._base_url, url)

    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:  # noqa: ARG002
        return is_streamed(kwargs)

    def may_request_usage(self, args: Args, kwargs: Kwargs) -> bool:
        return not is_raw(args, kwargs)  # from the bytes as the server sent them, nothing can be hidden

    def uploads(self, args: Args, kwargs: Kwargs) -> Iterable[str]:
        files = options_of(args, kwargs).files
        named = files.items() if isinstance(files, dict) else files or ()
        return [exact_text(name) for name, _ in named]

    def keeping(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        return keeping(args, kwargs)

    def unparsed(self, args: Args, kwargs: Kwargs) -> Any:
        return unparsed(args, kwargs)

    # ------------------------------------------------------------------------------------------ results

    def fields_in(self, result: Any) -> Fields:
        if type(result) is str:  # from an endpoint that answers with text
            return {"text": result}
        return fields_of(self.sdk.result_of(result))

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:  # noqa: ARG002
        """The body of a raw response, or of the HTTP response of a stream."""
        if isinstance(result, self.sdk.raw):
            result = result.http_response  # pyright: ignore[reportAttributeAccessIssue]
        elif not hasattr(result, "is_stream_consumed"):
            return None
        return HttpContent(result, streamed=is_streamed(kwargs))

    # ------------------------------------------------------------------------------------------ answers

    def fits(self, args: Args, kwargs: Kwargs, value: Any) -> bool:
        if is_streamed(kwargs) or is_raw(args, kwargs):
            return False
        return type(value) is _cast_to(args, kwargs) and not callable(options_of(args, kwargs).post_parser)

    def said_in(self, value: Any) -> Any:
        if isinstance(value, self.sdk.raw):  # one returned by an earlier call
            value = self.sdk.result_of(value)
        return super().said_in(value)

    def deliver(
        self, instance: Any, args: Args, kwargs: Kwargs, payload: Payload, events: Iterable[Event], last: str
    ) -> Any:
        """Have the client's own code turn an HTTP response in memory into what the caller asked for: a model, a parsed
        model, a stream or a raw response.
        """
        options, streamed = copy.copy(options_of(args, kwargs)), is_streamed(kwargs)
        made = instance._process_response(
            cast_to=instance._maybe_override_cast_to(_cast_to(args, kwargs), options),
            options=options,
            response=answered_with(request_of(instance, options), payload, events, last, streamed=streamed),
            stream=streamed,
            stream_cls=kwargs.get("stream_cls"),
        )
        result = drive(made) if hasattr(made, "__await__") else made  # all in memory, so it never waits
        if streamed and hasattr(result, "_decoder"):  # the decoder of Bedrock's clients reads another format
            result._decoder = self.sdk.decoder()
        return result

    def error(
        self, instance: Any, args: Args, kwargs: Kwargs, status: int, reason: str, payload: Payload
    ) -> BaseException | None:
        request = request_of(instance, options_of(args, kwargs))
        response = answered(request, json.dumps(payload).encode(), "application/json", status)
        try:
            return instance._make_status_error(reason, body=payload, response=response)
        except NotImplementedError:  # of a client that somebody has built on the base class
            return None

    def chunks_for(self, args: Args, kwargs: Kwargs, events: Iterable[Event]) -> Iterator[Any]:
        stream_cls = kwargs.get("stream_cls")
        kind: Any = self.sdk.chunk_type(stream_cls) if stream_cls is not None else args[0]
        for _, data in events:
            yield self.sdk.construct(type_=kind, value=data)

    def construct(self, args: Args, kwargs: Kwargs, value: Payload) -> Any:
        kind = _cast_to(args, kwargs)
        if not isinstance(kind, type) or not issubclass(kind, self.sdk.model):
            return value
        return later(partial(_constructed, self.sdk.construct, kind), value)

    def chunk_like(self, chunk: Any, value: Payload) -> Any:
        return self.sdk.construct(type_=type(chunk), value=value)


def request_of(client: Any, options: Any) -> Any:
    """The HTTP request that a client would send for options, without its body."""
    given = options.headers if isinstance(options.headers, Mapping) else {}
    headers = {name: value for name, value in given.items() if isinstance(value, str)}
    return client._client.build_request("POST", str(client._prepare_url(options.url)), headers=headers)


def _constructed(construct: Callable[..., Any], kind: type, value: Payload) -> Any:
    return construct(type_=kind, value=value)


def _cast_to(args: Args, kwargs: Kwargs) -> Any:
    """What the response is parsed into."""
    return args[0] if args else kwargs["cast_to"]
