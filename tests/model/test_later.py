"""Results that are made when they are first read: the same for everybody, whatever has become of their data."""

import threading
from collections import UserString
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from spanhook.diagnostics import internal
from spanhook.model import Later, later, resolved


class Maker:
    """Makes a result of its data, and keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def __call__(self, value: Any) -> Any:
        self.given.append(value)
        return ["made", value]


PLAIN: dict[str, Any] = {
    "text": "hällo \ud83d",
    "n": 1,
    "big": 1 << 80,
    "f": 0.5,
    "b": b"\0",
    "no": None,
    "in": [{"a": [True]}],
}


def test_it_is_made_once_when_it_is_read() -> None:
    make = Maker()
    result = later(make, PLAIN)
    assert type(result) is Later
    assert make.given == []
    assert resolved(result) == ["made", PLAIN]
    assert resolved(result) is resolved(result)
    assert len(make.given) == 1


def test_its_data_is_not_kept_beside_it() -> None:
    result = later(Maker(), {"text": "a" * 1_000_000})
    assert len(result._data) > 1_000_000
    assert resolved(result)[1] == {"text": "a" * 1_000_000}
    assert not result._data
    assert resolved(result) is resolved(result)


def test_what_becomes_of_its_data_does_not_change_it() -> None:
    inner = [{"said": "what was"}]
    value = {"inner": inner}
    result = later(Maker(), value)
    inner[0]["said"] = "edited"
    inner.append({})
    value["inner"] = []
    assert resolved(result) == ["made", {"inner": [{"said": "what was"}]}]


class Text(str):
    __slots__ = ()


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "other", [object(), UserString("a"), Text("a"), nested(5_000)], ids=lambda other: type(other).__name__
)
def test_what_others_may_change_is_made_at_once(other: Any) -> None:
    make = Maker()
    result = later(make, {"in": [other]})
    assert type(result) is list
    assert make.given[0]["in"][0] is other


@pytest.mark.parametrize("other", [None, "text", {"a": 1}])
def test_other_results_are_read_as_they_are(other: Any) -> None:
    assert resolved(other) is other


def test_one_that_cannot_be_made_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    before, asked = internal.lost["extract.response"], list[Any]()

    def fails(value: Any) -> Any:
        asked.append(value)
        raise ValueError("no")

    result = later(fails, {})
    assert [resolved(result), resolved(result)] == [None, None]
    assert internal.lost["extract.response"] == before + 1
    assert asked == [{}]


def test_an_interrupt_while_it_is_made_leaves_it_to_the_next_reader() -> None:
    interrupts = [KeyboardInterrupt()]

    def make(value: Any) -> Any:
        if interrupts:
            raise interrupts.pop()
        return value

    result = later(make, {"a": 1})
    with pytest.raises(KeyboardInterrupt):
        resolved(result)
    assert resolved(result) == {"a": 1}


@pytest.mark.parametrize("lack", [MemoryError, RecursionError])
def test_a_reader_without_room_for_it_fails_and_others_can_still_read_it(lack: type[Exception]) -> None:
    lacks = [lack()]

    def make(value: Any) -> Any:
        if lacks:
            raise lacks.pop()
        return ["made", value]

    result = later(make, {"a": 1})
    with pytest.raises(lack):
        resolved(result)
    assert resolved(result) == ["made", {"a": 1}]


def test_threads_that_read_it_at_once_get_the_same() -> None:
    both = threading.Barrier(2)

    def make(value: Any) -> Any:
        both.wait(30.0)  # each of them is making it
        return [value]

    result = later(make, {})
    read: Callable[[Any], Any] = resolved
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(read, [result, result])
    assert one is other
