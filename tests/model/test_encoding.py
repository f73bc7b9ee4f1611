"""Values that an exporter could not encode are made such that it can."""

from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest

import spanhook
from spanhook.model import exact_text, make_encodable
from spanhook.testing import recorder


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


# ------------------------------------------------------------------------------------- names


class Model(str, Enum):  # noqa: UP042 - how applications write it; StrEnum shows its characters
    MINI = "gpt-4o-mini"


class Value(Enum):
    MINI = "gpt-4o-mini"


class Hostile(str):
    """Text that says of itself whatever it likes."""

    __slots__ = ()

    def __str__(self) -> str:
        return "other"

    def __format__(self, spec: str) -> str:
        return "other"

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def isascii(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["gpt-4o-mini", Model.MINI, Value.MINI, Hostile("gpt-4o-mini")], ids=type)
def test_a_name_is_read_as_its_characters(name: Any) -> None:
    read = exact_text(name)
    assert (type(read), read) == (str, "gpt-4o-mini")


def test_other_values_as_names() -> None:
    assert [exact_text(one) for one in (None, 7, UUID(int=1), b"x")] == ["", "7", str(UUID(int=1)), "b'x'"]


def test_attributes_are_of_exact_types() -> None:
    attributes: dict[str, Any] = {"a": Model.MINI, "b": [Hostile("x"), "\ud800"], "c": Value.MINI}
    assert not make_encodable(attributes)
    assert attributes == {"a": "gpt-4o-mini", "b": ("x", "\ufffd"), "c": "gpt-4o-mini"}
    assert {type(one) for one in (attributes["a"], *attributes["b"], attributes["c"])} == {str}


@pytest.mark.parametrize("kind", [str, Model, Hostile])
@pytest.mark.parametrize("filtered", [str, Model, Hostile])
def test_filters_compare_characters(kind: Any, filtered: Any) -> None:
    hooks = spanhook.Hooks()
    name = "gpt-4o-mini"

    @hooks.before("llm.call", models={filtered(name)}, names=[filtered(name)], tenant_id=filtered(name))
    def refuse(_op: spanhook.Operation) -> None:
        raise spanhook.Reject("no")

    with (
        recorder(hooks) as seen,
        spanhook.context(tenant_id=kind(name)),
        pytest.raises(spanhook.Reject),
        spanhook.operation("llm.call", "own", model=kind(name)),
    ):
        pass
    assert [span.name for span in seen.spans] == ["chat gpt-4o-mini"]
