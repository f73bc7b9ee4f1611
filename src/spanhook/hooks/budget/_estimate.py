"""How much to reserve for a call before it is made."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spanhook.model import Operation

BYTES_PER_TOKEN = 3
"""Providers count one token for about four bytes of English and three of code, so this is rather too many tokens."""
TOKENS_PER_MESSAGE = 4
TOKENS_PER_FILE = 1500
"""An image of medium size. What a file by its id or address has in it is not known."""
_MOST = 10**9
_FILES = frozenset(("blob", "uri", "file"))


class Estimate(NamedTuple):
    """The tokens of a call."""

    input_tokens: int
    output_tokens: int


def estimate(op: Operation, output_tokens: int) -> Estimate:
    """Estimate a call from its request.

    Args:
        op: The call.
        output_tokens: The tokens of an answer if the request does not limit it.
    """
    request = op.request
    files = size = 0
    for message in request.messages:
        for part in message.get("parts", ()):
            if part.get("type") in _FILES:
                files += 1
            else:
                size += sum(_size(value) for name, value in part.items() if name != "type")
    size += _size(request.system) + _size(request.tool_definitions)
    if not request.messages:
        size += _size(request.inputs)
    tokens = -(-size // BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * len(request.messages) + TOKENS_PER_FILE * files
    if op.kind == "embeddings.create":
        return Estimate(tokens, 0)
    given = op.parameters
    return Estimate(tokens, _number(given.get("max_tokens"), output_tokens) * _number(given.get("choice.count"), 1))


def _size(value: Any) -> int:
    """The bytes of all text in a value."""
    if value is None:
        return 0
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes | bytearray):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(key) + _size(one) for key, one in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, Sequence | set | frozenset):
        return sum(_size(one) for one in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, bool | int | float):
        return len(repr(value))
    described = getattr(value, "model_dump", None)
    try:
        return _size(described()) if callable(described) else len(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError):
        return len(repr(value))


def _number(value: Any, otherwise: int) -> int:
    """A number that a request gives in any form that a server may take; at most a billion."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return otherwise
    return min(math.ceil(number), _MOST) if 0 < number < math.inf and value is not True else otherwise
