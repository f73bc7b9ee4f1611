"""What a chat generator reports about itself: provider, model, parameters."""

from collections.abc import Mapping
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.addresses import address_of
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.model import Attributes

PROVIDER = "haystack"
_OWN = "haystack.components.generators."
_INTEGRATED = "haystack_integrations.components.generators."
_PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure_responses": "azure.ai.openai",
    "google_ai": "gcp.gemini",
    "google_genai": "gcp.gemini",
    "google_vertex": "gcp.vertex_ai",
    "huggingface_api": "huggingface",
    "huggingface_local": "huggingface",
    "mistral": "mistral_ai",
    "openai_responses": "openai",
    "watsonx": "ibm.watsonx.ai",
}
"""Names of providers where they differ from those of the library's modules."""
_UNNAMED = frozenset(("mock", "llm", "fallback"))
_SERVERS = ("api_base_url", "azure_endpoint")
_MODELS = ("model", "azure_deployment", "model_name", "model_id")


def _module(generator: Any) -> str:
    """The library's module that a generator's class comes from; empty for the application's own."""
    for one in type(generator).__mro__:
        if one.__module__.startswith(_INTEGRATED):
            return one.__module__.removeprefix(_INTEGRATED).partition(".")[0]
        if one.__module__.startswith(_OWN):
            return one.__module__.rpartition(".")[2]
    return ""


def model_of(generator: Any) -> str:
    """The name of a generator's model."""
    given = (getattr(generator, name, None) for name in _MODELS)
    named = next((one for one in given if isinstance(one, str) and one), None)
    if named is None:
        parameters = getattr(generator, "api_params", None)
        named = parameters.get("model") if isinstance(parameters, Mapping) else None
    return named if isinstance(named, str) else ""


def parameters_of(generator: Any, given: Any) -> Mapping[str, Any]:
    """How text is generated: as the generator was told, and as the call says."""
    told = getattr(generator, "generation_kwargs", None)
    parameters: dict[str, Any] = {}
    for one in (told, given):
        if isinstance(one, Mapping):
            parameters.update(cast("Mapping[str, Any]", one))
    return parameters


def _note_server(attributes: Attributes, generator: Any) -> None:
    """Add the server, if the generator was told of one."""
    given = (getattr(generator, name, None) for name in _SERVERS)
    url = next((one for one in given if isinstance(one, str) and one), "")
    try:
        host, port = address_of(url)
    except ValueError:
        return  # the client says what is wrong with it
    if host:
        attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = host, port


def describe(generator: Any, given: Any) -> Attributes:
    """Start attributes of a call, given its ``generation_kwargs``."""
    module = _module(generator)
    known = "" if module in _UNNAMED else _PROVIDERS.get(module, module)
    attributes: Attributes = {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: known or semconv.UNKNOWN_PROVIDER,
    }
    named = model_of(generator)
    if named:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = named
    _note_server(attributes, generator)
    parameters = parameters_of(generator, given)
    for name, (key, number) in PARAMETERS.items():
        value = parameters.get(name)
        if value is not None:
            note_parameter(attributes, key, number, value)
    stops = parameters.get("stop")
    if isinstance(stops, list) and stops and all(isinstance(one, str) for one in stops):
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(stops)
    return attributes
