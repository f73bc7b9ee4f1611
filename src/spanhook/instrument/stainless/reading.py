"""Reading what came back, whichever form it has: models or JSON, of which nothing is to be trusted."""

from collections.abc import Mapping, Sequence
from typing import Any

from spanhook.model import Attributes

Fields = Mapping[str, Any]
_NO_FIELDS: Fields = {}


def fields_of(value: Any) -> Fields:
    """What a model or a dict says, by name; nothing for what is neither."""
    kind = type(value)
    if kind is dict:
        return value
    # Of pydantic's models in either version; to ask isinstance() takes them longer, and them imported.
    is_model = hasattr(kind, "__pydantic_fields_set__") or hasattr(kind, "__fields_set__")
    return value.__dict__ if is_model else _NO_FIELDS


def text_of(value: Any) -> str:
    """A name, an id or a reason; empty for what is no text, which a server may send all the same."""
    return value if isinstance(value, str) else ""


def list_of(value: Any) -> Sequence[Any]:
    """A list; an empty one for what is none."""
    return value if isinstance(value, list | tuple) else ()


def index_of(told: Fields, name: str = "index") -> int:
    """Which of several it is about."""
    index = told.get(name)
    return index if type(index) is int else 0


def extra_of(value: Any, name: str) -> Any:
    """What a provider says beyond the SDK's own fields."""
    if type(value) is dict:
        return value.get(name)
    more = getattr(value, "__pydantic_extra__", None)
    return more.get(name) if more else None


def plain(value: Any) -> Any:
    """A model as a dict of what the provider sent."""
    return dict(value) if isinstance(value, dict) else value.to_dict(mode="json", warnings=False)


def noted(told: Fields, names: Sequence[tuple[str, str]]) -> Attributes:
    """Attributes for what is told as text, by the names it has there and as an attribute."""
    values = ((key, told.get(name)) for name, key in names)
    return {key: value for key, value in values if value and isinstance(value, str)}
