"""What a caller can tell of a call, in a form that can be compared between calls."""

import dataclasses
import re
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, cast

from spanhook.cli.conformance.subject import settle

_MADE_UP = frozenset(
    ("run_id", "run", "id", "parent_ids", "trigger_call_id", "checkpoint_ns", "langgraph_checkpoint_ns", "timestamp")
)
"""Fields that libraries fill anew for every call."""
_TASK_ID = re.compile(r"(?<=:)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What a namespace of LangGraph says about a node besides its name."""
_LINE = re.compile(r"(?<=/~)\d+(?=/)")
"""What tells one subject's requests from another's, in the address of a server."""
_DEEPEST = 12


def outcome(use: Callable[[], Any]) -> Any:
    """What a caller can tell of a call: the value with its types, or the exception."""
    try:
        return comparable(settle(use()))
    except BaseException as error:
        return told_of(error)


def told_of(error: BaseException) -> Any:
    """What a caller can tell of an exception."""
    several: tuple[BaseException, ...] = vars(error).get("exceptions", ())  # of a group
    inside: list[Any] = [told_of(one) for one in several]
    return type(error), _LINE.sub("", str(error)), getattr(error, "status_code", None), type(error.__cause__), inside


def comparable(value: Any, depth: int = 0) -> Any:
    """The value with its types, without what differs from call to call."""
    kind: Any = cast("type[Any]", type(value))
    if depth > _DEEPEST:
        return kind.__name__
    if isinstance(value, str):
        return kind.__name__, _TASK_ID.sub("", value)
    if isinstance(value, Mapping):
        told = cast("Mapping[Any, Any]", value).items()
        return {name: comparable(one, depth + 1) for name, one in told if name not in _MADE_UP}
    if isinstance(value, list | tuple):
        return kind.__name__, [comparable(one, depth + 1) for one in cast("list[Any]", value)]
    if isinstance(value, AbstractSet):
        return kind.__name__, len(cast("AbstractSet[Any]", value))
    if hasattr(kind, "model_fields"):
        return kind.__name__, comparable(value.model_dump(exclude={"run", "id"}, warnings=False), depth + 1)
    if dataclasses.is_dataclass(value):
        names = (one.name for one in dataclasses.fields(value) if one.repr and one.name not in _MADE_UP)
        return kind.__name__, {name: comparable(getattr(value, name, None), depth + 1) for name in names}
    plain = value is None or isinstance(value, bool | int | float | bytes | type)
    return (kind.__name__, value) if plain else kind.__name__


def is_awaited(made: Any) -> bool:
    """Whether a way of calling is async."""
    return isinstance(made, Awaitable)
