"""What OpenAI's answers report about themselves: usage, and facts common to all of them."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.instrument.wire import (
    Fields,
    UsagePlaces,
    bounded,
    counted,
    extra_of,
    fields_of,
    list_of,
    noted,
    text_of,
    usage_places,
)
from spanhook.model import Attributes, Usage

#: Where usage is reported: in chat completions, completions and embeddings, and in responses.
CHAT_USAGE = usage_places(
    input_tokens="prompt_tokens",
    output_tokens="completion_tokens",
    cache_read_tokens="prompt_tokens_details.cached_tokens",
    cache_write_tokens="prompt_tokens_details.cache_write_tokens",
    reasoning_tokens="completion_tokens_details.reasoning_tokens",
)
RESPONSES_USAGE = usage_places(
    input_tokens="input_tokens",
    output_tokens="output_tokens",
    cache_read_tokens="input_tokens_details.cached_tokens",
    cache_write_tokens="input_tokens_details.cache_write_tokens",
    reasoning_tokens="output_tokens_details.reasoning_tokens",
)


def usage_of(reported: Any, places: UsagePlaces) -> Usage | None:
    """Usage as the provider reported it, and the cost if it reported that too, as OpenRouter and Perplexity do."""
    used = counted(reported, places)
    if used is None:
        return None
    reasoning = used.reasoning_tokens
    if reasoning and fields_of(reported).get("total_tokens") == used.input_tokens + used.output_tokens + reasoning:
        used.output_tokens += reasoning  # xAI counts them separately
    cost = extra_of(reported, "cost")
    if isinstance(cost, Mapping):
        cost = cost.get("total_cost")
    if cost is not None:
        used.charge(cost)
    return bounded(used)


def completion_usage(reported: Any) -> Usage | None:
    """Usage in the form of chat completions, completions and embeddings."""
    return usage_of(reported, CHAT_USAGE)


_TOLD = (("id", semconv.GEN_AI_RESPONSE_ID), ("model", semconv.GEN_AI_RESPONSE_MODEL))
_TOLD_BY_ITSELF = (
    *_TOLD,
    ("service_tier", semconv.OPENAI_RESPONSE_SERVICE_TIER),
    ("system_fingerprint", semconv.OPENAI_RESPONSE_SYSTEM_FINGERPRINT),
)


def noted_answer(told: Fields, *, itself: bool) -> Attributes:
    """What every API reports about its answer: id and model; OpenAI itself, also service tier and fingerprint."""
    return noted(told, _TOLD_BY_ITSELF if itself else _TOLD)


def completion_response(told: Fields, *, itself: bool) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a chat or text completion."""
    attributes = noted_answer(told, itself=itself)
    reasons = tuple(text_of(fields_of(choice).get("finish_reason")) for choice in list_of(told.get("choices")))
    if any(reasons):
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = tuple(reason or "error" for reason in reasons)
    return attributes, usage_of(told.get("usage"), CHAT_USAGE)
