"""What a provider's response reports, which DSPy's models do not return: they return texts."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai import completion_usage
from spanhook.instrument.layers import DSPY_MODEL
from spanhook.instrument.wire import list_of
from spanhook.model import Args, Attributes, EndDetails, Kwargs, Usage, current_record

_RESPONSES_USAGE = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "input_tokens_details": "prompt_tokens_details",
    "output_tokens_details": "completion_tokens_details",
}


def processed(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A model has the response that it is about to read; up to 3.3."""
    _keep(args[0] if args else kwargs.get("response"))
    return args, kwargs


def finalized(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The same from 3.4 on."""
    _keep(args[2] if len(args) > 2 else kwargs.get("result"))
    return args, kwargs


def _keep(response: Any) -> None:
    op = current_record()
    if op is not None and op.adapter.layer == DSPY_MODEL:
        op.part(EndDetails).raw = response


def response_told(_outputs: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of the response that the outputs were made of."""
    op = current_record()
    told = None if op is None else op.ending.raw
    if told is None:
        return {}, None
    raw = getattr(told, "raw", None) or told
    attributes: Attributes = {}
    for name, found in (
        (semconv.GEN_AI_RESPONSE_MODEL, getattr(told, "response_model", None) or getattr(raw, "model", None)),
        (semconv.GEN_AI_RESPONSE_ID, getattr(raw, "id", None)),
    ):
        if isinstance(found, str) and found:
            attributes[name] = found
    reasons = _reasons(raw)
    if reasons:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = reasons
    if getattr(told, "cache_hit", False):
        return attributes, None
    return attributes, usage_of(getattr(told, "usage", None))


def _reasons(raw: Any) -> tuple[str, ...]:
    choices = list_of(getattr(raw, "choices", None)) or [raw]
    found = (getattr(one, "finish_reason", None) for one in choices)
    return tuple(one for one in found if isinstance(one, str))


def usage_of(reported: Any) -> Usage | None:
    """Usage in the form of completions or of responses."""
    if not reported:
        return None
    told: dict[str, Any] = dict(reported)
    if "input_tokens" in told and "prompt_tokens" not in told:
        told = {_RESPONSES_USAGE.get(name, name): value for name, value in told.items()}
    return completion_usage(told)
