"""Texts that a request has beside its messages, instructions and input, as ``arguments`` of the call."""

from collections.abc import Mapping, Sequence
from typing import Any

from spanhook.errors import HookError
from spanhook.instrument.wire.content import Payload
from spanhook.instrument.wire.reading import Fields

_MISSING = object()


def texts_beside(body: Fields, paths: Sequence[str]) -> dict[str, Any]:
    """The fields at dotted paths that are there, nested as in the request."""
    found: dict[str, Any] = {}
    for path in paths:
        value = _at(body, path)
        if value is not _MISSING and value is not None:
            _put(found, path, value)
    return found


def put_beside(body: Payload, paths: Sequence[str], arguments: Mapping[str, Any]) -> None:
    """Put what a hook gave back in its places, in a shallow copy of a request; what it left out is removed.

    Raises:
        HookError: It has a field that is no such text.
    """
    if not arguments.keys() <= {path.partition(".")[0] for path in paths}:
        raise HookError(f"op.replace() was given arguments= with other fields than {', '.join(paths)}")
    for path in paths:
        value = _at(arguments, path)
        if value is not _MISSING:
            _put(body, path, value)
        elif _at(body, path) not in (_MISSING, None):
            _remove(body, path)


def _at(fields: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(fields, Mapping) or name not in fields:
            return _MISSING
        fields = fields[name]  # pyright: ignore[reportUnknownVariableType]
    return fields  # pyright: ignore[reportUnknownVariableType]


def _put(fields: dict[str, Any], path: str, value: Any) -> None:
    name, _, rest = path.partition(".")
    if rest:
        inner = dict(fields.get(name) or {})
        _put(inner, rest, value)
        fields[name] = inner
    else:
        fields[name] = value


def _remove(fields: dict[str, Any], path: str) -> None:
    name, _, rest = path.partition(".")
    if rest:
        inner = dict(fields[name])
        _remove(inner, rest)
        fields[name] = inner
    else:
        del fields[name]
