"""Start attributes of requests whose parameters have names of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

from spanhook import semconv
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.wire import Fields
from spanhook.model import Attributes

Names = Mapping[str, Sequence[str]]
"""The names that a parameter may have, by the conventions' name; ``stop`` for stop sequences."""


def note_parameters(attributes: Attributes, given: Fields, names: Names) -> None:
    """Add the parameters of a request.

    Args:
        attributes: Where they are added.
        given: The parameters as sent.
        names: Their names.
    """
    for ours, theirs in names.items():
        value = next((given[name] for name in theirs if given.get(name) is not None), None)
        if ours in PARAMETERS:
            note_parameter(attributes, *PARAMETERS[ours], value)
        elif isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(value)


def note_guardrail(attributes: Attributes, identifier: Any) -> None:
    """Add the guardrail that Bedrock applies."""
    if isinstance(identifier, str) and identifier:
        attributes[semconv.AWS_BEDROCK_GUARDRAIL_ID] = identifier
