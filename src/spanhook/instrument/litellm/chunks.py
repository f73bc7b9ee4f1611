"""LiteLLM's chunks as JSON: many of their fields are none that their classes define."""

from typing import Any

from litellm.types.utils import ModelResponseStream, TextCompletionResponse

from spanhook.instrument.litellm.formats import NOTES
from spanhook.instrument.wire import Fields, Payload, fields_of, is_model, list_of, plain


def every_field(value: Any) -> Fields:
    """The fields of a model or dict, also those that its class does not define."""
    more = getattr(value, "__pydantic_extra__", None)
    return {**fields_of(value), **more} if more else fields_of(value)


def opened_choice(choice: Any) -> Payload:
    """The JSON in a choice."""
    told = dict(every_field(choice))
    for name in ("message", "delta"):
        said = told.get(name)
        if said is not None and not isinstance(said, dict):
            parts = {key: one for key, one in every_field(said).items() if one is not None}
            calls = parts.get("tool_calls")
            if calls:
                parts["tool_calls"] = [plain(call) if is_model(call) else call for call in calls]
            told[name] = parts
    return told


def opened(chunk: Any) -> Payload:
    """The JSON in a chunk with choices, and LiteLLM's notes. The chunk that only reports usage has no choices then."""
    told = {**every_field(chunk), NOTES: getattr(chunk, NOTES, None)}
    choices = [opened_choice(choice) for choice in list_of(told.get("choices"))]
    said = any(choice.get("delta") or choice.get("text") or choice.get("finish_reason") for choice in choices)
    told["choices"] = choices if said or told.get("usage") is None else []
    return told


def closed(chunk: Any, told: Payload) -> Any:
    """A chunk with other JSON in it."""
    made = {name: value for name, value in told.items() if name != NOTES}
    kind = TextCompletionResponse if isinstance(chunk, TextCompletionResponse) else ModelResponseStream
    twin: Any = kind(**made)
    setattr(twin, NOTES, getattr(chunk, NOTES, None) or {})
    return twin


def opened_event(event: Any) -> Payload:
    """The JSON in an event of a response, whose type is a member of an enumeration."""
    told = dict(every_field(event))
    told["type"] = getattr(told.get("type"), "value", told.get("type"))
    return told


def closed_event(event: Any, told: Payload) -> Any:
    """An event with other JSON in it."""
    if isinstance(event, dict):
        return told
    before = opened_event(event)
    return event.model_copy(update={name: value for name, value in told.items() if value is not before.get(name)})
