"""What a chat generator returns: replies, and what each of them reports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from haystack.dataclasses import ChatMessage

from spanhook import semconv
from spanhook.instrument.formats.openai import RESPONSES_USAGE, completion_usage
from spanhook.instrument.haystack.messages import read, written
from spanhook.instrument.wire import bounded, counted, finished, messages_in
from spanhook.model import Attributes, Message, Usage, current_record

_EXPECTED = "a generator's answer is text, a message or a result of Haystack, or messages in role/parts form"


def replies_of(result: Any) -> Sequence[Any]:
    """The replies of a result."""
    replies = result.get("replies") if isinstance(result, Mapping) else None
    return [one for one in replies if isinstance(one, ChatMessage)] if isinstance(replies, list) else ()


def model_response(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage. Each of several replies reports the usage of the whole call."""
    replies, op = replies_of(result), current_record()
    attributes: Attributes = {}
    if not replies:
        return attributes, None
    told = replies[0].meta
    if isinstance(told.get("model"), str) and told["model"]:
        attributes[semconv.GEN_AI_RESPONSE_MODEL] = told["model"]
    # A client's call inside this one knows the provider's own word.
    if op is None or not op.inner.transported:
        reasons = tuple(one.meta["finish_reason"] for one in replies if isinstance(one.meta.get("finish_reason"), str))
        if reasons:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = reasons
    return attributes, _usage(told.get("usage"))


def _usage(reported: Any) -> Usage | None:
    if not isinstance(reported, Mapping) or not reported:
        return None
    if "input_tokens" not in reported:
        return completion_usage(dict(reported))
    used = counted(dict(reported), RESPONSES_USAGE)
    return None if used is None else bounded(used)


def model_output(result: Any) -> list[Message]:
    return [finished(read(one), one.meta.get("finish_reason")) for one in replies_of(result)]


def result_of(value: Any) -> dict[str, Any]:
    """What a generator would have returned.

    Args:
        value: Text, a message of Haystack's or a result of a generator, or messages in role/parts form.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, Mapping) and "replies" in value:
        return dict(value)
    return {"replies": replies_for(value)}


def replies_for(value: Any) -> list[Any]:
    """Messages of Haystack's for what a hook answers."""
    if isinstance(value, ChatMessage):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, ChatMessage) for one in value):
        return list(value)
    return [written({**one, "role": "assistant"}) for one in messages_in(value, _EXPECTED)]


def amended(before: Any, value: Any) -> dict[str, Any]:
    """``result_of`` for a value that replaces a result, of which the rest is kept."""
    made = result_of(value)
    if isinstance(value, Mapping) and "replies" in value:
        return made
    metas = [one.meta for one in replies_of(before)]
    told = [replace(one, _meta={**meta, **one.meta}) for one, meta in zip(made["replies"], metas, strict=False)]
    replies = [*told, *made["replies"][len(told) :]]
    return {**(before if isinstance(before, Mapping) else {}), "replies": replies}
