"""Parameters of requests."""

import math
from typing import Any

import pytest

from spanhook.instrument.parameters import PARAMETERS, note_parameter


def told(name: str, value: Any) -> Any:
    attributes: dict[str, Any] = {}
    note_parameter(attributes, *PARAMETERS[name], value)
    return next(iter(attributes.values()), None)


@pytest.mark.parametrize("value", [True, False, None, "0.5", [1], math.inf, math.nan])
def test_what_no_integer_can_hold_is_not_told(value: object) -> None:
    assert told("top_k", value) is None


def test_what_no_float_can_hold_is_not_told() -> None:
    assert told("temperature", 10**400) is None


def test_each_has_the_type_that_the_conventions_give_it() -> None:
    types = {name: type(told(name, 1)) for name in PARAMETERS}
    assert {name for name, kind in types.items() if kind is float} == {
        "temperature",
        "top_p",
        "frequency_penalty",
        "presence_penalty",
    }
    assert told("temperature", 0.5) == 0.5
    assert type(told("seed", 7.0)) is int
