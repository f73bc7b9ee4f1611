"""What a ``ModelResponse`` reports: usage, the id of the response, why the model stopped."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.wire import fields_of, list_of
from spanhook.model import Attributes, Usage, current_record

FAKE_ID = "__fake_id__"
"""What the SDK writes in place of ids that a provider does not give; it never sends it."""
_CALLS = ("function_call", "custom_tool_call")


def response_told(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a ``ModelResponse``."""
    attributes: Attributes = {}
    if isinstance(result.response_id, str) and result.response_id != FAKE_ID:
        attributes[semconv.GEN_AI_RESPONSE_ID] = result.response_id
    if not _transported():
        called = any(fields_of(item).get("type") in _CALLS for item in list_of(result.output))
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = ("tool_calls" if called else "stop",)
    return attributes, usage_of(result.usage)


def _transported() -> bool:
    """Whether a client's call inside this one knows more about the answer."""
    op = current_record()
    return op is not None and op.inner.transported


def usage_of(reported: Any) -> Usage | None:
    """Usage as the SDK adds it up; none if all is zero, as it is for answers without usage."""
    used = Usage()
    used.input_tokens = used.count(getattr(reported, "input_tokens", None), "input_tokens")
    used.output_tokens = used.count(getattr(reported, "output_tokens", None), "output_tokens")
    if not used.input_tokens and not used.output_tokens:
        return None
    given, made = getattr(reported, "input_tokens_details", None), getattr(reported, "output_tokens_details", None)
    used.cache_read_tokens = used.count(getattr(given, "cached_tokens", None), "cache_read_tokens")
    used.cache_write_tokens = used.count(getattr(given, "cache_write_tokens", None), "cache_write_tokens")
    used.reasoning_tokens = used.count(getattr(made, "reasoning_tokens", None), "reasoning_tokens")
    return used
