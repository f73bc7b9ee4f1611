"""Request parameters with the same name in all libraries: the conventions' names and types for them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from spanhook import semconv
from spanhook.model import Attributes

Number = Callable[[int | float], int | float]

PARAMETERS: Mapping[str, tuple[str, Number]] = {
    "temperature": (semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    "max_tokens": (semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    "top_p": (semconv.GEN_AI_REQUEST_TOP_P, float),
    "top_k": (semconv.GEN_AI_REQUEST_TOP_K, int),
    "frequency_penalty": (semconv.GEN_AI_REQUEST_FREQUENCY_PENALTY, float),
    "presence_penalty": (semconv.GEN_AI_REQUEST_PRESENCE_PENALTY, float),
    "seed": (semconv.GEN_AI_REQUEST_SEED, int),
}


def note_parameter(attributes: Attributes, key: str, number: Number, value: Any) -> None:
    """Add a parameter, if its value is a number that its type can hold."""
    if isinstance(value, int | float) and value is not True and value is not False:
        with suppress(OverflowError, ValueError):
            attributes[key] = number(value)
