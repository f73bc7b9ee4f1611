"""Points that versions have in different places: one of them must be bound, or users are told."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spanhook.instrument import INSTRUMENTORS, Declaration, Instrumentor
from spanhook.instrument.instrumentor import BOUND, MISSING, WAITING
from spanhook.model import Point
from tests import stub


def work(module: str, name: str) -> Point:
    return Point(module=module, name=name, adapter="tests.stub:WHOLE", either="what works")


HERE, GONE = work(stub.__name__, "Library.work"), work(stub.__name__, "Library.gone")
NOWHERE, INSIDE = work("tests.nowhere", "Library.work"), work("tests.stub.inside", "Library.work")


def bound(*table: Point) -> Any:
    class Either(Instrumentor):
        library = "either"

    Either.table = table
    return Either()


@contextmanager
def binding(library: Any, *, load: bool) -> Generator[None]:
    library.bindings.bind()
    try:
        if load:
            library.load()
        yield
    finally:
        library.bindings.restore()


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Declaration("either", instrumentor="tests:None", requirement="pytest >= 1", extra="test", module="tests")
    monkeypatch.setitem(INSTRUMENTORS, "either", one)


@pytest.mark.parametrize("load", [False, True])
@pytest.mark.parametrize("other", [GONE, NOWHERE, INSIDE])
@pytest.mark.parametrize("first", [False, True])
def test_one_of_them_is_enough(first: bool, other: Point, load: bool, caplog: pytest.LogCaptureFixture) -> None:
    library = bound(*((HERE, other) if first else (other, HERE)))
    with binding(library, load=load), caplog.at_level(logging.WARNING):
        assert library.required_states() == [(str(HERE), BOUND)]
        if load:
            assert library.states[str(other)] == MISSING
    assert not caplog.records


def test_a_part_that_cannot_be_imported_here_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = tmp_path / "in_pieces"
    part.mkdir()
    (part / "__init__.py").write_text("Optional = None\nclass Own(Optional()): ...\n")  # no ImportError
    (part / "inner.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    here, other = work(stub.__name__, "Library.work"), work("in_pieces.inner", "Library.work")
    library = bound(here, other)
    with binding(library, load=True):
        assert library.states == {str(here): BOUND, str(other): MISSING}
        assert library.required_states() == [(str(here), BOUND)]
    library = bound(other)
    with binding(library, load=True):
        assert library.required_states() == [(str(other), WAITING)]  # which no requirement is met by


@pytest.mark.parametrize("other", [work("tests.stub", "Other.gone"), NOWHERE, INSIDE])
@pytest.mark.parametrize("load", [False, True])
def test_none_of_them_is_told(other: Point, load: bool, caplog: pytest.LogCaptureFixture) -> None:
    library = bound(GONE, other)
    with caplog.at_level(logging.WARNING), binding(library, load=load):
        states = dict(library.required_states())
        assert set(states) == {str(GONE), str(other)}
        assert BOUND not in states.values()
    (told,) = [one.getMessage() for one in caplog.records]
    assert told.endswith("is missing; calls that go through it are not gated")


def test_one_that_may_still_be_imported_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    later = bound(GONE, work("this", "Library.work"))
    with caplog.at_level(logging.WARNING), binding(later, load=False):
        assert dict(later.required_states())["this.Library.work"] == WAITING
    assert not caplog.records
