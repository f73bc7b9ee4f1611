"""What a model's message reports: why it stopped, and the usage that the library has noted on it."""

import json
from collections.abc import Mapping
from typing import Any, cast

from spanhook import semconv
from spanhook.model import Attributes, EndDetails, Usage, current_record

_USAGE = "fast-agent-usage"
_SCHEMA = "fast-agent.usage/v2"
"""Reports of this form belong to one call; earlier ones may be those of the call before."""


def note_cancelled(result: Any) -> None:
    """Some models answer when their task is cancelled; agents pass that on."""
    op = current_record()
    if op is not None and getattr(result.stop_reason, "value", None) == "cancelled":
        op.part(EndDetails).left = "cancelled"


def structured_told(result: Any) -> tuple[Attributes, Usage | None]:
    return response_told(result[1])


def response_told(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a message; a client's call inside this one has reported both itself."""
    op, reason = current_record(), getattr(result.stop_reason, "value", None)
    note_cancelled(result)
    if op is not None and op.inner.transported:
        return {}, None
    attributes: Attributes = {}
    if isinstance(reason, str):
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
    attempts = _attempts(result)
    if not attempts:
        return attributes, None
    model = attempts[-1].get("model")
    if isinstance(model, str) and model:
        attributes[semconv.GEN_AI_RESPONSE_MODEL] = model
    used = Usage()
    for attempt in attempts:
        used.add(_usage(attempt))
    return attributes, used


def _attempts(message: Any) -> list[Mapping[str, Any]]:
    """What the provider reported for each of the call's attempts."""
    for block in (message.channels or {}).get(_USAGE, ()):
        try:
            told = json.loads(block.text)
        except (AttributeError, ValueError):
            continue
        if isinstance(told, dict) and told.get("schema") == _SCHEMA:
            return [cast("Mapping[str, Any]", one) for one in told.get("provider_attempts") or ()]
    return []


def _usage(attempt: Mapping[str, Any]) -> Usage:
    prompt, completion = attempt.get("prompt") or {}, attempt.get("completion") or {}
    used = Usage()
    used.input_tokens = used.count(prompt.get("total"), "input_tokens")
    used.output_tokens = used.count(completion.get("total"), "output_tokens")
    used.cache_read_tokens = used.count(prompt.get("cache_read"), "cache_read_tokens")
    used.cache_write_tokens = used.count(prompt.get("cache_write"), "cache_write_tokens")
    used.reasoning_tokens = used.count(completion.get("reasoning"), "reasoning_tokens")
    return used
