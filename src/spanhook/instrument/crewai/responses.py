"""What CrewAI's models report of a response: they return no more than its text or its tool calls.

This is used where no client that spanhook binds sent the request: such a client knows more.
"""

from typing import Any

from crewai.types.usage_metrics import UsageMetrics

from spanhook import semconv
from spanhook.instrument.crewai.arguments import COMPLETED
from spanhook.instrument.layers import CREWAI_MODEL
from spanhook.instrument.wire import fields_of
from spanhook.model import Args, Attributes, EndDetails, Kwargs, Usage, current_record

_USAGE = "usage"


def counted(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A model counts the usage of a response."""
    told = args[0] if args else kwargs.get("usage_data", kwargs.get("usage"))
    used = usage_of(told)
    noted = _noted()
    if used is not None and noted is not None:
        noted.setdefault(_USAGE, Usage()).add(used)
    return args, kwargs


def completed(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A model tells of a response."""
    noted = _noted()
    if noted is not None:
        reason = COMPLETED.given(args, kwargs, "finish_reason")
        if isinstance(reason, str) and reason:
            noted[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
        response_id = COMPLETED.given(args, kwargs, "response_id")
        if isinstance(response_id, str) and response_id:
            noted[semconv.GEN_AI_RESPONSE_ID] = response_id
    return args, kwargs


def _noted() -> dict[str, Any] | None:
    """Where what the current model call reports is kept."""
    op = current_record()
    if op is None or op.adapter.layer != CREWAI_MODEL:
        return None
    if op.ending.raw is None:
        op.part(EndDetails).raw = {}
    return op.ending.raw


def response_told(_result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of the model call that has returned."""
    op = current_record()
    noted = None if op is None or op.adapter.layer != CREWAI_MODEL else op.ending.raw
    if op is None or not noted:
        return {}, None
    known = op.end_attributes or {}
    attributes: Attributes = {name: one for name, one in noted.items() if name != _USAGE and name not in known}
    return attributes, noted.get(_USAGE)


def usage_of(told: Any) -> Usage | None:
    """Usage as providers report it, in the form of any of them."""
    given = fields_of(told)
    if "inputTokens" in given:  # of Bedrock, which leaves out what it read from and wrote to its cache
        read, written = int(given.get("cacheReadInputTokens") or 0), int(given.get("cacheWriteInputTokens") or 0)
        return Usage(
            input_tokens=int(given["inputTokens"]) + read + written,
            output_tokens=int(given.get("outputTokens") or 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )
    used = UsageMetrics.from_provider_dict(given) if given else None
    if used is None:
        return None
    return Usage(
        input_tokens=used.prompt_tokens,
        output_tokens=used.completion_tokens,
        cache_read_tokens=used.cached_prompt_tokens,
        cache_write_tokens=used.cache_creation_tokens,
        reasoning_tokens=used.reasoning_tokens,
    )
