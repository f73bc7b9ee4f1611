"""What a stream's chunks are when they arrive, kept in few steps for hooks that mostly do not read them."""

import marshal
from collections.abc import Callable
from typing import Any

from spanhook.model.copying import class_of, copied

Packed = tuple[type[Any] | None, Any]
"""The class of a dict, or of a pydantic model, and its fields as ``marshal`` writes them; or ``None`` and a copy."""

_new: Callable[[type[Any]], Any] = object.__new__
_put: Callable[[Any, str, Any], None] = object.__setattr__


def packed(value: Any) -> Packed:
    """A dict or a pydantic model as it is now, which its owner may edit from here on."""
    kind = class_of(value)
    try:
        if kind is dict:
            return kind, marshal.dumps(value)
        if not value.__pydantic_extra__ and not value.__pydantic_private__:
            return kind, marshal.dumps(value.__dict__)
    except (AttributeError, ValueError):  # no model, or one of more than plain data
        pass
    return None, copied(value)


def unpacked(kind: type[Any] | None, data: Any) -> Any:
    """What was packed: another one at each call, if it is plain data."""
    if kind is None:
        return data
    fields = marshal.loads(data)  # noqa: S302 - it was written here
    if kind is dict:
        return fields
    twin: Any = _new(kind)
    _put(twin, "__dict__", fields)
    _put(twin, "__pydantic_fields_set__", set(fields))
    _put(twin, "__pydantic_extra__", {} if twin.model_config.get("extra") == "allow" else None)
    _put(twin, "__pydantic_private__", None)
    return twin
