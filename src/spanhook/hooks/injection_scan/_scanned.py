"""The texts in results and messages that ``injection_scan`` reads."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, cast

_DEEPEST = 20


def texts(value: object, depth: int = 0) -> Iterator[str]:
    """Every text in plain data, messages, documents and models, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes | bytearray):
        yield bytes(value).decode("utf-8", "replace")
    elif value is None or isinstance(value, bool | int | float) or depth > _DEEPEST:
        return
    elif isinstance(value, Mapping):
        for key, one in cast("Mapping[object, object]", value).items():
            yield from texts(key, depth + 1)
            yield from texts(one, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in cast("list[object]", value):
            yield from texts(one, depth + 1)
    else:
        yield from texts(_fields(value), depth + 1)


def _fields(value: Any) -> object:
    if callable(dump := getattr(value, "model_dump", None)):
        return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return str(value)
