"""Libraries that are imported a second time by their names: both are gated, given back, and released."""

import gc
import importlib
import importlib.util
import logging
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.instrument._reimports import reimports
from spanhook.instrument.instrumentor import Bindings
from spanhook.model import Point
from spanhook.testing import recorder

NAME = "acme_imported_again"
SOURCE = """
from acme_imported_again_base import Shared
from spanhook.engine import registry

registry.tell()  # hooks change while it is being imported

class Base:
    def call(self, text):
        return text

class Child(Base):
    def call(self, text):
        return "child " + super().call(text)

def ask(text):
    return text
"""
WAYS: dict[str, Callable[[Any], Any]] = {
    "function": lambda module: module.ask("x"),
    "method": lambda module: module.Base().call("x"),
    "override": lambda module: module.Child().call("x"),
    "class of another module": lambda module: module.Shared().call("x"),
}
PLAIN = ["x", "x", "child x", "x"]


def wanted(_plans: Any) -> bool:
    return True


def table() -> list[Point]:
    whole = "tests.stub:WHOLE"
    return [
        Point(module=NAME, name="ask", adapter=whole),
        Point(module=NAME, name="Base.call", adapter=whole, overrides=True),
        Point(module=NAME, name="Shared.call", adapter=whole, wanted=f"{__name__}:wanted"),
    ]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    (tmp_path / f"{NAME}.py").write_text(SOURCE)
    (tmp_path / f"{NAME}_base.py").write_text("class Shared:\n    def call(self, text):\n        return text\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(NAME)
    for name in (NAME, f"{NAME}_base"):
        sys.modules.pop(name, None)


@pytest.fixture
def bindings() -> Iterator[Bindings]:
    made = Bindings(table())
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks, only=()):
        yield made
        made.restore()


def outcomes(module: Any) -> list[Any]:
    found = list[Any]()
    for way in WAYS.values():
        try:
            found.append(way(module))
        except Reject:
            found.append("refused")
    return found


def imported_anew() -> types.ModuleType:
    del sys.modules[NAME]
    return importlib.import_module(NAME)


AGAIN: dict[str, Callable[[types.ModuleType], types.ModuleType]] = {
    "reload": importlib.reload,
    "emptied sys.modules": lambda _module: imported_anew(),
}


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_what_is_imported_again_is_gated_and_so_is_what_there_was(
    library: types.ModuleType, bindings: Bindings, again: Callable[[types.ModuleType], types.ModuleType]
) -> None:
    kept = types.SimpleNamespace(**vars(library))
    bindings.bind()
    held = types.SimpleNamespace(**vars(library))  # as `from library import ask` has it, once it is gated
    for _ in range(3):
        library = again(library)
        assert outcomes(library) == outcomes(held) == ["refused"] * 4
        assert outcomes(kept)[1:] == ["refused"] * 3
        assert set(bindings.states.values()) == {"bound"}
        assert list(bindings.unbound()) == []
    bindings.restore()
    assert outcomes(library) == outcomes(held) == outcomes(kept) == PLAIN
    assert type(vars(library)["ask"]) is type(vars(library.Base)["call"]) is types.FunctionType
    assert type(vars(library.Shared)["call"]) is types.FunctionType
    assert NAME not in reimports._watched
    assert outcomes(again(library)) == PLAIN


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_each_call_is_one_operation(
    library: types.ModuleType, again: Callable[[types.ModuleType], types.ModuleType]
) -> None:
    bindings = Bindings(table())
    with recorder(only=()) as seen:
        bindings.bind()
        library = again(again(library))
        assert outcomes(library) == PLAIN
        bindings.restore()
    assert len(seen.operations) == len(WAYS)


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_the_earlier_one_is_released(
    library: types.ModuleType, bindings: Bindings, again: Callable[[types.ModuleType], types.ModuleType]
) -> None:
    bindings.bind()
    library = again(library)  # pytest keeps what the fixture gave
    gc.collect()
    kept = [one() for one in bindings._earlier if one() is not None]
    earlier: list[weakref.ref[Any]] = []
    for _ in range(3):
        earlier += [weakref.ref(library.Base), weakref.ref(library.Child)]
        library = again(library)
    gc.collect()
    assert [one() for one in earlier] == [None] * 6
    assert [one() for one in bindings._earlier if one() is not None] == kept
    assert len(bindings._made) == len(bindings._operations) == 3


def test_the_module_has_its_own_loader(library: types.ModuleType, bindings: Bindings) -> None:
    bindings.bind()
    again = imported_anew()
    assert again.__spec__ is not None
    assert type(again.__loader__) is type(again.__spec__.loader) is type(library.__loader__)
    found = importlib.util.find_spec(NAME)
    assert found is again.__spec__


@pytest.mark.usefixtures("unbound")  # no other module is watched
def test_two_tables_of_one_module_are_both_bound_again(library: types.ModuleType) -> None:
    tables = [Bindings(table()), Bindings(table())]
    with recorder(only=()) as seen:
        for one in tables:
            one.bind()
        library = imported_anew()
        tables[0].restore()
        library = imported_anew()
        library.ask("x")
        assert len(seen.operations) == 1
        tables[1].restore()
    assert reimports not in sys.meta_path


def test_what_is_replaced_unnoticed_is_told_and_bound_with_the_next_change(
    library: types.ModuleType, bindings: Bindings, caplog: pytest.LogCaptureFixture
) -> None:
    """Code that runs a module's file by hand, and puts the module in its place."""
    bindings.bind()
    assert library.__file__ is not None
    spec = importlib.util.spec_from_file_location(NAME, library.__file__)
    assert spec is not None
    assert spec.loader is not None
    by_hand = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(by_hand)
    sys.modules[NAME] = by_hand

    assert list(bindings.unbound()) == [f"{NAME} as it was imported again"]
    with caplog.at_level(logging.WARNING, "spanhook"):
        for _ in range(2):
            spanhook.instrument(Hooks())
    assert [one.getMessage() for one in caplog.records] == [
        f"spanhook: {NAME} was imported again unnoticed; its calls were not gated until now"
    ]
    assert list(bindings.unbound()) == []
    assert outcomes(by_hand) == ["refused"] * 4
