"""Objects that are not fit to be keys, kept nevertheless."""

import gc
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from spanhook.identity import ByIdentity, attribute, is_instance


class Ordinary:
    pass


class Unhashable:
    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return True


class Lying:
    """Equal to everything, and everything's hash is its hash."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Raising:
    def __hash__(self) -> NoReturn:
        raise RuntimeError("hash")

    def __eq__(self, other: object) -> NoReturn:
        raise RuntimeError("eq")

    def __bool__(self) -> NoReturn:
        raise RuntimeError("bool")

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(name)

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RuntimeError("class")


class Slotted:
    __slots__ = ()


@pytest.mark.parametrize("made", [Ordinary, Unhashable, Lying, Raising, Slotted])
def test_objects_are_kept_by_what_they_are(made: Callable[[], Any]) -> None:
    kept, one, other = ByIdentity[Any, str](), made(), made()
    assert kept.get(one) is None
    assert one not in kept
    assert kept.setdefault(one, "one") == "one"
    assert kept.setdefault(one, "again") == "one"
    assert other not in kept
    kept[other] = "other"
    assert (kept.get(one), kept.get(other)) == ("one", "other")
    assert sorted(kept.values()) == ["one", "other"]
    assert {id(each) for each in kept} == {id(one), id(other)}
    assert kept.pop(one) == "one"
    assert kept.pop(one) is None
    assert one not in kept
    assert other in kept


@pytest.mark.parametrize("made", [Ordinary, Unhashable, Lying, Raising])
def test_they_are_kept_weakly(made: Callable[[], Any]) -> None:
    kept, one = ByIdentity[Any, str](), made()
    kept[one] = "one"
    del one
    gc.collect()
    assert kept.values() == []


def test_a_dictionary_that_is_gone_before_its_keys() -> None:
    one = Ordinary()
    kept = ByIdentity[Any, str]()
    kept[one] = "one"
    del kept
    gc.collect()
    del one


def test_attributes_that_cannot_be_read() -> None:
    assert attribute(Raising(), "x", 1) == 1
    assert attribute(Ordinary(), "x") is None
    assert not is_instance(Raising(), Ordinary)
    assert is_instance(Raising(), Raising)
