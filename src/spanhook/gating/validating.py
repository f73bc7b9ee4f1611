"""Validates the settings of a hook with its pydantic model, and says in one line what is wrong with them.

Imports pydantic nowhere: a ``Config`` brings it.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from spanhook.errors import ConfigurationError

_LONGEST_VALUE = 80


def validated(model: Any, given: Mapping[str, Any], name: str) -> Any:
    """Validate the settings of the hook ``name`` with a pydantic model; unknown keys are refused.

    Raises:
        ConfigurationError: A setting is unknown, missing or wrong. One line.
    """
    try:
        return _strict(model).model_validate(dict(given))
    except Exception as error:
        raise ConfigurationError(f"hook {name!r}: {_mistakes(error, model)}") from error


@lru_cache(maxsize=256)
def _strict(model: Any) -> Any:
    """The model itself if it configures unknown keys, otherwise a subclass that refuses them."""
    if model.model_config.get("extra") in ("allow", "forbid"):
        return model
    body = {"model_config": {"extra": "forbid"}, "__module__": model.__module__, "__doc__": model.__doc__}
    return type(model)(model.__name__, (model,), body)


def _mistakes(error: Exception, config: Any) -> str:
    """Pydantic's errors in one line, each with its key."""
    find_errors = getattr(error, "errors", None)
    if not callable(find_errors):
        return one_line(error)
    hidden = config.model_config.get("hide_input_in_errors", False)
    found: Any = find_errors(include_url=False, include_context=False, include_input=not hidden)
    return "; ".join(_mistake(one, config) for one in found)


EXPECTED: Mapping[str, str] = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "string_type": "text",
    "list_type": "a list, such as [a, b]",
    "dict_type": "keys and values",
    "model_type": "keys and values",
}
"""Plain words for pydantic's types of errors."""
_SHOULD_BE = re.compile(r"^(?:Input|String|List|Value|Dictionary|Number) should be ")


def _mistake(one: dict[str, Any], config: Any) -> str:
    fields: list[str] = list(config.model_fields)
    key = ".".join(map(str, one["loc"]))
    said = _SHOULD_BE.sub("expected ", str(one["msg"]).removeprefix("Value error, "))
    value = f"={shortened(one['input'])}" if "input" in one and not quotes(said, one["input"]) else ""
    if one["type"] in EXPECTED:
        said = f"expected {EXPECTED[one['type']]}"
    if one["type"] == "missing":
        return f"{key} is missing"
    if one["type"] == "extra_forbidden":
        expected = ""
        if len(one["loc"]) == 1:
            close = get_close_matches(key, fields, 1, 0.7)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            expected = f"{meant}; expected one of {', '.join(fields)}"
        return f"unknown setting {key}{value}{expected}"
    return f"{key}{value}: {said}" if key else said


def quotes(message: str, value: object) -> bool:
    """Whether a message begins with the value that it is about."""
    return message.startswith(repr(value))


def shortened(value: object) -> str:
    said = one_line(repr(value))
    return said if len(said) <= _LONGEST_VALUE else f"{said[: _LONGEST_VALUE - 3]}..."


def one_line(value: object) -> str:
    return " ".join(str(value).split())
