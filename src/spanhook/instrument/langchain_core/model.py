"""What LangChain's chat and text models report about themselves: provider, model, parameters, server."""

from collections.abc import Callable, Hashable
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from spanhook import semconv
from spanhook.instrument.addresses import address_of
from spanhook.instrument.parameters import PARAMETERS, Number, note_parameter
from spanhook.model import Args, Attributes, Kwargs, exact_text

#: LangChain's own provider names (``ls_provider``) that differ from the conventions'.
PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "google_anthropic_vertex": "gcp.vertex_ai",
    "amazon_bedrock": "aws.bedrock",
    "bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
    "ibm": "ibm.watsonx.ai",
}

_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name", "azure_deployment")
_BASE_URLS = ("openai_api_base", "azure_endpoint", "base_url", "anthropic_api_url", "endpoint_url")
_CLIENTS = dict.fromkeys(
    ("root_client", "root_async_client", "client", "async_client", "_client", "_async_client"), True
)
_PARAMETERS = tuple((name, *told) for name, told in PARAMETERS.items())
_GIVEN = frozenset((*PARAMETERS, "model"))
"""Arguments of a call that describe it."""

MAX_KNOWN = 1000
_providers: dict[tuple[type, str], str] = {}
NO_KWARGS: Kwargs = MappingProxyType({})


class _Fields(NamedTuple):
    """Fields of a class of models.

    Attributes:
        models: Those that may name the model.
        parameters: Parameters: name, attribute, type.
        urls: Those that may have the server's URL.
        read: Reads all of them from an instance's ``__dict__``.
    """

    models: tuple[str, ...]
    parameters: tuple[tuple[str, str, Number], ...]
    urls: tuple[str, ...]
    read: Callable[[Any], tuple[Any, ...]] | None


_ALL_FIELDS = _Fields(_MODEL_NAMES, _PARAMETERS, _BASE_URLS, None)
_fields: dict[type, _Fields] = {}


def provider_of(instance: Any, model: str) -> str:
    """The provider of a model object, looked up in LangChain once per class and model name."""
    kind = type(instance)
    key = kind, model
    found = _providers.get(key)
    if found is None:
        named = instance._get_ls_params().get("ls_provider") or kind.__name__.lower()
        if len(_providers) >= MAX_KNOWN:
            _providers.clear()
        found = _providers[key] = PROVIDERS.get(named, named)
    return found


def model_of(instance: Any, kwargs: Kwargs) -> str:
    """The requested model: from the call, or from the instance."""
    model = kwargs.get("model")
    if isinstance(model, str):
        return exact_text(model)
    fields = instance.__dict__
    for name in _fields_of(type(instance)).models:
        model = fields.get(name)
        if isinstance(model, str) and model:
            return exact_text(model)
    return ""


def with_model(instance: Any, kwargs: Kwargs, model: str) -> Kwargs:
    """The arguments of a call to another model.

    Raises:
        ValueError: The model object's address names the model, as for Azure's deployments.
    """
    deployment = instance.__dict__.get("deployment_name")
    if deployment and deployment != model:
        raise ValueError(f"this model object always calls its deployment {deployment!r}; model= would have no effect")
    return {**kwargs, "model": model}


def describe(instance: Any, kwargs: Kwargs) -> Attributes:
    """Start attributes that chat models and LLMs share."""
    attributes = describe_alike(instance, kwargs)
    note_client(attributes, instance)
    return attributes


def note_server(attributes: Attributes, instance: Any) -> None:
    """Which server an object asks: that of its URL, or else of its client."""
    _note_url(attributes, instance)
    note_client(attributes, instance)


def describe_alike(instance: Any, kwargs: Kwargs) -> Attributes:
    """Those that are the same for all calls that ``watch`` says are alike."""
    model = model_of(instance, kwargs)
    attributes: Attributes = {semconv.GEN_AI_PROVIDER_NAME: provider_of(instance, model)}
    if model:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = model
    fields = instance.__dict__
    for name, key, number in _fields_of(type(instance)).parameters:
        value = fields.get(name)
        if value is not None:
            note_parameter(attributes, key, number, value)
    if kwargs:
        _given(attributes, kwargs)
    _note_url(attributes, instance)
    return attributes


def watch(instance: Any, _args: Args, kwargs: Kwargs) -> Hashable | None:
    """What ``describe_alike`` depends on; ``None`` for a call with parameters of its own."""
    if kwargs and (kwargs.get("stop") or not _GIVEN.isdisjoint(kwargs)):
        return None
    kind = type(instance)
    read = _fields_of(kind).read
    if read is None:
        return None
    try:
        values = read(instance.__dict__)
    except KeyError:
        return None
    return kind, values, tuple(map(type, values))  # True and 1 are equal, but only one of them is a parameter


def note_client(attributes: Attributes, instance: Any, _args: Args = (), _kwargs: Kwargs = NO_KWARGS) -> bool:
    """Add the server of a model object without a URL: that of its client, which knows its own default.

    Returns whether that was added.
    """
    fields = instance.__dict__
    if _CLIENTS.keys().isdisjoint(fields) or _url_of(instance):
        return False
    for name in _CLIENTS:
        client = fields.get(name)
        if client is None:
            continue
        url = getattr(client, "_base_url", None) or getattr(getattr(client, "_client", None), "_base_url", None)
        host = getattr(url, "host", None)
        if url is not None and host and isinstance(host, str):
            port = url.port or (80 if url.scheme == "http" else 443)
            attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = host, port
            return True
    return False


def _note_url(attributes: Attributes, instance: Any) -> None:
    url = _url_of(instance)
    if url:
        host, port = address_of(url)
        if host:
            attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = host, port


def _url_of(instance: Any) -> str:
    """The URL that a model object was given; empty if there is none."""
    fields = instance.__dict__
    for name in _fields_of(type(instance)).urls:
        url = fields.get(name)
        if isinstance(url, str) and url:
            return url
    return ""


def _given(attributes: Attributes, kwargs: Kwargs) -> None:
    """Add the parameters of this call, which take precedence over those of the instance."""
    if not PARAMETERS.keys().isdisjoint(kwargs):
        for name, value in kwargs.items():
            if name in PARAMETERS:
                note_parameter(attributes, *PARAMETERS[name], value)
    stop = kwargs.get("stop")
    if stop:
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = (stop,) if isinstance(stop, str) else tuple(stop)


def _fields_of(kind: type) -> _Fields:
    """Which of the known fields a class has."""
    found = _fields.get(kind)
    if found is None:
        there: Any = getattr(kind, "model_fields", None)
        if there is None:  # not cached: the class may have been created for one request
            return _ALL_FIELDS
        if len(_fields) >= MAX_KNOWN:
            _fields.clear()
        models = tuple(name for name in _MODEL_NAMES if name in there)
        parameters = tuple(one for one in _PARAMETERS if one[0] in there)
        urls = tuple(name for name in _BASE_URLS if name in there)
        names = (*models, *(one[0] for one in parameters), *urls)
        read = itemgetter(*names) if len(names) > 1 else None
        found = _fields[kind] = _Fields(models, parameters, urls, read)
    return found
