"""References from before `instrument()`: they lead to the gate, and nobody can tell them from what they were."""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

import spanhook
from spanhook import Hook, Operation, Reject
from spanhook.cli.conformance.libraries.langgraph import GIVEN
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.instrument._family import descendants
from spanhook.model import Held, Point
from spanhook.testing import recorder
from tests.conformance.everything import BOUND_CASES, SUBJECTS, named
from tests.conformance.points import PLACES, Place, place_named
from tests.conformance.test_denied import expect_refused, refusing
from tests.thinning import a_fifth


def facts(function: Any) -> dict[str, Any]:
    """What others find out of a function before they call it."""
    taken = inspect.getfullargspec(function)
    given = (object(),) if taken.args or taken.varargs else ()
    return {
        "signature": inspect.signature(function),
        "arguments": taken,
        "partial": inspect.signature(functools.partial(function, *given)),
        "coroutine": inspect.iscoroutinefunction(function),
        "generator": inspect.isgeneratorfunction(function),
        "async generator": inspect.isasyncgenfunction(function),
        "nonlocals": inspect.getclosurevars(function).nonlocals,
        "free variables": function.__code__.co_freevars,
        "source": inspect.getsource(function),
        "file": inspect.getsourcefile(function),
        **{
            name: getattr(function, name, None)
            for name in (
                "__defaults__",
                "__kwdefaults__",
                "__annotations__",
                "__qualname__",
                "__module__",
                "__doc__",
                "__dict__",
            )
        },
    }


class Buffering(Hook):
    """One that results are withheld for, so that what they leave by is bound as well."""

    stream = "buffer"

    def after(self, op: Operation) -> None:
        """Let all of it pass."""


def function_at(place: Place) -> Any:
    """The function that stands there, which may be that of a class method."""
    found = place.found
    return found.__func__ if isinstance(found, classmethod) else found


def test_functions_look_as_they_did() -> None:
    places = {place_named(one): one for one in PLACES if not isinstance(one.entry, Held)}
    kept = {name: function_at(place) for name, place in places.items()}
    codes, before = {name: one.__code__ for name, one in kept.items()}, {name: facts(one) for name, one in kept.items()}
    spanhook.instrument(Buffering())
    for name, place in places.items():
        # What is abstract is bound where it is overridden; so is what only others' classes are bound for.
        elsewhere = isinstance(place.entry, Point) and place.entry.outside
        stays = bool(elsewhere or getattr(kept[name], "__isabstractmethod__", False))
        assert (kept[name].__code__ is codes[name]) is stays, name
        assert facts(kept[name]) == before[name], name
        if isinstance(place.entry, Point):
            assert facts(function_at(place)) == before[name], name
        assert inspect.signature(function_at(place)) == before[name]["signature"], name
    spanhook.uninstrument()
    assert all(function_at(place) is kept[name] for name, place in places.items())


@pytest.mark.slow
def test_functions_of_subclasses_look_as_they_did() -> None:
    places = [
        Place(place.entry, cls, place.name)
        for place in PLACES
        if isinstance(place.entry, Point) and place.entry.overrides
        for cls in descendants(place.owner)
        if place.name in vars(cls) and type(vars(cls)[place.name]) is FunctionType and _source(vars(cls)[place.name])
    ]
    kept = [place.found for place in places]
    codes, before = [one.__code__ for one in kept], [facts(one) for one in kept]
    spanhook.instrument()
    assert [facts(one) for one in kept] == before
    assert [facts(place.found) for place in places] == before
    spanhook.uninstrument()
    assert all(place.found is one for place, one in zip(places, kept, strict=True))
    assert all(one.__code__ is code for one, code in zip(kept, codes, strict=True))


def _source(function: FunctionType) -> str:
    """Its source, if there is any: what is made by other tests may have none."""
    try:
        return inspect.getsource(function)
    except OSError:
        return ""


GIVEN_TO: dict[str, Any] = {
    "chat": "hi",
    "text": "hi",
    "tool": {"query": "x"},
    "async tool": {"query": "x"},
    "retriever": "x",
    "graph": GIVEN,
}
RUNNABLE = [subject for subject in SUBJECTS if subject.name in GIVEN_TO]


@pytest.mark.parametrize("subject", RUNNABLE, ids=lambda subject: subject.name)
@pytest.mark.parametrize("keep", [lambda method: method, functools.partial], ids=["method", "partial"])
def test_runnables_made_of_them(subject: Subject, keep: Callable[[Any], Any]) -> None:
    body = Body()
    thing = subject.make(body)
    lambdas: list[Any] = [RunnableLambda(keep(thing.ainvoke))]
    if subject.name != "async tool":
        lambdas.append(RunnableLambda(keep(thing.invoke), afunc=keep(thing.ainvoke)))
    given = GIVEN_TO[subject.name]
    before = settle(lambdas[0].ainvoke(given))
    body.runs = 0
    with recorder(refusing(subject.kind)):
        for one in lambdas:
            expect_refused(lambda one=one: one.ainvoke(given))
        if len(lambdas) > 1:
            expect_refused(lambda: lambdas[1].invoke(given))
        expect_refused(lambda: RunnableLambda(lambdas[0].afunc).ainvoke(given))
    assert body.runs == 0
    with recorder():
        assert type(settle(lambdas[0].ainvoke(given))) is type(before)


@pytest.mark.parametrize("case", a_fifth(BOUND_CASES), ids=named)
def test_references_from_an_earlier_time_lead_to_the_gate(case: tuple[Subject, str]) -> None:
    subject, way = case
    body = Body()
    with recorder():
        later = subject.bind[way](subject.make(body))
    for _ in range(2):
        with recorder(refusing(subject.kind)), pytest.raises(Reject):
            settle(later())
    assert body.runs == 0
    settle(later())
    assert body.runs
