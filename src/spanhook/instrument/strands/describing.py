"""What a model object reports about itself: provider, model, parameters."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.prefixes import provider_named, split
from spanhook.instrument.wire import fields_of
from spanhook.model import Attributes, exact_text

_HERE = "strands.models."
_PROVIDERS = {
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "llamaapi": "meta",
    "mistral": "mistral_ai",
    "openai_responses": "openai",
    "sagemaker": "aws.sagemaker",
}
"""Names of providers where they differ from those of the library's modules."""
_APART = frozenset(("anthropic", "bedrock"))
"""Modules whose models report what was read from and written to caches apart from the other input tokens."""


def _module(model: Any) -> str:
    """The library's module that a model's class comes from; empty for the application's own."""
    for one in type(model).__mro__:
        module = one.__module__
        if module.startswith(_HERE) and module != f"{_HERE}model":
            return module.removeprefix(_HERE).partition(".")[0]
    return ""


def counts_apart(model: Any) -> bool:
    """Whether a model's input tokens leave out those of caches."""
    return _module(model) in _APART


def config_of(model: Any) -> Mapping[str, Any]:
    """A model's configuration, which is a dict or a model of Pydantic's."""
    read = getattr(model, "get_config", None)
    config = read() if callable(read) else None
    return fields_of(config)


def model_of(model: Any) -> str:
    """The name of a model."""
    named = config_of(model).get("model_id")
    named = named if isinstance(named, str) else ""
    return split(named)[-1] if _module(model) == "litellm" else named


def _provider_of(model: Any) -> str:
    module = _module(model)
    if module == "litellm":
        return provider_named(split(exact_text(config_of(model).get("model_id")))[0] or "openai")
    return _PROVIDERS.get(module, module) or semconv.UNKNOWN_PROVIDER


def describe(model: Any) -> Attributes:
    """Start attributes of a model call."""
    attributes: Attributes = {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: _provider_of(model),
    }
    named = model_of(model)
    if named:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = named
    config = config_of(model)
    for given in (config, fields_of(config.get("params")), fields_of(config.get("options"))):
        for name, (key, number) in PARAMETERS.items():
            value = given.get(name)
            if value is not None:
                note_parameter(attributes, key, number, value)
    stops = config.get("stop_sequences")
    if isinstance(stops, list) and stops and all(isinstance(one, str) for one in stops):
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(stops)
    return attributes
