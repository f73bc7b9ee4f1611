"""What the results of all APIs have in common: hooks' answers, streams, bodies read later."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from spanhook.instrument.stainless.body import BodyChunks
from spanhook.instrument.stainless.delivery import Event, Payload, as_bytes, as_chunks, deliver, encode
from spanhook.instrument.stainless.options import is_raw, is_streamed, options_of
from spanhook.instrument.stainless.sdk import Sdk
from spanhook.model import Args, Attributes, Body, Chunks, Kwargs, Usage


@dataclass(frozen=True, kw_only=True)
class Api:
    """The results of one API.

    Attributes:
        sdk: The client's package.
        payload: The JSON for a hook's answer, given the request's arguments.
        events: The answer as a stream of events.
        last: The data of the event that ends a stream, if it has one.
        response: End attributes and usage of a result.
        chunks: Creates the ``Chunks`` of a stream.
    """

    sdk: Sdk
    payload: Callable[[Args, Kwargs, Any], Payload]
    events: Callable[[Args, Kwargs, Payload], Iterable[Event]]
    response: Callable[[Any], tuple[Attributes, Usage | None]]
    chunks: Callable[[Any, Args, Kwargs], Chunks]
    last: str = ""

    def answer(self, instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
        """What the call would have returned."""
        cast_to = args[0] if args else kwargs["cast_to"]
        plain = not is_streamed(kwargs) and not is_raw(args, kwargs)
        if plain and type(value) is cast_to and not callable(options_of(args, kwargs).post_parser):
            return value
        payload = self._payload(args, kwargs, value)
        return deliver(self.sdk, instance, args, kwargs, payload, self.events(args, kwargs, payload), self.last)

    def answer_chunks(self, _instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
        """What the caller's stream would have yielded."""
        return as_chunks(self.sdk, args, kwargs, self.events(args, kwargs, self._payload(args, kwargs, value)))

    def body(self, instance: Any, args: Args, kwargs: Kwargs, result: Any) -> Body | None:
        """The unread body of a raw response, or of the HTTP response of a stream; ``None`` for the stream."""
        if isinstance(result, self.sdk.raw):
            response: Any = result.http_response  # pyright: ignore[reportAttributeAccessIssue]
        elif hasattr(result, "is_stream_consumed"):
            response = result
        else:
            return None
        encoding = response.headers.get("content-encoding", "")
        streamed = is_streamed(kwargs)

        def put(stream: Any) -> None:
            response.stream = stream

        def answer(value: Any) -> Iterable[bytes]:
            payload = self._payload(args, kwargs, value)
            events = self.events(args, kwargs, payload) if streamed else [("", payload)]
            return encode(as_bytes(events, self.last, framed=streamed), encoding)

        reader = None if streamed else self.response
        chunks = BodyChunks(self.sdk, response, args[0], self.chunks(instance, args, kwargs), reader)
        return Body(response.stream, put, chunks, answer)

    def _payload(self, args: Args, kwargs: Kwargs, value: Any) -> Payload:
        if isinstance(value, self.sdk.raw):  # one returned by an earlier call
            value = self.sdk.result_of(value)
        return self.payload(args, kwargs, value)
