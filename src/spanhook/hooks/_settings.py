"""The base of the settings of ready-made hooks: a model that names every mistake, each at the setting it is about.

Pydantic checks a model as a whole only if each of its fields is valid. Here, settings that contradict each other are
reported beside invalid fields, unless one of those takes part in the contradiction.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType

_KNOWN = frozenset(get_args(ErrorType))


@dataclass(frozen=True, slots=True)
class Conflict:
    """Settings that are valid one by one, and not together.

    Attributes:
        message: What is wrong, and what to do.
        fields: The fields that are compared. It is reported at the last of them that was set.
        item: The key or the index inside that field, if it is about one item.
    """

    message: str
    fields: tuple[str, ...]
    item: str | int | None = None


class SettingsModel(BaseModel):
    """Settings of a ready-made hook, or a part of them. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")

    def conflicts(self) -> Iterator[Conflict]:
        """The contradictions between the settings. Fields that are invalid have their defaults here."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _check_all(cls, given: Any, check: ModelWrapValidatorHandler[Self]) -> Self:
        errors: list[InitErrorDetails] = []
        invalid = frozenset[Any]()
        try:
            made = check(given)
        except ValidationError as error:
            errors = [_details(cast("dict[str, Any]", one)) for one in error.errors(include_url=False)]
            invalid = frozenset(one["loc"][0] for one in error.errors() if one["loc"])
            made = _valid_part(given, invalid, check)
        for conflict in () if made is None else made.conflicts():
            if invalid.isdisjoint(conflict.fields):
                errors.append(_reported(conflict, cast("Self", made), given))
        if errors or made is None:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return made


def _valid_part(given: Any, invalid: frozenset[Any], check: Any) -> Any:
    """The model without its invalid fields; ``None`` if one of them has no default."""
    if not isinstance(given, Mapping) or not invalid:
        return None
    rest = {key: value for key, value in cast("Mapping[Any, Any]", given).items() if key not in invalid}
    try:
        return check(rest)
    except ValidationError:
        return None


def _details(error: Mapping[str, Any]) -> InitErrorDetails:
    kind = error["type"] if error["type"] in _KNOWN else PydanticCustomError(error["type"], error["msg"])
    return InitErrorDetails(type=kind, loc=error["loc"], input=error["input"], ctx=error.get("ctx") or {})


def _reported(conflict: Conflict, made: BaseModel, given: Any) -> InitErrorDetails:
    place = tuple(name for name in conflict.fields if name in made.model_fields_set)[-1:]
    value = getattr(made, place[0]) if place else given
    if place and conflict.item is not None:
        value, place = value[conflict.item], (*place, conflict.item)
    return InitErrorDetails(type="value_error", loc=place, input=value, ctx={"error": ValueError(conflict.message)})
