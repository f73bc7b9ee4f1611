"""What chat clients and agents report about themselves: provider, model, parameters."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.addresses import address_of
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.model import Attributes, Kwargs, exact_text

PROVIDER = "microsoft.agent_framework"
"""What the library calls itself in its own spans."""
_UNKNOWN = "unknown"


def options_of(kwargs: Kwargs) -> Mapping[str, Any]:
    """The options of a call."""
    options = kwargs.get("options")
    return cast("Mapping[str, Any]", options) if isinstance(options, Mapping) else {}


def provider_of(client: Any) -> str:
    """The provider that a client, or an agent, says it is of; empty if it says none."""
    for name in ("otel_provider_name", "OTEL_PROVIDER_NAME"):
        told = getattr(client, name, None)
        if isinstance(told, str) and told and told != _UNKNOWN:
            return told
    return ""


def model_of(client: Any, kwargs: Kwargs) -> str:
    """The name of the model that a call is for."""
    named = options_of(kwargs).get("model") or getattr(client, "model", None)
    return named if isinstance(named, str) else ""


def _url_of(client: Any) -> str:
    """Where a client sends its requests; empty if it does not say."""
    base = getattr(getattr(client, "client", None), "base_url", None)
    if base is not None:
        return str(base)
    with suppress(Exception):  # it may be the application's
        return str(client.service_url())
    return ""


def _note_server(attributes: Attributes, client: Any) -> None:
    """Add the server, if the client says which."""
    try:
        host, port = address_of(_url_of(client))
    except ValueError:
        return  # whoever sends the request says what is wrong with it
    if host:
        attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = host, port


def describe(client: Any, kwargs: Kwargs) -> Attributes:
    """Start attributes of a model call."""
    attributes: Attributes = {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: provider_of(client) or semconv.UNKNOWN_PROVIDER,
    }
    _note_server(attributes, client)
    named, options = model_of(client, kwargs), options_of(kwargs)
    if named:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = named
    for name, (key, number) in PARAMETERS.items():
        value = options.get(name)
        if value is not None:
            note_parameter(attributes, key, number, value)
    stops = options.get("stop")
    stops = [stops] if isinstance(stops, str) else stops
    if isinstance(stops, list) and stops and all(isinstance(one, str) for one in stops):
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(stops)
    if options.get("response_format") is not None:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"
    return attributes


def name_of(agent: Any) -> str:
    """An agent's name; its class's if it has none."""
    return exact_text(getattr(agent, "name", None)) or type(agent).__name__


def instructions_in(options: Any) -> str:
    """The instructions among options."""
    told = cast("Any", options.get("instructions")) if isinstance(options, Mapping) else None
    if isinstance(told, str):
        return told
    return "\n".join(one for one in told if isinstance(one, str)) if isinstance(told, list | tuple) else ""
