# pyright: reportUnusedClass=false
"""The four kinds of function, however a class has them and whoever kept them: gated, called as before, given back."""

import asyncio
import functools
import gc
import inspect
import types
import weakref
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import wrapt

from spanhook import Hooks, Operation, Reject
from spanhook.instrument.instrumentor import Bindings
from spanhook.model import Point
from spanhook.testing import Recorder, recorder

Answer = tuple[Any, ...]


class Base:
    """One method of every kind, with every sort of parameter."""

    def plain(self, given: Any, /, other: int = 1, *rest: Any, key: Any = 2, **more: Any) -> Answer:
        """Give back what it is given."""
        return given, other, rest, key, more

    async def coroutine(self, given: Any, other: int = 1, *, key: Any = 2) -> Answer:
        await asyncio.sleep(0)
        return given, other, key

    def generator(self, given: Any, *rest: Any, key: Any) -> Generator[Any, Any, str]:
        sent: Any = given
        while sent is not None:
            try:
                sent = yield sent, rest, key
            except ValueError as error:
                sent = error
        return "done"

    async def agenerator(self, given: Any, spanhook_other: int = 1, **more: Any) -> AsyncIterator[Any]:
        sent: Any = given
        while sent is not None:
            await asyncio.sleep(0)
            try:
                sent = yield sent, spanhook_other, more
            except ValueError as error:
                sent = error


NAMES = ("plain", "coroutine", "generator", "agenerator")
MODES = dict(zip(NAMES, ("sync", "async", "stream", "astream"), strict=True))
ADAPTERS = {name: "STREAM" if "generator" in name else "WHOLE" for name in NAMES}


def table() -> list[Point]:
    return [
        Point(
            module=__name__,
            name=f"Base.{name}",
            adapter=f"tests.stub:{ADAPTERS[name]}",
            mode=MODES[name],
            overrides=True,
        )
        for name in NAMES
    ]


@contextmanager
def bound(hooks: Hooks | None = None) -> Generator[Recorder, None, None]:
    """The methods bound, in the base and whatever overrides it."""
    bindings = Bindings(table())
    with recorder(hooks, only=()) as seen:
        bindings.bind()
        try:
            yield seen
        finally:
            bindings.restore()


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    return hooks


async def collect(stream: Any) -> list[Any]:
    return [one async for one in stream]


def use(name: str, method: Any) -> Any:
    """Call one of the four with what it takes, and wait for the whole of it."""
    if name == "plain":
        return method("x", 3, 4, key=5, more=6)
    if name == "coroutine":
        return asyncio.run(method("x", other=3))
    if name == "generator":
        return list(_until(method("x", 3, key=4)))
    return asyncio.run(_auntil(method("x", more=3)))


def _until(stream: Any) -> Iterator[Any]:
    yield next(stream)
    yield stream.send("sent")
    yield stream.throw(ValueError("thrown"))[0].args
    with pytest.raises(StopIteration) as ended:
        stream.send(None)
    yield ended.value.value


async def _auntil(stream: Any) -> list[Any]:
    steps = [await anext(stream), await stream.asend("sent"), (await stream.athrow(ValueError("thrown")))[0].args]
    with pytest.raises(StopAsyncIteration):
        await stream.asend(None)
    return steps


KEPT: dict[str, Callable[[Any, str], Any]] = {
    "method": getattr,
    "function": lambda one, name: functools.partial(vars(Base)[name], one),
    "partial": lambda one, name: functools.partial(getattr(one, name)),
    "wrapped": lambda one, name: functools.partial(decorated(vars(Base)[name]), one),
    "in the instance": lambda one, name: vars(one).setdefault(name, getattr(one, name)),
}


@pytest.mark.every_value
@pytest.mark.parametrize("keep", KEPT)
@pytest.mark.parametrize("name", NAMES)
def test_what_was_kept_is_called_as_before(name: str, keep: str) -> None:
    kept = KEPT[keep](Base(), name)
    before = use(name, kept)
    with bound() as seen:
        assert use(name, kept) == before
        assert [op.status for op in seen.operations] == ["success"]
    with bound(refusing()) as seen:
        with pytest.raises(Reject):
            use(name, kept)
        assert [op.status for op in seen.operations] == ["rejected"]
    assert use(name, kept) == before


@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_read_from_an_instance_is_a_method(name: str) -> None:
    def found() -> tuple[bool, bool, bool]:
        read: Any = getattr(Base, name)
        return hasattr(read, "__func__"), hasattr(read, "__self__"), hasattr(getattr(Base(), name), "__func__")

    before = found()
    with bound():
        assert found() == before == (False, False, True)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_are_told_as_before(name: str) -> None:
    kept = getattr(Base(), name)

    def wrong() -> str:
        with pytest.raises(TypeError) as caught:
            kept(1, 2, 3, unknown=4) if name != "plain" else kept()
        return str(caught.value)

    before = wrong()
    with bound():
        assert wrong() == before


def test_errors_come_without_frames_of_ours() -> None:
    class Failing(Base):
        def plain(self, given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            raise KeyError(given)

    kept = Failing().plain
    with bound(), pytest.raises(KeyError) as caught:
        kept("x")
    modules = {entry.frame.f_globals["__name__"] for entry in caught.traceback}
    assert modules == {__name__}


@pytest.mark.parametrize("way", ["close", "throw"])
def test_a_kept_generator_is_left_as_before(way: str) -> None:
    kept = Base().generator
    with bound() as seen:
        stream = kept("x", key=1)
        next(stream)
        if way == "close":
            stream.close()
        else:
            with pytest.raises(KeyError):
                stream.throw(KeyError("x"))
        assert [op.status for op in seen.operations] == ["abandoned" if way == "close" else "error"]


@pytest.mark.every_value
@pytest.mark.anyio
@pytest.mark.parametrize("way", ["aclose", "athrow"])
async def test_a_kept_async_generator_is_left_as_before(way: str) -> None:
    kept = Base().agenerator
    with bound() as seen:
        stream: Any = kept("x")
        assert inspect.isasyncgen(stream)
        await anext(stream)
        if way == "aclose":
            await stream.aclose()
        else:
            with pytest.raises(KeyError):
                await stream.athrow(KeyError("x"))
        assert [op.status for op in seen.operations] == ["abandoned" if way == "aclose" else "error"]


def test_signatures_of_every_sort() -> None:
    def one(a: Any, b: Any = 1, /, c: Any = 2, *d: Any, e: Any, f: Any = 3, **g: Any) -> None: ...
    def two(*, only: Any) -> None: ...
    def three() -> None: ...
    def four(spanhook_target: Any, *spanhook: Any) -> Any: ...
    def five(a: Any, /) -> Any: ...

    module = types.ModuleType("of_functions")
    functions: list[Any] = [one, two, three, four, five]
    before = [(inspect.signature(function), function.__code__) for function in functions]
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((1, 2, 3, 4), {"e": 5, "a": 6}),
        ((), {"only": 1}),
        ((), {}),
        ((1, 2), {}),
        ((1,), {}),
    ]
    for function in functions:
        setattr(module, function.__name__, function)
    from spanhook.instrument._wrapping import Binding

    got: list[Any] = []

    def make(_binding: Binding) -> Any:
        return lambda wrapped, _instance, args, kwargs: (got.append((args, kwargs)), wrapped(*args, **kwargs))[1]

    made = [Binding(module, function.__name__, make) for function in functions]
    assert [inspect.signature(function) for function in functions] == [sig for sig, _ in before]
    for function, (args, kwargs) in zip(functions, calls, strict=True):
        function(*args, **kwargs)
    assert got[0] == ((1, 2, 3, 4), {"e": 5, "f": 3, "a": 6})
    assert got[1:] == [((), {"only": 1}), ((), {}), ((1, 2), {}), ((1,), {})]
    for one_made in made:
        one_made.restore()
    assert [function.__code__ for function in functions] == [code for _, code in before]


# ------------------------------------------------------------------------------------------- overrides of every sort


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


class Mixin:
    def plain(self, given: Any) -> Any:
        return given


class StaticMixin:
    @staticmethod
    def plain(given: Any) -> Any:
        return given


def _impl(self: Any, given: Any) -> Any:
    return given


def overriding() -> dict[str, type]:
    """Classes that override in every way there is, new ones each time."""
    Parent: Any = Base

    class Plain(Parent):
        def plain(self, given: Any) -> Any:
            return given

    class Super(Parent):
        def plain(self, given: Any) -> Any:
            return super().plain(given)[0]

    class Below(Plain):
        pass

    class BelowSuper(Plain):
        def plain(self, given: Any) -> Any:
            return super().plain(given)

    class Static(Parent):
        @staticmethod
        def plain(given: Any) -> Any:
            return given

    class Class(Parent):
        @classmethod
        def plain(cls, given: Any) -> Any:
            return given

    class Property(Parent):
        @property
        def plain(self) -> Any:
            return lambda given: given

    class Cached(Parent):
        @functools.cached_property
        def plain(self) -> Any:
            return functools.partial(_impl, self)

    class Partial(Parent):
        plain = functools.partialmethod(_impl)

    class Decorated(Parent):
        @decorated
        def plain(self, given: Any) -> Any:
            return given

    class Mixed(Mixin, Parent):
        pass

    class MixedStatic(StaticMixin, Parent):
        pass

    class Assigned(Parent):
        plain = _impl

    class Borrowed(Parent):
        plain = Plain.plain

    class Called:
        def __get__(self, instance: Any, owner: Any) -> Any:
            return functools.partial(_impl, instance)

    class Descriptor(Parent):
        plain = Called()

    class Lambda(Parent):
        plain = lambda self, given: given  # noqa: E731

    class Slots(Parent):
        __slots__ = ()

        def plain(self, given: Any) -> Any:
            return given

    found = [one for one in locals().values() if isinstance(one, type) and issubclass(one, Base) and one is not Base]
    return {one.__name__: one for one in found}


OVERRIDING = tuple(overriding())


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", OVERRIDING)
def test_an_override_of_any_sort_is_gated_once(name: str, when: str) -> None:
    cls: Any = overriding()[name] if when == "before" else None
    with bound() as seen:
        cls = cls or overriding()[name]
        assert cls().plain("x") == "x"
        assert [op.status for op in seen.operations] == ["success"]
    before = {one: vars(cls).get("plain") for one in cls.__mro__}
    with bound(refusing()) as seen:
        for _ in range(2):
            with pytest.raises(Reject):
                cls().plain("x")
        if name in ("Static", "Class", "MixedStatic"):
            with pytest.raises(Reject):
                cls.plain("x")
    assert {one: vars(cls).get("plain") for one in cls.__mro__} == before
    assert cls().plain("x") == "x"


KEPT_OVERRIDES = ("Plain", "Super", "Below", "BelowSuper", "Static", "Class", "Decorated", "Mixed", "Assigned", "Slots")


@pytest.mark.every_value
@pytest.mark.parametrize("name", KEPT_OVERRIDES)
def test_an_override_that_was_kept_is_gated(name: str) -> None:
    cls: Any = overriding()[name]
    kept = cls().plain
    signature, has = inspect.signature(kept), dict(vars(kept))
    with bound(refusing()) as seen:
        assert inspect.signature(kept) == signature
        del cls  # nor does it matter whether anything else keeps the class
        gc.collect()
        for _ in range(2):
            with pytest.raises(Reject):
                kept("x")
        assert len(seen.operations) == 2
    assert kept("x") == "x"
    assert vars(kept) == has


def test_a_static_method_goes_with_its_class_and_a_function_that_is_lent_does_not_hold_it() -> None:
    def lent(given: Any) -> Any:
        return given

    def make() -> tuple[Any, list[weakref.ref[Any]]]:
        static, borrowing = overriding()["Static"], type("Borrowing", (Base,), {"plain": staticmethod(lent)})
        kept = static().plain
        return kept, [weakref.ref(static), weakref.ref(borrowing)]

    bindings = Bindings(table())
    bindings.bind()
    kept, classes = make()
    gc.collect()
    assert [one() is not None for one in classes] == [True, False]
    del kept
    gc.collect()
    assert [one() for one in classes] == [None, None]
    bindings.restore()


def test_a_mixin_that_others_use_too_is_gated_in_the_family_alone() -> None:
    class Mixed(Mixin, Base):
        pass

    class Other(Mixin):
        pass

    kept, other = Mixed().plain, Other().plain
    with bound(refusing()) as seen:
        with pytest.raises(Reject):
            kept("x")
        assert other("x") == Other().plain(given="x") == Mixin().plain("x") == "x"
        assert len(seen.operations) == 1


def test_a_function_that_two_classes_share_is_gated_in_both_and_given_back() -> None:
    def shared(self: Any, given: Any) -> Any:
        return given

    code = shared.__code__
    one: Any = type("One", (Base,), {"plain": shared})
    two: Any = type("Two", (Base,), {"plain": shared})
    kept = [one().plain, two().plain]
    with bound() as seen:
        assert [method("x") for method in kept] == ["x", "x"]
        assert one().plain("x") == "x"
        assert [op.status for op in seen.operations] == ["success"] * 3
        del one
        kept.pop(0)
        gc.collect()
        assert kept[0]("x") == "x"
        assert len(seen.operations) == 4
    assert shared.__code__ is code


ASYNC = {"sync": "plain", "async": "coroutine"}


def test_overrides_that_are_async_where_the_base_is_not() -> None:
    class Async(Base):
        async def plain(self, given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            await asyncio.sleep(0)
            return given

    class Awaitable(Base):
        def coroutine(self, given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return super().coroutine(given)

    class Lists(Base):
        def agenerator(self, given: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return super().agenerator(given)

    answering = Hooks()
    answering.before("llm.call")(lambda op: op.respond("answered"))
    one: Any = Async()
    kept = one.plain
    with bound() as seen:
        assert asyncio.run(one.plain("x")) == asyncio.run(kept("x")) == "x"
        assert asyncio.run(Awaitable().coroutine("x")) == ("x", 1, 2)
        assert asyncio.run(anext_of(Lists().agenerator("x"))) == ("x", 1, {})
        assert [op.status for op in seen.operations] == ["success", "success", "success", "abandoned"]
    with bound(answering):
        assert asyncio.run(one.plain("x")) == asyncio.run(kept("x")) == "answered"
        assert asyncio.run(Awaitable().coroutine("x")) == "answered"
    with bound(refusing()):
        for call in (one.plain, kept, Awaitable().coroutine):
            with pytest.raises(Reject):
                asyncio.run(call("x"))


async def anext_of(stream: Any) -> Any:
    try:
        return await anext(stream)
    finally:
        await stream.aclose()


def test_two_engines_over_one_class() -> None:
    kept, before = Base().plain, [vars(Base)[name] for name in NAMES]
    codes = [one.__code__ for one in before]
    for first_off in (0, 1):
        engines = [Bindings(table()), Bindings(table())]
        with recorder(only=()) as seen:
            for engine in engines:
                engine.bind()
            Base().plain("x")
            kept("x")
            assert len(seen.operations) == 4  # each makes its own, in one another
            engines.pop(first_off).restore()
            Base().plain("x")
            kept("x")
            assert len(seen.operations) == 6
            engines[0].restore()
            Base().plain("x")
            kept("x")
            assert len(seen.operations) == 6
        assert [vars(Base)[name] for name in NAMES] == before
        assert [one.__code__ for one in before] == codes


def test_again_and_again() -> None:
    kept = Base().plain
    before = [(vars(Base)[name], vars(Base)[name].__code__) for name in NAMES]
    for _ in range(5):
        with bound() as seen:
            kept("x")
            assert len(seen.operations) == 1
    assert [(vars(Base)[name], vars(Base)[name].__code__) for name in NAMES] == before


def test_code_that_somebody_changes_meanwhile_stays() -> None:
    def other(self: Any, given: Any) -> Any:
        return "other"

    class Changed(Base):
        def plain(self, given: Any) -> Any:
            return given

    function = vars(Changed)["plain"]
    with bound():
        function.__code__ = other.__code__
    assert Changed().plain("x") == "other"


def test_functions_go_with_their_classes() -> None:
    def make() -> tuple[weakref.ref[Any], weakref.ref[Any]]:
        class Made(Base):
            def plain(self, given: Any) -> Any:
                return super().plain(given)

        Made().plain("x")
        return weakref.ref(Made), weakref.ref(function_in(Made))

    bindings = Bindings(table())
    bindings.bind()
    gone = make()
    gc.collect()
    bindings.restore()
    assert [one() for one in gone] == [None, None]


def function_in(cls: type) -> Any:
    """The function that was there before it was wrapped."""
    return vars(cls)["plain"]._self_point._original


def test_what_somebody_puts_back_as_it_was_read_from_the_class_goes() -> None:
    before = vars(Base)["plain"]
    with bound():
        found = Base.plain
        setattr(Base, "plain", lambda self, given: found(self, given))  # noqa: B010
        setattr(Base, "plain", found)  # noqa: B010
    assert vars(Base)["plain"] is before


# ------------------------------------------------------------------------------------------- decorators of a library's


calls = list[str]()


def _noted(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    calls.append("noted")
    return wrapped(*args, **kwargs)


noted: Any = wrapt.decorator(_noted)
"""A decorator of the library's own."""


class Decorated:
    """A class whose methods the library decorates."""

    @noted
    def plain(self, given: Any) -> Any:
        calls.append("called")
        return given


@pytest.mark.parametrize("decorator", ["tests", ""], ids=["the library's own", "somebody else's"])
def test_what_was_kept_of_a_decorated_method_is_gated_if_the_decorator_is_the_library_s(decorator: str) -> None:
    kept, before = Decorated().plain, vars(Decorated)["plain"]
    point = Point(
        module=__name__, name="Decorated.plain", adapter="tests.stub:WHOLE", overrides=True, decorator=decorator
    )
    bindings = Bindings([point])
    calls.clear()
    with recorder(only=()) as seen:
        bindings.bind()
        assert (kept("x"), Decorated().plain("y")) == ("x", "y")
        count = len(seen.spans)
        bindings.restore()
    assert (count, calls) == (2 if decorator else 1, ["noted", "called"] * 2)
    assert vars(Decorated)["plain"] is before
    calls.clear()
    assert (kept("x"), calls) == ("x", ["noted", "called"])


def test_a_decorated_method_that_was_kept_can_be_refused() -> None:
    kept = Decorated().plain
    bindings = Bindings(
        [Point(module=__name__, name="Decorated.plain", adapter="tests.stub:WHOLE", overrides=True, decorator="tests")]
    )
    calls.clear()
    with recorder(refusing(), only=()):
        bindings.bind()
        try:
            with pytest.raises(Reject):
                kept("x")
        finally:
            bindings.restore()
    assert calls == ["noted"]


def test_decorated_methods_go_with_their_classes() -> None:
    def make() -> weakref.ref[Any]:
        class Made(Decorated):
            @noted
            def plain(self, given: Any) -> Any:
                return given

        Made().plain("x")
        return weakref.ref(Made)

    bindings = Bindings(
        [Point(module=__name__, name="Decorated.plain", adapter="tests.stub:WHOLE", overrides=True, decorator="tests")]
    )
    bindings.bind()
    gone = make()
    gc.collect()
    bindings.restore()
    assert gone() is None
