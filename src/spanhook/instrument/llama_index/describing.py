"""What a model object reports about itself: provider, model, server, parameters."""

from collections.abc import Mapping
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.addresses import address_of
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.model import Attributes, Kwargs

PROVIDER = "llama_index"
_INTEGRATED = ("llama_index.llms.", "llama_index.multi_modal_llms.")
_PROVIDERS = {
    "azure_inference": "azure.ai.inference",
    "azure_openai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "dashscope": "alibaba_cloud",
    "gemini": "gcp.gemini",
    "google_genai": "gcp.gemini",
    "huggingface_api": "huggingface",
    "mistralai": "mistral_ai",
    "openai_like": "openai",
    "sagemaker_endpoint": "aws.sagemaker",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Names of providers where they differ from those of the library's integrations."""
_MODELS = ("model", "model_name", "model_id", "engine", "deployment_name")
_SERVERS = ("api_base", "azure_endpoint", "base_url")


def _integration(model: Any) -> str:
    """The integration that a model's class comes from; empty for the application's own and those of the core."""
    for one in type(model).__mro__:
        for place in _INTEGRATED:
            if one.__module__.startswith(place):
                return one.__module__.removeprefix(place).partition(".")[0]
    return ""


def model_of(model: Any) -> str:
    """The name of a model; of one of the application's own, what its metadata says."""
    given = (getattr(model, name, None) for name in _MODELS)
    named = next((one for one in given if isinstance(one, str) and one), "")
    if named:
        return named
    try:
        said = model.metadata.model_name
    except Exception:
        return ""  # the application's code, which may raise anything
    return said if isinstance(said, str) and said != "unknown" else ""


def parameters_of(model: Any, kwargs: Kwargs) -> Mapping[str, Any]:
    """How text is generated: as the model was told, and as the call says."""
    told = {name: getattr(model, name, None) for name in PARAMETERS}
    more = getattr(model, "additional_kwargs", None)
    others = cast("Mapping[str, Any]", more) if isinstance(more, Mapping) else {}
    return {**told, **others, **{name: one for name, one in kwargs.items() if one is not None}}


def _note_server(attributes: Attributes, model: Any) -> None:
    """Add the server, if the model was told of one."""
    given = (getattr(model, name, None) for name in _SERVERS)
    url = next((one for one in given if isinstance(one, str) and one), "")
    try:
        host, port = address_of(url)
    except ValueError:
        return  # the client says what is wrong with it
    if host:
        attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = host, port


def describe(model: Any, kwargs: Kwargs) -> Attributes:
    """Start attributes of a model call."""
    named = _integration(model)
    attributes: Attributes = {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: _PROVIDERS.get(named, named) or semconv.UNKNOWN_PROVIDER,
    }
    name = model_of(model)
    if name:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = name
    _note_server(attributes, model)
    parameters = parameters_of(model, kwargs)
    for key, (attribute, number) in PARAMETERS.items():
        value = parameters.get(key)
        if value is not None:
            note_parameter(attributes, attribute, number, value)
    stops = parameters.get("stop")
    if isinstance(stops, list) and stops and all(isinstance(one, str) for one in cast("list[Any]", stops)):
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(cast("list[str]", stops))
    if kwargs.get("response_format") is not None:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"
    return attributes
