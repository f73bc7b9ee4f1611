"""Start attributes common to all of OpenAI's APIs, from the options of a request."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.openai.servers import server_of
from spanhook.instrument.stainless import Body, described, options_of
from spanhook.model import Args, Attributes, Kwargs

_OUTPUT_TYPES = {"text": "text", "json_object": "json", "json_schema": "json"}


def describe(instance: Any, args: Args, kwargs: Kwargs, body: Body) -> Attributes:
    """Provider, server, model and parameters of a request with this JSON."""
    server = server_of(instance, options_of(args, kwargs).url)
    model = body.get("model") or getattr(instance, "_azure_deployment", None)
    attributes = described(server, model, kwargs, body)
    choices = body.get("n")
    if isinstance(choices, int) and choices != 1:
        attributes[semconv.GEN_AI_REQUEST_CHOICE_COUNT] = choices
    tier = body.get("service_tier")
    if isinstance(tier, str) and tier != "auto":
        attributes[semconv.OPENAI_REQUEST_SERVICE_TIER] = tier
    reasoning = body.get("reasoning")
    level = body.get("reasoning_effort") or (reasoning.get("effort") if isinstance(reasoning, dict) else None)
    if isinstance(level, str):
        attributes[semconv.GEN_AI_REQUEST_REASONING_LEVEL] = level
    return attributes


def output_type(format: Any) -> str:
    """The conventions' output type for a ``response_format`` or ``text.format``; empty if none is asked for."""
    return _OUTPUT_TYPES.get(str(format.get("type")), "") if isinstance(format, dict) else ""
