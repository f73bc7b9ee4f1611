"""Delivers an answer that no server gave, in exactly the type that the caller of the request expects.

An HTTP response is created in memory and passed to the client's own code, which turns it into what the caller asked
for: a model, a parsed model, a stream or a raw response.
"""

import copy
import datetime as dt
import gzip
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spanhook.concurrency import drive
from spanhook.instrument.stainless.options import is_streamed, options_of
from spanhook.instrument.stainless.sdk import Sdk
from spanhook.model import Args, Kwargs

Payload = dict[str, Any]
Event = tuple[str, Payload]
"""The name of a server-sent event, or empty, and its data."""


def deliver(
    sdk: Sdk, instance: Any, args: Args, kwargs: Kwargs, payload: Payload, events: Iterable[Event], last: str
) -> Any:
    """Have the client turn an answer into its result.

    Args:
        sdk: The client's package.
        instance, args, kwargs: The client, and the arguments of its ``request``.
        payload: The answer without streaming.
        events: The answer as a stream of events.
        last: The data of the event that ends the stream, if any.
    """
    options = copy.copy(options_of(args, kwargs))
    cast_to = instance._maybe_override_cast_to(args[0] if args else kwargs["cast_to"], options)
    streamed = is_streamed(kwargs)
    given = options.headers if isinstance(options.headers, Mapping) else {}
    request = instance._client.build_request(
        "POST",
        str(instance._prepare_url(options.url)),
        headers={name: value for name, value in given.items() if isinstance(value, str)},
    )
    library = sys.modules[type(request).__module__.partition(".")[0]]  # httpx, or httpx2 in newer versions
    response = library.Response(
        200,
        headers={"content-type": "text/event-stream" if streamed else "application/json"},
        content=b"".join(as_bytes(events, last)) if streamed else json.dumps(payload).encode(),
        request=request,
    )
    response.elapsed = dt.timedelta(0)
    made = instance._process_response(
        cast_to=cast_to,
        options=options,
        response=response,
        stream=streamed,
        stream_cls=kwargs.get("stream_cls"),
    )
    result = drive(made) if hasattr(made, "__await__") else made  # all in memory, so it never waits
    if streamed and hasattr(result, "_decoder"):  # the decoder of Bedrock's clients reads another format
        result._decoder = sdk.decoder()
    return result


def as_bytes(events: Iterable[Event], last: str, *, framed: bool = True) -> Iterator[bytes]:
    """Events as they go over the wire; if not framed, only the data of the single event."""
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        text = json.dumps(data)
        yield (f"{head}data: {text}\n\n" if framed else text).encode()
    if last and framed:
        yield f"data: {last}\n\n".encode()


def as_chunks(sdk: Sdk, args: Args, kwargs: Kwargs, events: Iterable[Event]) -> Iterator[Any]:
    """Events in the type that the caller's stream yields."""
    stream_cls = kwargs.get("stream_cls")
    kind: Any = sdk.chunk_type(stream_cls) if stream_cls is not None else args[0]
    for _, data in events:
        yield sdk.construct(type_=kind, value=data)


def encode(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Bytes in the content encoding that a response has already announced.

    Raises:
        TypeError: The encoding cannot be written here.
    """
    whole = b"".join(pieces)
    if encoding == "gzip":
        yield gzip.compress(whole)
    elif encoding == "deflate":
        yield zlib.compress(whole)
    elif encoding in ("", "identity"):
        yield whole
    else:
        raise TypeError(f"cannot replace the body of a raw response in encoding {encoding!r}")
