"""Copies that hooks are given: of errors, of odd containers, of what contains itself."""

from typing import Any, Self

import pytest

from spanhook import Reject
from spanhook.model import alike, copied, copied_error
from spanhook.model.copying import held


class Odd(Exception):
    """An exception that cannot be made from its arguments."""

    def __init__(self, code: int, *, hint: dict[str, Any]) -> None:
        super().__init__(f"odd {code}")
        self.code, self.hint = code, hint


class Stubborn(Exception):
    """An exception that cannot be copied at all."""

    def __new__(cls, *args: Any, secret: Any = None) -> Self:
        if secret is None:
            raise TypeError("no")
        return super().__new__(cls, *args)

    def __init__(self, *args: Any, secret: Any = None) -> None:
        super().__init__("stubborn")


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        OSError(2, "no such file", "name"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
        Odd(7, hint={"deep": [1]}),
        Reject("no", status_code=402, scope="run"),
        ExceptionGroup("several", [KeyError("x"), ValueError("y")]),
        StopIteration({"deep": [1]}),
        AttributeError("no", name="n", obj=3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_copied_whole(error: Exception) -> None:
    cause = ValueError("cause")
    try:
        raise error from cause
    except type(error):
        twin = copied_error(error)
    assert twin is not error
    assert type(twin) is type(error)
    assert (str(twin), twin.args, repr(twin)) == (str(error), error.args, repr(error))
    assert {name: getattr(twin, name) for name in vars(error)} == vars(error)
    assert (twin.__traceback__, twin.__cause__) == (error.__traceback__, cause)
    for name in ("filename", "errno", "start", "object", "value", "name", "exceptions", "status_code", "scope"):
        assert getattr(twin, name, None) == getattr(error, name, None)


def test_an_error_that_cannot_be_copied_is_itself() -> None:
    error = Stubborn(secret=1)
    assert copied_error(error) is error
    stop = KeyboardInterrupt()
    assert copied_error(stop) is stop


def test_odd_containers_are_copied() -> None:
    from collections import OrderedDict, defaultdict, deque
    from types import MappingProxyType
    from typing import NamedTuple

    class Pair(NamedTuple):
        left: Any
        right: Any

    class Special(dict[str, Any]):
        extra = ""

    special = Special(a=[1])
    special.extra = "kept"
    values: list[Any] = [
        OrderedDict(a=[1]),
        defaultdict(list, a=[1]),
        deque([[1]], maxlen=3),
        (1, [2]),
        Pair([1], 2),
        {1, 2},
        bytearray(b"x"),
        MappingProxyType({"a": [1]}),
        special,
        [[0.5] * 100],
    ]
    for value in values:
        twin = copied(value)
        assert type(twin) is type(value)
        assert twin == value
        assert twin is not value
    assert copied(special).extra == "kept"
    assert copied(special)["a"] is not special["a"]
    untouched = (1, "x", frozenset((1,)))
    assert copied(untouched) is untouched
    client = object()
    assert copied({"client": [client]})["client"][0] is client


def test_what_contains_itself_is_copied_so() -> None:
    loop: dict[str, Any] = {"name": "x", "inner": []}
    loop["inner"].append(loop)
    twin = copied(loop)
    assert twin["inner"][0] is twin
    assert twin is not loop


def test_what_is_held_is_what_was_there() -> None:
    message = object()
    given: dict[str, Any] = {"messages": [message], "deep": {"list": [[1]]}}
    kept = held((given, "x"))
    given["messages"].append("later")
    given["deep"]["list"].append("later")
    assert kept[0]["messages"] == [message]
    assert kept[0]["deep"]["list"] == [[1]]


def test_alike_says_no_where_it_cannot_tell() -> None:
    class Array:
        def __eq__(self, other: object) -> Any:
            raise ValueError("ambiguous")

        __hash__ = None  # pyright: ignore[reportAssignmentType]

    assert not alike(Array(), Array())
    assert alike([1], [1])


def test_alike_looks_into_what_does_not_say_how_it_is_compared() -> None:
    class Plain:
        def __init__(self, *parts: Any) -> None:
            self.parts = list(parts)

    assert alike(Plain(Plain(1), {"two": Plain(2)}), Plain(Plain(1), {"two": Plain(2)}))
    assert not alike(Plain(Plain(1), {"two": Plain(2)}), Plain(Plain(1), {"two": Plain(3)}))
    assert not alike([Plain(1)], [Plain(1), Plain(2)])
    assert not alike({"one": Plain(1)}, {"two": Plain(1)})
