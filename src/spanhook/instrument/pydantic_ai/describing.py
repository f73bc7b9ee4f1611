"""What a model object reports about itself and a call: provider, server, model, parameters."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.instrument.addresses import address_of
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.pydantic_ai.arguments import REQUEST
from spanhook.model import Args, Attributes, Kwargs, exact_text

#: Names of providers where they differ from the conventions'.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "google-gla": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "grok": "x_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
_PARAMETERS = tuple((name, *PARAMETERS[name]) for name in PARAMETERS)
_OUTPUTS = {"text": "text", "tool": "json", "native": "json", "prompted": "json", "image": "image"}


def provider_of(model: Any) -> str:
    """The conventions' name of a model's provider."""
    named = exact_text(getattr(model, "system", ""))
    return _PROVIDERS.get(named, named or semconv.UNKNOWN_PROVIDER)


def model_of(model: Any) -> str:
    """The name of a model."""
    return exact_text(getattr(model, "model_name", ""))


def note_model(attributes: Attributes, model: Any) -> None:
    """Add provider, server and model."""
    attributes[semconv.GEN_AI_PROVIDER_NAME] = provider_of(model)
    named = model_of(model)
    if named:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = named
    url = getattr(model, "base_url", None)
    host, port = address_of(str(url)) if url else ("", 0)
    if host:
        attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = host, port


def describe(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    """Start attributes of a model call."""
    attributes: Attributes = {semconv.GEN_AI_OPERATION_NAME: "chat"}
    note_model(attributes, instance)
    for given in (getattr(instance, "settings", None), REQUEST.given(args, kwargs, "model_settings")):
        if isinstance(given, Mapping):
            _note_settings(attributes, given)
    parameters = REQUEST.given(args, kwargs, "model_request_parameters")
    output = _OUTPUTS.get(str(getattr(parameters, "output_mode", "")))
    if output:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = output
    return attributes


def _note_settings(attributes: Attributes, settings: Mapping[str, Any]) -> None:
    for name, key, number in _PARAMETERS:
        value = settings.get(name)
        if value is not None:
            note_parameter(attributes, key, number, value)
    stops = settings.get("stop_sequences")
    if isinstance(stops, list) and all(isinstance(one, str) for one in stops):
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(stops)
