"""What a model object reports about itself: provider, model, parameters."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.prefixes import provider_named, split
from spanhook.model import Attributes, Kwargs

_HERE = "smolagents."
_PROVIDERS = {
    "AmazonBedrockModel": "aws.bedrock",
    "AmazonBedrockServerModel": "aws.bedrock",
    "AzureOpenAIModel": "azure.ai.openai",
    "AzureOpenAIServerModel": "azure.ai.openai",
    "InferenceClientModel": "huggingface",
    "MLXModel": "mlx",
    "OpenAIModel": "openai",
    "OpenAIServerModel": "openai",
    "TransformersModel": "huggingface",
    "VLLMModel": "vllm",
}
"""Providers by the names of the library's classes."""
_LITELLM = "LiteLLMModel"


def _class_of(model: Any) -> str:
    """The library's class that a model's class comes from; empty for the application's own."""
    for one in type(model).__mro__:
        if one.__module__.startswith(_HERE) and (one.__name__ in _PROVIDERS or one.__name__ == _LITELLM):
            return one.__name__
    return ""


def _names(model: Any) -> tuple[str, str]:
    """Provider and model."""
    named = getattr(model, "model_id", None)
    named, known = named if isinstance(named, str) else "", _class_of(model)
    if known != _LITELLM:
        return _PROVIDERS.get(known, semconv.UNKNOWN_PROVIDER), named
    provider, _, bare = split(named)
    return provider_named(provider or "openai"), bare


def model_of(model: Any) -> str:
    """The name of a model."""
    return _names(model)[1]


def describe(model: Any, kwargs: Kwargs) -> Attributes:
    """Start attributes of a model call; what a model was made with comes before what the call says."""
    provider, named = _names(model)
    attributes: Attributes = {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_PROVIDER_NAME: provider}
    if named:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = named
    given = getattr(model, "kwargs", None)
    for fields in (kwargs, given if isinstance(given, Mapping) else {}):
        for name, (key, number) in PARAMETERS.items():
            value = fields.get(name)
            if value is not None:
                note_parameter(attributes, key, number, value)
    return attributes
