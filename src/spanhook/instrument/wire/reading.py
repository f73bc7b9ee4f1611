"""Reads results of any form, models or JSON, without trusting any of their values."""

from collections.abc import Mapping, Sequence
from typing import Any

from spanhook.model import Attributes

Fields = Mapping[str, Any]
_NO_FIELDS: Fields = {}


def fields_of(value: Any) -> Fields:
    """The fields of a model or dict, by name; empty for anything else."""
    kind = type(value)
    if kind is dict:
        return value
    # For models of both pydantic versions; isinstance() would be slower, and would need them imported.
    is_model = hasattr(kind, "__pydantic_fields_set__") or hasattr(kind, "__fields_set__")
    return value.__dict__ if is_model else _NO_FIELDS


def text_of(value: Any) -> str:
    """A name, an id or a reason; empty if the server sent something other than text."""
    return value if isinstance(value, str) else ""


def list_of(value: Any) -> Sequence[Any]:
    """A list; empty for anything else."""
    return value if isinstance(value, list | tuple) else ()


def index_of(told: Fields, name: str = "index") -> int:
    """The index of the item it is about."""
    index = told.get(name)
    return index if type(index) is int else 0


def extras_of(value: Any) -> Fields:
    """The fields that a provider sent beyond those that the SDK defines; of JSON, all."""
    return value if type(value) is dict else getattr(value, "__pydantic_extra__", None) or _NO_FIELDS


def extra_of(value: Any, name: str) -> Any:
    """One of them; ``None`` if it is not there."""
    return extras_of(value).get(name)


def as_reported(value: Any) -> Any:
    """A report as it is now, as JSON without nulls: whoever gets it next, such as a stream's consumer, may edit it."""
    if isinstance(value, list):
        return [as_reported(one) for one in value]
    fields = fields_of(value)
    if not fields:
        return value
    more: Fields = (getattr(value, "__pydantic_extra__", None) or _NO_FIELDS) if fields is not value else _NO_FIELDS
    return {name: as_reported(one) for name, one in {**fields, **more}.items() if one is not None}


def plain(value: Any) -> Any:
    """A model as a dict of what the provider sent."""
    if isinstance(value, dict):
        return dict(value)
    if hasattr(value, "to_dict"):
        return value.to_dict(mode="json", warnings=False)
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)


def is_model(value: Any) -> bool:
    """Whether a value is a model, which ``plain`` can convert."""
    return hasattr(value, "to_dict") or hasattr(type(value), "model_dump")


def noted(told: Fields, names: Sequence[tuple[str, str]]) -> Attributes:
    """Attributes for text fields, given pairs of field name and attribute name."""
    return {key: value for name, key in names if (value := told.get(name)) and isinstance(value, str)}
