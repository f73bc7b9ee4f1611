"""What a model reports about itself and a call: provider, model, parameters."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.fast_agent.messages import field
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.model import Attributes, exact_text

_PROVIDERS = {
    "anthropic-vertex": "gcp.vertex_ai",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "codexresponses": "openai",
    "fast-agent": "fast_agent",
    "google": "gcp.gemini",
    "googleoai": "gcp.gemini",
    "responses": "openai",
    "xai": "x_ai",
}
"""Providers as the library names them, where the conventions have another name."""
_EARLIER = {"max_tokens": "maxTokens"}


def parameter_of(instance: Any, given: Any, name: str, earlier: str = "") -> Any:
    """A parameter of a call: one that it was given, else the model object's own.

    Args:
        instance: The model.
        given: The parameters that it was called with, if any.
        name, earlier: The field, as ``messages.field`` has it.
    """
    own = getattr(instance, "default_request_params", None)
    for parameters in (given, own):
        found = None if parameters is None else field(parameters, name, earlier or name)
        if found is not None:
            return found
    return None


def model_of(instance: Any, given: Any) -> str:
    """The requested model: the call's own, or the model object's."""
    named = parameter_of(instance, given, "model") or getattr(instance, "model_name", None)
    return exact_text(named or provider_of(instance))


def instruction_of(instance: Any, given: Any) -> str:
    """The instruction that providers are sent: the model object's own, before the call's."""
    own = getattr(instance, "instruction", None)
    return own or parameter_of(instance, given, "system_prompt", "systemPrompt") or ""


def provider_of(instance: Any) -> str:
    provider = getattr(getattr(instance, "provider", None), "value", None)
    return _PROVIDERS.get(provider, provider) if isinstance(provider, str) else "fast_agent"


def describe(instance: Any, given: Any) -> Attributes:
    """Start attributes of a model call.

    Args:
        instance: The model.
        given: The parameters that it was called with, if any.
    """
    attributes: Attributes = {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: provider_of(instance),
        semconv.GEN_AI_REQUEST_MODEL: model_of(instance, given),
    }
    for name, (key, number) in PARAMETERS.items():
        note_parameter(attributes, key, number, parameter_of(instance, given, name, _EARLIER.get(name, name)))
    return attributes
