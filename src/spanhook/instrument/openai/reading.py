"""Reading what came back, in whichever form the caller asked for it: a model, a dict, a raw response."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from openai._legacy_response import LegacyAPIResponse
from openai._models import BaseModel
from openai._response import BaseAPIResponse

from spanhook import semconv
from spanhook.copying import copied, copied_model, copies
from spanhook.driving import drive
from spanhook.shape import Attributes
from spanhook.usage import Usage

Fields = Mapping[str, Any]
_NO_FIELDS: Fields = {}
RAW = (LegacyAPIResponse, BaseAPIResponse)
"""What ``with_raw_response`` and ``with_streaming_response`` give the caller."""

copies(BaseModel)(copied_model)


@copies(*RAW)
def copied_raw(raw: Any) -> Any:
    """A raw response with models of its own; the HTTP response in it is the application's."""
    twin = copy.copy(raw)
    twin._parsed_by_type = copied(raw._parsed_by_type)
    return twin


def fields_of(value: Any) -> Fields:
    """What a model or a dict says, by name; nothing for what is neither."""
    if type(value) is dict:
        return value
    return value.__dict__ if isinstance(value, BaseModel) else _NO_FIELDS


def text_of(value: Any) -> str:
    """A name, an id or a reason; empty for what is no text, which a server may send all the same."""
    return value if isinstance(value, str) else ""


def list_of(value: Any) -> Sequence[Any]:
    """A list; an empty one for what is none."""
    return value if isinstance(value, list | tuple) else ()


def index_of(told: Fields, name: str = "index") -> int:
    """Which of several it is about."""
    index = told.get(name)
    return index if type(index) is int else 0


def extra_of(value: Any, name: str) -> Any:
    """What a provider says beyond the SDK's own fields."""
    if type(value) is dict:
        return value.get(name)
    more = getattr(value, "__pydantic_extra__", None)
    return more.get(name) if more else None


def result_of(result: Any) -> Any:
    """A result as a model or dict; of a raw response what it parses into, or its JSON.

    A raw response keeps what it has parsed, so the application's own ``parse`` costs nothing more. ``None`` where there
    is nothing to read: a body that the application has not read stays unread.
    """
    if isinstance(result, BaseModel) or type(result) is dict:
        return result
    response = getattr(result, "http_response", result)
    if not getattr(response, "is_closed", False):
        return None
    if isinstance(result, RAW):
        try:
            parsed = result.parse()  # pyright: ignore[reportAttributeAccessIssue]
            if hasattr(parsed, "__await__"):
                parsed = drive(parsed)  # the body has been read, so there is nothing to wait for
        except Exception:
            parsed = None  # a parser of the application's refuses what the model said; it will say so itself
        if isinstance(parsed, BaseModel) or type(parsed) is dict:
            return parsed
    try:
        return response.json()
    except Exception:
        return None


#: Where chat completions, completions and embeddings report usage, and where responses do.
CHAT_USAGE = ("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details")
RESPONSES_USAGE = ("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")


def usage_of(reported: Any, names: tuple[str, str, str, str]) -> Usage | None:
    """Usage as the provider reported it, and the cost if it reported that too, as OpenRouter and Perplexity do."""
    told, used = fields_of(reported), Usage()
    if not told:
        if not reported:
            return None
        used.skip("usage")
        return used
    used.input_tokens = used.count(told.get(names[0]), "input_tokens")
    used.output_tokens = used.count(told.get(names[1]), "output_tokens")
    details = told.get(names[2])
    if details:
        read = used.count(fields_of(details).get("cached_tokens"), "cache_read_tokens")
        written = fields_of(details).get("cache_write_tokens") or extra_of(details, "cache_write_tokens")
        written = used.count(written, "cache_write_tokens")
        used.cache_read_tokens = min(read, used.input_tokens)
        used.cache_write_tokens = min(written, used.input_tokens - used.cache_read_tokens)
    details = told.get(names[3])
    if details:
        reasoning = used.count(fields_of(details).get("reasoning_tokens"), "reasoning_tokens")
        if reasoning and told.get("total_tokens") == used.input_tokens + used.output_tokens + reasoning:
            used.output_tokens += reasoning  # xAI counts them apart
        used.reasoning_tokens = min(reasoning, used.output_tokens)
    cost = extra_of(reported, "cost")
    if cost is not None:
        if isinstance(cost, Mapping):
            cost = cost.get("total_cost")
        if cost is not None:
            used.charge(cost)
    return used


_TOLD = (
    ("id", semconv.GEN_AI_RESPONSE_ID),
    ("model", semconv.GEN_AI_RESPONSE_MODEL),
    ("service_tier", semconv.OPENAI_RESPONSE_SERVICE_TIER),
    ("system_fingerprint", semconv.OPENAI_RESPONSE_SYSTEM_FINGERPRINT),
)


def note(attributes: Attributes, told: Fields) -> None:
    """What every API says about its answer: id, model, service tier, fingerprint."""
    for name, key in _TOLD:
        value = told.get(name)
        if value and isinstance(value, str):
            attributes[key] = value


def completion_response(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a completion, of a chat or of text."""
    told = fields_of(result_of(result))
    attributes: Attributes = {}
    note(attributes, told)
    reasons = tuple(text_of(fields_of(choice).get("finish_reason")) for choice in list_of(told.get("choices")))
    if any(reasons):
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = reasons
    return attributes, usage_of(told.get("usage"), CHAT_USAGE)
