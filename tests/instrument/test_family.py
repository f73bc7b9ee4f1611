# pyright: reportUnusedClass=false
"""Classes below a base, whenever and however they come by a method: it is gated, the second time round as the first."""

import gc
import weakref
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import pytest
import wrapt

from spanhook import Hooks, Reject
from spanhook.instrument._family import _is_abstract
from spanhook.instrument.instrumentor import BOUND, Bindings
from spanhook.model import Point
from spanhook.testing import recorder
from tests.instrument.test_wrapping import refusing


class Base:
    def plain(self, given: Any) -> Any:
        return given

    def other(self, given: Any) -> Any:
        return given


class Bare:
    """A base whose subclasses may have a method that it lacks."""


class Mixin:
    def plain(self, given: Any) -> Any:
        return given


class Silent:
    """A mixin that tells nobody of classes below it."""

    def __init_subclass__(cls, **_kwargs: Any) -> None:
        pass


def plain(self: Any, given: Any) -> Any:
    """A method that is set on a class."""
    return given


def own() -> type[Any]:
    return type("Own", (Base,), {"plain": plain})


def below_one_that_has_none() -> type[Any]:
    class Above(Base):
        pass

    return type("Below", (Above,), {"plain": plain})


def set_afterwards() -> type[Any]:
    class Late(Base):
        pass

    setattr(Late, "plain", plain)  # noqa: B010
    return Late


def set_again() -> type[Any]:
    made = own()
    setattr(made, "plain", plain)  # noqa: B010
    return made


def of_a_mixin() -> type[Any]:
    class Mixed(Mixin, Base):
        pass

    return Mixed


def below_a_mixed_one() -> type[Any]:
    return type("Below", (of_a_mixin(),), {})


def of_a_mixin_further_up() -> type[Any]:
    class Above(Base):
        pass

    class Between(Mixin):
        pass

    return type("Below", (Between, Above), {})


def told_nobody() -> type[Any]:
    return type("Unheard", (Silent, Base), {"plain": plain})


def with_other_bases() -> type[Any]:
    class Plain(Base):
        pass

    class Moved(Plain):
        pass

    Moved.__bases__ = (Mixin, Plain)
    return Moved


class Meta(type):
    """Has classes find methods where none of their bases is."""

    def mro(cls) -> list[type]:
        first, *rest = super().mro()
        return [first, *([] if Mixin in rest else [Mixin]), *rest]


def with_an_order_of_its_own() -> type[Any]:
    return Meta("Ordered", (Base,), {})


MAKES: list[Callable[[], type[Any]]] = [
    own,
    below_one_that_has_none,
    set_afterwards,
    set_again,
    of_a_mixin,
    below_a_mixed_one,
    of_a_mixin_further_up,
    told_nobody,
    with_other_bases,
    with_an_order_of_its_own,
]


def bindings() -> Bindings:
    return Bindings(
        [
            Point(module=__name__, name=f"Base.{name}", adapter="tests.stub:WHOLE", overrides=True)
            for name in ("other", "plain")
        ]
    )


def refused(cls: type[Any]) -> bool:
    with pytest.raises(Reject):
        cls().plain("x")
    return True


@pytest.mark.parametrize("make", MAKES, ids=lambda make: make.__name__)
def test_whenever_a_class_is_made(make: Callable[[], type[Any]]) -> None:
    earlier, engine = make(), bindings()
    before = dict(vars(earlier))
    with recorder(refusing(), only=()):
        engine.bind()
        meanwhile = make()
        assert refused(earlier)
        assert refused(meanwhile)
        engine.restore()
        between = make()
        assert [cls().plain("x") for cls in (earlier, meanwhile, between)] == ["x"] * 3
        engine.bind()
        last = make()
        assert all(map(refused, (earlier, meanwhile, between, last, earlier)))
        engine.restore()
    assert dict(vars(earlier)) == before


def test_a_method_that_is_exchanged_between_two_times() -> None:
    cls, engine = own(), bindings()

    def exchanged(_self: Any, given: Any) -> Any:
        return f"exchanged {given}"

    with recorder(Hooks(), only=()) as seen:
        engine.bind()
        assert cls().plain("x") == "x"
        engine.restore()
        cls.plain = exchanged
        engine.bind()
        assert cls().plain("x") == "exchanged x"
        engine.restore()
        assert len(seen.operations) == 2
        assert vars(cls)["plain"] is exchanged
        del cls.plain
        engine.bind()
        assert cls().plain("x") == "x"
        engine.restore()
    assert len(seen.operations) == 3
    assert "plain" not in vars(cls)


def test_wrappers_that_others_put_back_are_asked_once_each() -> None:
    """As an instrumentation does that remembers a method as it found it, and puts that back after us."""
    engine, before = bindings(), Base.plain
    try:
        with recorder(refusing(), only=()):
            for _ in range(40):  # each doubled the time that the next one took
                engine.bind()
                found = Base.plain
                Base.plain = lambda self, given, found=found: found(self, given)
                engine.restore()
                Base.plain = found
            engine.bind()
            assert refused(Base)
            engine.restore()
            assert Base().plain("x") == "x"
    finally:
        Base.plain = before


@pytest.mark.parametrize("make", MAKES, ids=lambda make: make.__name__)
def test_classes_are_freed_whenever_they_were_made(make: Callable[[], type[Any]]) -> None:
    engine = bindings()
    earlier, gone = make(), list[weakref.ref[type]]()
    with recorder(Hooks(), only=()):
        for _ in range(2):
            engine.bind()
            meanwhile = make()
            meanwhile()
            gone.append(weakref.ref(meanwhile))
            del meanwhile
            engine.restore()
        engine.bind()
        gone.append(weakref.ref(earlier))
        del earlier
        gc.collect()
        assert [one() for one in gone] == [None] * 3
        engine.restore()


def test_a_point_that_cannot_be_wrapped_keeps_the_others_from_nothing() -> None:
    cls = own()
    engine = Bindings(
        [
            Point(module=__name__, name="Base.plain", adapter="tests.stub:WHOLE", overrides=True),
            Point(module=__name__, name="int.bit_length", adapter="tests.stub:WHOLE", overrides=True),
        ]
    )
    with recorder(refusing(), only=()):
        with pytest.raises(TypeError):
            engine.bind()
        assert refused(cls)
        assert refused(own())
        engine.restore()
        assert cls().plain("x") == "x"


int = int  # noqa: A001 - a class of others that nothing can be set on


def test_a_method_that_only_looks_like_an_abstract_one_is_not_abstract() -> None:
    class Decorated:
        """An application's own decorator, which runs code of its own."""

        __wrapped__ = abstractmethod(lambda self: None)

    assert not _is_abstract(Decorated())
    assert _is_abstract(wrapt.FunctionWrapper(abstractmethod(lambda self: None), lambda *_args: None))


def test_each_of_a_long_chain_of_wrappers_is_asked_once() -> None:
    """Other instrumentations put back what they found, and what they found was bound: each would ask the next twice."""
    found: Any = abstractmethod(lambda self: None)
    for _ in range(100):
        found = wrapt.FunctionWrapper(found, lambda *_args: None).__get__(1, int)
    assert _is_abstract(found)


def test_a_method_that_only_subclasses_have() -> None:
    def made() -> type[Any]:
        return type("Has", (Bare,), {"plain": plain})

    earlier = made()
    point = Point(module=__name__, name="Bare.plain", adapter="tests.stub:WHOLE", overrides=True, below=True)
    engine = Bindings([point])
    with recorder(refusing(), only=()):
        engine.bind()
        assert engine.states == {str(point): BOUND}
        assert refused(earlier)
        assert refused(made())
        assert not hasattr(Bare, "plain")
        engine.restore()
    assert vars(earlier)["plain"] is plain
