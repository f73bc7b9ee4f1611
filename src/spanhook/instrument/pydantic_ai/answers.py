"""Hooks' answers in the library's own types: a response, or a stream of its events."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import ModelResponse, PartStartEvent
from pydantic_ai.models import StreamedResponse

from spanhook.instrument.pydantic_ai.describing import model_of
from spanhook.instrument.pydantic_ai.messages import written_part
from spanhook.instrument.wire import messages_in

_EXPECTED = "a model's answer is text, a ModelResponse, or messages in role/parts form"


def model_response(model: Any, value: Any) -> ModelResponse:
    """What a model would have returned.

    Args:
        model: The model object.
        value: Text, a ``ModelResponse``, or messages in role/parts form.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, ModelResponse):
        return value
    if isinstance(value, StreamedResponse):
        return value.get()
    messages = messages_in(value, _EXPECTED, key="parts")
    parts = [written_part(part) for message in messages for part in message["parts"]]
    return ModelResponse(parts=parts, model_name=model_of(model) or None)


def amended(before: Any, model: Any, value: Any) -> ModelResponse:
    """``model_response`` for a value that replaces a response, whose other fields are kept."""
    made = model_response(model, value)
    if made is value or not isinstance(before, ModelResponse):
        return made
    return replace(before, parts=made.parts, provider_details=unspelled(before.provider_details))


def unspelled(details: Any) -> Any:
    """A provider's details without log probabilities, which spell the original text out."""
    if not isinstance(details, dict) or "logprobs" not in details:
        return details
    return {name: value for name, value in details.items() if name != "logprobs"} or None


def events_of(response: ModelResponse) -> Iterator[PartStartEvent]:
    """The events of a stream of a response: each part as a whole."""
    for index, part in enumerate(response.parts):
        yield PartStartEvent(index=index, part=part)


class Parts:
    """The parts of a response, as its events tell them."""

    def __init__(self, manager: Any) -> None:
        self._manager, self._parts = manager, dict[int, Any]()

    def __getattr__(self, name: str) -> Any:
        if name == "_manager":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._manager, name)

    def get_parts(self) -> list[Any]:
        """The parts so far, in order."""
        return [part for _, part in sorted(self._parts.items())]

    def add(self, event: Any) -> None:
        """Take one event."""
        kind = getattr(event, "event_kind", "")
        if kind == "part_start":
            self._parts[event.index] = event.part
        elif kind == "part_delta" and event.index in self._parts:
            self._parts[event.index] = event.delta.apply(self._parts[event.index])


@dataclass
class AnsweredStream(StreamedResponse):
    """The stream of a response that a hook gave instead of a call."""

    answer: ModelResponse = field(kw_only=True)

    def __post_init__(self) -> None:
        self._usage = self.answer.usage
        self._parts_manager: Any = Parts(self._parts_manager)

    async def _get_event_iterator(self) -> AsyncIterator[Any]:
        for event in events_of(self.answer):
            self._parts_manager.add(event)
            yield event

    def get(self) -> ModelResponse:
        """The response."""
        return self.answer

    async def close_stream(self) -> None:
        """Nothing is open."""

    @property
    def model_name(self) -> str:
        return self.answer.model_name or ""

    @property
    def provider_name(self) -> str | None:
        return self.answer.provider_name

    @property
    def provider_url(self) -> str | None:
        return getattr(self.answer, "provider_url", None)

    @property
    def timestamp(self) -> datetime:
        return self.answer.timestamp or datetime.now(UTC)
