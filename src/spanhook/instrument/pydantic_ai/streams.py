"""The stream that a model's ``request_stream`` gives: its events are read, held back and rewritten as they pass.

The library's own object stays what the consumer gets, and with it everything that it makes of events. If hooks may
change what goes out, a copy of it reads the provider's stream, so that the object itself says only what went out.
"""

import copy
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

from pydantic_ai.models import StreamedResponse

from spanhook.instrument.pydantic_ai.answers import Parts, events_of, model_response, unspelled
from spanhook.instrument.pydantic_ai.responses import response_told
from spanhook.instrument.pydantic_ai.texts import EVENT_TEXTS
from spanhook.model import Args, Attributes, Body, Kwargs, Usage, copied, current_record

_OWN = frozenset(
    (
        *("_parts_manager", "_event_iterator", "_get_event_iterator", "final_result_event", "metadata"),
        *("failed_attempts", "_cancelled", "_finished", "_first_chunk_monotonic", "_request_deadline"),
    )
)
"""What belongs to the object that the consumer has, and not to the one that reads the provider's stream."""
_LATER = _OWN | {"provider_details"}
"""What is not known to fit what goes out before all of it has."""


class Events:
    """The events that a model's stream makes of the provider's."""

    def __init__(self, iterate: Callable[[], AsyncIterator[Any]]) -> None:
        self._iterate = iterate

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._iterate()


class ResponseChunks:
    """What one stream reports; the library adds it up, but does not know what hooks rewrite.

    Args:
        response: What reads the provider's stream.
        rewritten: Whether hooks may rewrite it.
    """

    __slots__ = ("_parts", "_response", "_rewritten", "keep")

    def __init__(self, response: Any, *, rewritten: bool) -> None:
        self._response = response
        self._parts = Parts(None)
        self._rewritten = rewritten
        self.keep = False

    @property
    def complete(self) -> bool:
        return getattr(self._response, "finish_reason", None) is not None

    def add(self, chunk: Any) -> bool:
        if self._rewritten or self.keep:
            self._parts.add(_apart(chunk))
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return response_told(self._response.get())

    def result(self) -> Any:
        return replace(self._response.get(), parts=self._parts.get_parts())


def _apart(event: Any) -> Any:
    """An event whose part is not the one that its consumer gets, and the library goes on with."""
    return replace(event, part=copied(event.part)) if event.event_kind == "part_start" else event


def stream_of(result: Any) -> str:
    """A model's stream is async."""
    return "async" if isinstance(result, StreamedResponse) else ""


def body_of(instance: Any, _args: Args, _kwargs: Kwargs, result: Any) -> Body:
    """The events of a model's stream."""
    op = current_record()
    plan = None if op is None else op.plan
    changes = plan is not None and bool(plan.buffers or plan.windows)
    if changes:
        source = copy.copy(result)
        source.__dict__.setdefault("_parts_manager", source._parts_manager)

        def put(stream: Any) -> None:
            result._parts_manager = parts = Parts(source._parts_manager)
            result._get_event_iterator = lambda: _told(stream, source, result, parts)

    else:
        source = result

        def put(stream: Any) -> None:
            result._get_event_iterator = lambda: aiter(stream)

    def answer(value: Any) -> Iterator[Any]:
        return events_of(model_response(instance, value))

    return Body(Events(source._get_event_iterator), put, ResponseChunks(source, rewritten=changes), answer, EVENT_TEXTS)


async def _told(stream: Any, source: Any, result: Any, parts: Parts) -> AsyncIterator[Any]:
    """The events that go out; the consumer's object knows what they say."""
    told, own = source.__dict__, result.__dict__
    try:
        async for event in stream:
            parts.add(event)
            own.update((name, value) for name, value in told.items() if name not in _LATER)
            yield event
    finally:
        own.update((name, value) for name, value in told.items() if name not in _OWN)
        if parts.get_parts() != list(source._parts_manager.get_parts()):
            result.provider_details = unspelled(result.provider_details)
