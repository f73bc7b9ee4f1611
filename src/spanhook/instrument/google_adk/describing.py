"""What a model object and a request report about a call: provider, model, parameters."""

import os
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google import GenerateContent
from spanhook.instrument.prefixes import provider_named, split
from spanhook.instrument.wire import fields_of
from spanhook.model import Attributes, exact_text

_HERE = "google.adk."
_FORMAT = GenerateContent()
_CLAUDE, _GEMINI, _LITELLM = "AnthropicLlm", "Gemini", "LiteLlm"
_FAMILIES = frozenset((_CLAUDE, _GEMINI, _LITELLM))


def family_of(model: Any) -> str:
    """The library's class that a model's class comes from; empty for the application's own."""
    for one in type(model).__mro__:
        if one.__module__.startswith(_HERE) and one.__name__ in _FAMILIES:
            return one.__name__
    return ""


def is_gemini(model: Any) -> bool:
    """Whether a model sends its requests through Google's SDK."""
    return family_of(model) == _GEMINI


def is_claude(model: Any) -> bool:
    """Whether a model sends its requests through Anthropic's SDK."""
    return family_of(model) == _CLAUDE


def model_of(model: Any, request: Any) -> str:
    """The name of the model that a request is for."""
    named = getattr(request, "model", None) or getattr(model, "model", None)
    named = named if isinstance(named, str) else ""
    return split(named)[-1] if family_of(model) == _LITELLM else named.rpartition("/")[-1]


def _provider_of(model: Any, named: str) -> str:
    family = family_of(model)
    if family == _LITELLM:
        return provider_named(split(named)[0] or "openai")
    if family == _CLAUDE:
        return "anthropic"
    if family != _GEMINI:
        return semconv.UNKNOWN_PROVIDER
    client = fields_of(model).get("client")
    asked = os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("true", "1")
    is_vertex = asked if client is None else bool(getattr(client, "vertexai", False))
    return "gcp.vertex_ai" if is_vertex or named.startswith("projects/") else "gcp.gemini"


def describe(model: Any, request: Any) -> Attributes:
    """Start attributes of a model call."""
    named = exact_text(getattr(request, "model", None)) or exact_text(getattr(model, "model", None))
    attributes: Attributes = {}
    config = getattr(request, "config", None)
    _FORMAT.describe(attributes, {"generationConfig": config})
    attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
    attributes[semconv.GEN_AI_PROVIDER_NAME] = _provider_of(model, named)
    asked = model_of(model, request)
    if asked:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = asked
    return attributes
