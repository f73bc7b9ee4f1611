"""What models return: usage, messages; and responses for what hooks answer.

Integrations report usage in their own words: beside the answer, or in the provider's answer as it came.
"""

from collections.abc import Iterator
from typing import Any

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse

from spanhook import semconv
from spanhook.instrument.formats.openai import RESPONSES_USAGE, completion_usage
from spanhook.instrument.llama_index.messages import answer_of, read
from spanhook.instrument.wire import UsagePlaces, bounded, counted, fields_of, finished, usage_places
from spanhook.model import Attributes, Message, Usage, current_record

_FORMS: tuple[tuple[str, UsagePlaces], ...] = (
    ("input_tokens", RESPONSES_USAGE),
    (
        "prompt_token_count",
        usage_places(
            input_tokens="prompt_token_count",
            output_tokens="candidates_token_count",
            cache_read_tokens="cached_content_token_count",
        ),
    ),
    ("inputTokens", usage_places(input_tokens="inputTokens", output_tokens="outputTokens")),
    ("prompt_eval_count", usage_places(input_tokens="prompt_eval_count", output_tokens="eval_count")),
)
"""The forms of usage by a field that each of them has, besides the most common one."""


def usage_in(response: Any) -> Usage | None:
    """The usage that a response reports; ``None`` if it reports none."""
    return next((used for one in _places(response) if (used := _usage(one)) is not None), None)


def _places(response: Any) -> Iterator[Any]:
    """Where usage may stand: in the provider's answer, which says most, or beside it."""
    raw = getattr(response, "raw", None)
    told = fields_of(raw)
    for name in ("usage", "usage_metadata"):
        yield told.get(name)
    yield raw
    yield getattr(response, "additional_kwargs", None)


def _usage(reported: Any) -> Usage | None:
    told = fields_of(reported)
    if told.get("prompt_tokens") is not None:
        return completion_usage(reported)
    form = next((places for name, places in _FORMS if told.get(name) is not None), None)
    used = None if form is None else counted(reported, form)
    return None if used is None else bounded(used)


def model_response(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage; what a client inside of this call has reported about the answer is more exact."""
    op = current_record()
    used = usage_in(result)
    if op is not None and op.inner.transported:
        return {}, used
    named = fields_of(getattr(result, "raw", None)).get("model")
    return ({semconv.GEN_AI_RESPONSE_MODEL: named} if isinstance(named, str) and named else {}), used


# ------------------------------------------------------------------------------------------------- messages


def _reason(response: Any) -> Any:
    """Why the model stopped, if its provider's answer says so in the usual form."""
    choices = fields_of(getattr(response, "raw", None)).get("choices")
    return fields_of(choices[0]).get("finish_reason") if isinstance(choices, list) and choices else None


def model_output(result: Any) -> list[Message]:
    if isinstance(result, ChatResponse):
        return [finished(read(result.message), _reason(result))]
    if isinstance(result, CompletionResponse):
        text = {"type": "text", "content": result.text}
        return [finished({"role": "assistant", "parts": [text]}, _reason(result))]
    return []


def chat_answer(value: Any, before: Any = None) -> ChatResponse:
    """The response of a chat model for what a hook answers.

    Args:
        value: The answer.
        before: What it replaces. Only what this reports about itself is kept, not the answer as it came.
    """
    if isinstance(value, ChatResponse):
        return value
    if isinstance(value, CompletionResponse):
        value = value.text
    message = answer_of(value)
    return ChatResponse(message=message, delta=None, raw=None, additional_kwargs=_kept(before))


def completion_answer(value: Any, before: Any = None) -> CompletionResponse:
    """``chat_answer`` for a completion model."""
    if isinstance(value, CompletionResponse):
        return value
    text = value if isinstance(value, str) else chat_answer(value).message.content or ""
    return CompletionResponse(text=text, raw=None, additional_kwargs=_kept(before))


def _kept(before: Any) -> dict[str, Any]:
    """The counts beside an answer."""
    told = fields_of(getattr(before, "additional_kwargs", None))
    return {name: one for name, one in told.items() if isinstance(one, int | float)}
