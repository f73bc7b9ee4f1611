"""What OpenAI's APIs have in common on the way back: answers of hooks, streams, bodies read later."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from openai._base_client import AsyncAPIClient
from openai._streaming import AsyncStream, Stream

from spanhook.instrument.openai.body import BodyChunks
from spanhook.instrument.openai.delivery import Event, Payload, as_bytes, as_chunks, deliver, encode
from spanhook.instrument.openai.options import is_raw, is_streamed, options_of
from spanhook.instrument.openai.reading import RAW, result_of
from spanhook.shape import Args, Attributes, Body, Chunks, Kwargs
from spanhook.usage import Usage


def stream_of(result: Any) -> str:
    """Whether a result is a stream, or a raw response that is still to be read."""
    if isinstance(result, Stream):
        return "sync"
    if isinstance(result, AsyncStream):
        return "async"
    if isinstance(result, RAW) and not result.http_response.is_closed:
        return "async" if isinstance(result._client, AsyncAPIClient) else "sync"
    return ""


@dataclass(frozen=True, kw_only=True)
class Api:
    """How one API answers.

    Attributes:
        payload: The JSON for what a hook answered with, given the request's arguments.
        events: The same as a stream of events.
        last: The data of the event that ends a stream, if it has one.
        response: End attributes and usage of a result.
        chunks: Makes the adder for a stream.
    """

    payload: Callable[[Args, Kwargs, Any], Payload]
    events: Callable[[Args, Kwargs, Payload], Iterable[Event]]
    response: Callable[[Any], tuple[Attributes, Usage | None]]
    chunks: Callable[[Any, Args, Kwargs], Chunks]
    last: str = ""

    def answer(self, instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
        """What the caller would have been returned."""
        cast_to = args[0] if args else kwargs["cast_to"]
        plain = not is_streamed(kwargs) and not is_raw(args, kwargs)
        if plain and type(value) is cast_to and not callable(options_of(args, kwargs).post_parser):
            return value
        payload = self._payload(args, kwargs, value)
        return deliver(instance, args, kwargs, payload, self.events(args, kwargs, payload), self.last)

    def answer_chunks(self, _instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
        """What the caller's stream would have yielded."""
        return as_chunks(args, kwargs, self.events(args, kwargs, self._payload(args, kwargs, value)))

    def body(self, instance: Any, args: Args, kwargs: Kwargs, result: Any) -> Body | None:
        """The unread body of a raw response; ``None`` for a stream."""
        if not isinstance(result, RAW):
            return None
        response = result.http_response
        encoding = response.headers.get("content-encoding", "")
        streamed = is_streamed(kwargs)

        def put(stream: Any) -> None:
            response.stream = stream

        def answer(value: Any) -> Iterable[bytes]:
            payload = self._payload(args, kwargs, value)
            events = self.events(args, kwargs, payload) if streamed else [("", payload)]
            return encode(as_bytes(events, self.last, framed=streamed), encoding)

        chunks = BodyChunks(response, args[0], self.chunks(instance, args, kwargs), None if streamed else self.response)
        return Body(response.stream, put, chunks, answer)

    def _payload(self, args: Args, kwargs: Kwargs, value: Any) -> Payload:
        if isinstance(value, RAW):  # one that an earlier call returned
            value = result_of(value)
        return self.payload(args, kwargs, value)
