"""Whether a body receives what gates were shown, in value and type."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretStr

from spanhook.model import as_read, copied, same


class Item(BaseModel):
    model_config = ConfigDict(extra="allow")
    amount: int


@dataclass
class Point:
    x: int
    where: Any = None


class Color(Enum):
    RED = "red"


class Level(int, Enum):
    HIGH = 3


class Liar:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Text(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # pyright: ignore[reportAssignmentType]


DAY = date(2026, 1, 2)
KEY = UUID(int=7)
NAN = float("nan")

SAME: list[tuple[Any, Any]] = [
    (1, 1),
    (NAN, float("nan")),
    (Decimal("NaN"), Decimal("NaN")),
    ([1, {"a": None}], [1, {"a": None}]),
    ([1, 2], (1, 2)),
    ({"amount": 1}, Item(amount=1)),
    ({"amount": 1, "more": "x"}, Item.model_validate({"amount": 1, "more": "x"})),
    (Item(amount=1), Item(amount=1)),
    ({"x": 1, "where": None}, Point(1)),
    ("red", Color.RED),
    (3, Level.HIGH),
    ("2026-01-02", DAY),
    (str(KEY), KEY),
    ("/etc/passwd", Path("/etc/passwd")),
    ("s3cret", SecretStr("s3cret")),
    ({"a": 1}, OrderedDict(a=1)),
    ({"x"}, {"x"}),
]
OTHER: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (0, False),
    ("1", 1),
    (1, "1"),
    (1, Decimal(1)),
    ("1", Decimal(1)),
    (1.5, Decimal("1.5")),
    (None, ""),
    (None, 0),
    ([1], [1, 2]),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": None}, {"b": None}),
    ({1: "x"}, {True: "x"}),
    ({"total": 1, "amount": 1}, Item(amount=1)),
    ("amount=1", Item(amount=1)),
    ("blue", Color.RED),
    (1, Level.HIGH),
    ("2026-01-02T00:00:00Z", datetime(2026, 1, 2, tzinfo=UTC)),
    ("other", SecretStr("s3cret")),
    (Liar(), Liar()),
    ("a", Liar()),
    (Liar(), "a"),
    (Text("b"), "a"),
    ({1}, {True}),
]


@pytest.mark.every_value
@pytest.mark.parametrize(("shown", "received"), SAME)
def test_what_is_written_alike_is_the_same(shown: Any, received: Any) -> None:
    assert same(shown, received)
    assert as_read(shown, received) is shown


@pytest.mark.every_value
@pytest.mark.parametrize(("shown", "received"), OTHER)
def test_what_is_not_is_another(shown: Any, received: Any) -> None:
    assert not same(shown, received)
    assert not same({"value": [shown]}, {"value": [received]})


def test_another_is_read_as_data() -> None:
    inner = Item(amount=2)
    assert as_read({"amount": 1}, inner) == {"amount": 2}
    assert as_read({"a": {"amount": 2}, "b": 1}, {"a": inner, "b": 2}) == {"a": {"amount": 2}, "b": 2}
    assert as_read("", Color.RED) == "red"
    assert as_read(None, [Point(1, DAY)]) == [{"x": 1, "where": DAY}]
    assert as_read([1], (1, 2)) == (1, 2)
    secret = SecretStr("s3cret")
    assert as_read({"key": "s3cret", "n": 1}, {"key": secret, "n": 2}) == {"key": "s3cret", "n": 2}
    assert as_read({"n": 1}, {"key": secret, "n": 1})["key"] is secret


def test_what_contains_itself_ends() -> None:
    around: list[Any] = []
    around.append(around)
    other: list[Any] = []
    other.append(other)
    assert not same(around, other)
    as_read(around, other)


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(DATA)
def test_a_copy_is_the_same(value: Any) -> None:
    assert same(value, copied(value))


@given(DATA, DATA)
def test_what_is_the_same_has_one_text(one: Any, other: Any) -> None:
    if same(one, other):
        assert repr(one) == repr(other).replace("-0.0", "0.0") or "0.0" in repr(one)
