"""How content is to be generated: parameters that several of Google's APIs have."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google.reading import field
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.wire import list_of
from spanhook.model import Attributes

_NUMBERS = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maxOutputTokens": "max_tokens",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "seed": "seed",
}


def describe_generation(attributes: Attributes, config: Any) -> None:
    """Add the parameters in a configuration."""
    if config is None:
        return
    for name, ours in _NUMBERS.items():
        key, number = PARAMETERS[ours]
        note_parameter(attributes, key, number, field(config, name))
    count = field(config, "candidateCount")
    if type(count) is int and count > 1:
        attributes[semconv.GEN_AI_REQUEST_CHOICE_COUNT] = count
    stops = [one for one in list_of(field(config, "stopSequences")) if isinstance(one, str)]
    if stops:
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(stops)
    level = field(config, "thinkingLevel") or field(field(config, "thinkingConfig"), "thinkingLevel")
    if isinstance(level, str) and level:
        attributes[semconv.GEN_AI_REQUEST_REASONING_LEVEL] = level.lower()
