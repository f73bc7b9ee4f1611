"""Start attributes that all APIs share."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.openai.options import Body, is_streamed, options_of
from spanhook.instrument.openai.providers import server_of
from spanhook.shape import Args, Attributes, Kwargs

_NUMBERS = (
    ("temperature", semconv.GEN_AI_REQUEST_TEMPERATURE),
    ("top_p", semconv.GEN_AI_REQUEST_TOP_P),
    ("frequency_penalty", semconv.GEN_AI_REQUEST_FREQUENCY_PENALTY),
    ("presence_penalty", semconv.GEN_AI_REQUEST_PRESENCE_PENALTY),
    ("seed", semconv.GEN_AI_REQUEST_SEED),
)
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_OUTPUT_TYPES = {"text": "text", "json_object": "json", "json_schema": "json"}


def describe(instance: Any, args: Args, kwargs: Kwargs, body: Body) -> Attributes:
    """Provider, server, model and parameters of a request with this JSON."""
    provider, address, port = server_of(instance, options_of(args, kwargs).url)
    attributes: Attributes = {semconv.GEN_AI_PROVIDER_NAME: provider}
    if address:
        attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = address, port
    model = body.get("model") or getattr(instance, "_azure_deployment", None)
    if isinstance(model, str):
        attributes[semconv.GEN_AI_REQUEST_MODEL] = model
    if is_streamed(kwargs):
        attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    for name, key in _NUMBERS:
        value = body.get(name)
        if isinstance(value, int | float):
            attributes[key] = value
    for name in _LIMITS:
        value = body.get(name)
        if isinstance(value, int):
            attributes[semconv.GEN_AI_REQUEST_MAX_TOKENS] = value
            break
    choices = body.get("n")
    if isinstance(choices, int) and choices != 1:
        attributes[semconv.GEN_AI_REQUEST_CHOICE_COUNT] = choices
    stop = body.get("stop")
    if stop:
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = (stop,) if isinstance(stop, str) else tuple(stop)
    tier = body.get("service_tier")
    if isinstance(tier, str) and tier != "auto":
        attributes[semconv.OPENAI_REQUEST_SERVICE_TIER] = tier
    return attributes


def output_type(format: Any) -> str:
    """The conventions' output type for a ``response_format`` or ``text.format``; empty if none is asked for."""
    return _OUTPUT_TYPES.get(str(format.get("type")), "") if isinstance(format, dict) else ""
