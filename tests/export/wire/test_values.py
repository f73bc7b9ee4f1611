"""Attributes are kept encoded, but never mistaken for others, and never too many."""

from collections.abc import Generator
from enum import IntFlag, StrEnum
from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from spanhook.export.wire import values


@pytest.fixture(autouse=True)
def forgotten() -> Generator[None]:
    """Nothing is kept from other tests, or for them."""
    for kept in (values._attributes, values._keys, values._names):
        kept.clear()
    yield
    for kept in (values._attributes, values._keys, values._names):
        kept.clear()


def decoded(attributes: dict[str, Any]) -> dict[str, AnyValue]:
    resource = Resource.FromString(values.attributes(b"\x0a", attributes))
    return {one.key: one.value for one in resource.attributes}


@pytest.mark.parametrize(
    "equal",
    [[1, 1.0, True], [0, -0.0, False], [("a",), ["a"]], [(1,), (1.0,), (True,)], ["a", b"a"], [2**53, float(2**53)]],
)
def test_equal_values_of_different_types_are_told_apart(equal: list[Any]) -> None:
    for _ in range(2):
        for one in (*equal, *reversed(equal)):
            (value,) = decoded({"same": one}).values()
            leaf = value.array_value.values[0] if isinstance(one, list | tuple) else value
            expected = one[0] if isinstance(one, list | tuple) else one
            found = getattr(leaf, str(leaf.WhichOneof("value")))
            assert (type(found), found) == (type(expected), expected)


def test_no_more_is_kept_than_a_limit() -> None:
    for number in range(3 * values.KEPT):
        decoded({f"key {number}": "a", "same": f"value {number}"})
        values.name(f"name {number}")
    for kept in (values._attributes, values._keys, values._names):
        assert 0 < len(kept) <= values.KEPT


def test_what_is_long_is_not_kept() -> None:
    long = "a" * values.KEPT_LENGTH
    assert decoded({long: 1, "long": long, "longs": (long,)})["long"].string_value == long
    values.name(long)
    assert (values._attributes, list(values._keys), values._names) == ({}, ["long", "longs"], {})


@pytest.mark.parametrize(
    "number", [0, 1, 127, 128, 2**14 - 1, 2**14, 2**21 - 1, 2**21, 2**28, 2**35, 2**63 - 1, -1, -(2**63)]
)
def test_integers_of_every_length(number: int) -> None:
    assert decoded({"a": number})["a"].int_value == number


@pytest.mark.parametrize("odd", [None, 2**63, -(2**63) - 1, "\ud800", b"".join, [None], {"a": {1}}])
def test_what_is_not_encoded_raises(odd: object) -> None:
    with pytest.raises((TypeError, OverflowError, UnicodeEncodeError)):
        values.attributes(b"\x0a", {"odd": odd})


@pytest.mark.parametrize("length", [0, 127, 128, 2**14 - 1, 2**14, 2**21 - 1, 2**21])
def test_texts_of_every_length(length: int) -> None:
    long = "a" * length
    found = decoded({"text": long, "texts": [long], "bytes": long.encode(), "a" + long: 1})
    assert found["text"].string_value == found["texts"].array_value.values[0].string_value == long
    assert (found["bytes"].bytes_value, found["a" + long].int_value) == (long.encode(), 1)


class Color(StrEnum):
    RED = "red"


class Flag(IntFlag):
    ON = 128


class Half(float):
    """A number of somebody's own."""

    def __float__(self) -> float:
        return 9.0


def test_classes_derived_from_plain_ones_are_encoded_as_those() -> None:
    found = decoded({"color": Color.RED, "flag": Flag.ON, "half": Half(0.5), "many": [Color.RED, Flag.ON]})
    assert found["color"].string_value == found["many"].array_value.values[0].string_value == "red"
    assert found["flag"].int_value == found["many"].array_value.values[1].int_value == 128
    assert found["half"].double_value == AnyValue(double_value=Half(0.5)).double_value


def test_what_is_nested_too_deep_raises() -> None:
    deep: Any = "end"
    for _ in range(values.DEEPEST):
        deep = [deep]
    values.value(deep)
    with pytest.raises(RecursionError):
        values.value({"deeper": deep})
    with pytest.raises(RecursionError):
        values.value([deep])
