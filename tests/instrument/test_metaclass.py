"""One method in all classes of a metaclass: existing and future ones, inherited, copied, and classes that stand in."""

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from spanhook.instrument.metaclass import MetaFamily, meet


class Meta(type):
    """A metaclass as libraries have them, which also makes instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)


class Before(metaclass=Meta):
    def run(self, value: int) -> str:
        return f"before {value}"


class Silent(metaclass=Meta):
    def run(self) -> str:
        return "silent"


class Holder(metaclass=Meta):
    def __init__(self, *parts: Any, **named: Any) -> None:
        self.first, self.rest, self.named = parts[0], list(parts[1:]), named


class Mixin:
    def run(self, value: int) -> str:
        return f"mixed {value}"


CALLS: list[tuple[str, int]] = []


def make(_binding: Any) -> Callable[..., Any]:
    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        CALLS.append((type(instance).__name__, *args))
        return wrapped(*args, **kwargs)

    return wrapper


def picks(cls: type) -> bool:
    return "silent" not in cls.__name__.lower()


@pytest.fixture
def family() -> Iterator[MetaFamily]:
    CALLS.clear()
    bound = MetaFamily(Meta, "run", make, picks)
    yield bound
    bound.restore()


@pytest.mark.usefixtures("family")
def test_existing_and_future_classes_are_bound() -> None:
    class After(metaclass=Meta):
        def run(self, value: int) -> str:
            return f"after {value}"

    assert (Before().run(1), After().run(2), After.run(After(), 3)) == ("before 1", "after 2", "after 3")
    assert CALLS == [("Before", 1), ("After", 2), ("After", 3)]


@pytest.mark.usefixtures("family")
def test_a_class_that_is_not_picked_is_left_alone() -> None:
    assert Silent().run() == "silent"
    assert CALLS == []


@pytest.mark.usefixtures("family")
def test_an_inherited_method_is_called_once() -> None:
    class Below(Before):
        pass

    class Mixed(Mixin, metaclass=Meta):
        pass

    assert (Below().run(1), Mixed().run(2), Mixin().run(3)) == ("before 1", "mixed 2", "mixed 3")
    assert CALLS == [("Below", 1), ("Mixed", 2)]


@pytest.mark.usefixtures("family")
def test_a_class_made_of_the_attributes_of_another_is_bound_once() -> None:
    class First(metaclass=Meta):
        def run(self, value: int) -> str:
            return f"first {value}"

    names = {name: value for name, value in vars(First).items() if name not in ("__dict__", "__weakref__")}
    second = Meta("Second", (), names)
    assert second().run(1) == "first 1"
    assert CALLS == [("Second", 1)]


@pytest.mark.usefixtures("family")
def test_an_instance_that_no_call_of_its_class_has_made_is_bound() -> None:
    class Later(metaclass=Meta):
        def run(self, value: int) -> str:
            return f"later {value}"

    made: Any = Later.__new__(Later)
    assert copy.copy(made).run(1) == "later 1"
    assert CALLS == [("Later", 1)]


@pytest.mark.usefixtures("family")
def test_what_stands_in_is_bound_once_something_holds_it() -> None:
    class Plain:
        def run(self, value: int) -> str:
            return f"plain {value}"

    class Listed:
        def run(self, value: int) -> str:
            return f"listed {value}"

    class Named:
        def run(self, value: int) -> str:
            return f"named {value}"

    plain, listed, named = Plain(), Listed(), Named()
    assert plain.run(0) == "plain 0"
    Holder(plain, listed, 5, "text", None, name=named)
    assert (plain.run(1), listed.run(2), named.run(3)) == ("plain 1", "listed 2", "named 3")
    assert CALLS == [("Plain", 1), ("Listed", 2), ("Named", 3)]


def test_what_was_held_before_is_bound_by_meeting_it() -> None:
    class Plain:
        def run(self, value: int) -> str:
            return f"plain {value}"

    holder = Holder(Plain())
    CALLS.clear()
    family = MetaFamily(Meta, "run", make, picks)
    holder.first.run(1)
    meet(holder)
    holder.first.run(2)
    family.restore()
    meet(holder)
    holder.first.run(3)
    assert CALLS == [("Plain", 2)]


def test_restoring_leaves_the_very_objects_that_were_there() -> None:
    names = {"__init__", "__call__"}
    before = {name: vars(Meta).get(name) for name in names}, vars(Before)["run"]
    family = MetaFamily(Meta, "run", make, picks)
    assert vars(Before)["run"] is not before[1]
    assert list(family.unbound()) == []
    family.restore()
    assert ({name: vars(Meta).get(name) for name in names}, vars(Before)["run"]) == before

    class After(metaclass=Meta):
        def run(self, value: int) -> str:
            return f"after {value}"

    CALLS.clear()
    After().run(1)
    assert CALLS == []


def test_a_method_that_was_put_in_place_later_is_told_of(family: MetaFamily) -> None:
    class Later(metaclass=Meta):
        def run(self, value: int) -> str:
            return f"later {value}"

    def other(_self: Any, value: int) -> str:
        return f"other {value}"

    setattr(Later, "run", other)  # noqa: B010
    assert list(family.unbound()) == [f"{__name__}.{Later.__qualname__}.run"]


@pytest.mark.usefixtures("family")
def test_classes_are_released() -> None:
    def made() -> weakref.ref[type]:
        class Short(metaclass=Meta):
            def run(self, value: int) -> str:
                return f"short {value}"

        Short().run(1)
        return weakref.ref(Short)

    gone = made()
    gc.collect()
    assert gone() is None
