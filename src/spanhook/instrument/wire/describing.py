"""Start attributes common to every provider's requests."""

from enum import Enum
from typing import Any

from spanhook import semconv
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.wire.reading import Fields
from spanhook.instrument.wire.servers import Server
from spanhook.model import Attributes

_NUMBERS = tuple((name, *told) for name, told in PARAMETERS.items() if name != "max_tokens")
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


def described(server: Server, model: Any, body: Fields, *, streamed: bool) -> Attributes:
    """Provider, server, model and parameters of a request with this JSON."""
    provider, address, port = server
    attributes: Attributes = {semconv.GEN_AI_PROVIDER_NAME: provider}
    if address:
        attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = address, port
    if isinstance(model, str | Enum):
        attributes[semconv.GEN_AI_REQUEST_MODEL] = model
    if streamed:
        attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    for name, key, number in _NUMBERS:
        value = body.get(name)
        if value is not None:
            note_parameter(attributes, key, number, value)
    for name in _LIMITS:
        value = body.get(name)
        if isinstance(value, int):
            attributes[semconv.GEN_AI_REQUEST_MAX_TOKENS] = value
            break
    stop = body.get("stop") or body.get("stop_sequences")
    if stop:
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = (stop,) if isinstance(stop, str) else tuple(stop)
    return attributes
