"""Values that an exporter could not encode are made such that it can."""

from enum import IntEnum
from typing import Any

from spanhook.model import make_encodable


class Text(str):
    """What some libraries give for text."""

    __slots__ = ()


def test_whatever_sort_of_value_can_be_exported() -> None:
    given: dict[str, Any] = {
        "text": Text("a\ud800"),
        "number": IntEnum("Large", {"ONE": 2**70}).ONE,
        "several": ["a\ud800", 2**70, True],
        "texts": ("a\ud800", "b"),
        "fine": ("a", "b"),
    }
    assert not make_encodable(given)
    replaced = "a\ufffd"
    expected = {"text": replaced, "number": 2**63 - 1, "several": (replaced, 2**63 - 1, True), "texts": (replaced, "b")}
    assert given == {**expected, "fine": ("a", "b")}
