"""What agents take and return, as plain data for JSON."""

import base64
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Any, cast

_DEEPEST = 100


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it. What JSON cannot express becomes text, as ``str`` gives it."""
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= _DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): plain(one, depth + 1) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, depth + 1) for one in cast("Iterable[Any]", value)]
    return _object(value, depth)


def _object(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(), depth + 1)
    fields: Any = getattr(cast("Any", type(value)), "__dataclass_fields__", None)
    if fields:
        return plain({name: getattr(value, name) for name in fields}, depth + 1)
    return str(value)
