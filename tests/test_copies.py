"""Every proxy that the application gets can be copied in every way in which what it wraps can be."""

import ast
import asyncio
import copy
import dataclasses
import functools
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import wrapt
from langchain_core.tools import StructuredTool
from pydantic import BaseModel

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.copies import Copied
from spanhook.testing import recorder

SOURCE = Path(spanhook.__file__).parent
WRAPT = frozenset(name for name in dir(wrapt) if name.endswith(("Proxy", "FunctionWrapper")))
PROTOCOL = ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__")


@dataclasses.dataclass(frozen=True)
class Class:
    """A class of ours as it is written."""

    place: str
    bases: tuple[str, ...]
    methods: frozenset[str]


@functools.cache
def _sources(text: str = "") -> dict[Path, ast.Module]:
    """The modules that contain a text."""
    found = {path.relative_to(SOURCE): path.read_text() for path in SOURCE.rglob("*.py")}
    return {path: ast.parse(source) for path, source in found.items() if text in source}


@functools.cache
def _classes(text: str = "") -> dict[str, list[Class]]:
    """All classes by name, of modules that contain a text; read, since not every library is installed here."""
    found: dict[str, list[Class]] = {}
    for path, source in _sources(text).items():
        for node in ast.walk(source):
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base).rpartition(".")[2].partition("[")[0] for base in node.bases)
                methods = frozenset(one.name for one in node.body if isinstance(one, ast.FunctionDef))
                found.setdefault(node.name, []).append(Class(f"{path}:{node.name}", bases, methods))
    return found


def _lineage(one: Class) -> Iterator[Class]:
    yield one
    for base in one.bases:
        for found in _classes().get(base, ()):
            if found is not one:
                yield from _lineage(found)


def _is_proxy(one: Class) -> bool:
    return any(WRAPT.intersection(found.bases) for found in _lineage(one))


@pytest.mark.slow
def test_every_proxy_has_every_protocol() -> None:
    proxies = [one for several in _classes().values() for one in several if _is_proxy(one)]
    assert {"Decorated", "BoundMethod", "Wrapper", "Transparent", "HeldFunction", "HeldEvents", "Accompanied"} <= {
        one.place.rpartition(":")[2] for one in proxies
    }
    lacking = {one.place for one in proxies if not _methods_of(one).issuperset(PROTOCOL)}
    assert not lacking, "derive them from spanhook.copies.Copied"


def _methods_of(one: Class) -> frozenset[str]:
    return frozenset[str]().union(*(found.methods for found in _lineage(one)))


@pytest.mark.slow
def test_no_proxy_is_made_in_passing() -> None:
    """A class that is made by a call is no ``ClassDef``; a proxy of ``wrapt``'s own has no protocol."""
    made = [
        f"{path}: {ast.unparse(node)}"
        for path, source in _sources().items()
        for node in ast.walk(source)
        if isinstance(node, ast.Call) and _is_named(node.func) and (name := ast.unparse(node.func))
        if (name.partition(".")[2] in WRAPT or (name == "type" and "wrapt" in ast.unparse(node)))
        if "Copied" not in ast.unparse(node)
    ]
    # An application's own wrapper around a function that is decorated in place, as it was before.
    assert made == ["instrument/_wrapping.py: wrapt.FunctionWrapper(copy_of(decorated), self._original._self_wrapper)"]


def _is_named(function: ast.expr) -> bool:
    """Whether it is an attribute of ``wrapt``, or ``type``."""
    owner = function.value if isinstance(function, ast.Attribute) else function
    return isinstance(owner, ast.Name) and owner.id == ("wrapt" if isinstance(function, ast.Attribute) else "type")


def test_objects_without_their_attributes_yet_have_no_methods_of_copying() -> None:
    """``copy`` and ``pickle`` make an empty one first, and ask it for ``__setstate__``."""
    classes = _classes("__getattr__").values()
    delegating = [one.place for several in classes for one in several if "__getattr__" in one.methods]
    assert delegating
    assert not [place for place in delegating if _has_methods_of_copying(place)]


def _has_methods_of_copying(place: str) -> bool:
    path, _, name = place.partition(":")
    module = path.removesuffix(".py").replace("/", ".")
    try:
        cls = getattr(import_module(f"spanhook.{module}"), name)
    except ImportError:  # of its library
        cls = None
    if cls is None:
        return "# of an object that is being copied" not in (SOURCE / path).read_text()
    return not issubclass(cls, wrapt.ObjectProxy) and hasattr(cls.__new__(cls), "__setstate__")


# ------------------------------------------------------------------------------------------- what is decorated


class Kit:
    def __init__(self) -> None:
        self.log = list[str]()

    @spanhook.tool
    def find(self, q: str) -> str:
        """Find."""
        self.log.append(q)
        return q

    @spanhook.tool
    async def afind(self, q: str) -> str:
        """Find."""
        self.log.append(q)
        return q

    @spanhook.tool
    @classmethod
    def of_class(cls, q: str) -> str:
        """Find."""
        return q

    @spanhook.tool
    @staticmethod
    def of_none(q: str) -> str:
        """Find."""
        return q


class Wider(Kit):
    def find(self, q: str) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"wider {q}"

    def narrow(self) -> Any:
        return super().find


class Holding(BaseModel):
    tool: Any


@dataclasses.dataclass
class Holder:
    tool: Any


class Call:
    """A tool that is an object."""

    __name__ = "call"

    def __init__(self) -> None:
        self.log = list[str]()

    def __call__(self, q: str) -> str:
        self.log.append(q)
        return q


DEEP: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "of a list": lambda tool: copy.deepcopy([tool])[0],
    "asdict": lambda tool: dataclasses.asdict(Holder(tool))["tool"],
    "astuple": lambda tool: dataclasses.astuple(Holder(tool))[0],
    "pydantic": lambda tool: Holding(tool=tool).model_copy(deep=True).tool,
    "langchain": lambda tool: copy.deepcopy(StructuredTool.from_function(tool)).func,
    "pickle": lambda tool: pickle.loads(pickle.dumps(tool)),
}
SHALLOW: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "replace": lambda tool: dataclasses.replace(Holder(tool)).tool,
    "pydantic": lambda tool: Holding(tool=tool).model_copy().tool,
}


def bare(method: Any) -> Any:
    """The method that is decorated."""
    return method.__wrapped__


def gated(call: Callable[[], Any]) -> Any:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def gate(_op: Operation) -> None:
        raise Reject("no")

    result = call()
    with recorder(hooks), pytest.raises(Reject):
        call()
    return result


@pytest.mark.parametrize("again", DEEP.values(), ids=DEEP)
def test_a_deep_copy_of_a_method_has_a_copy_of_its_object(again: Callable[[Any], Any]) -> None:
    kit = Kit()
    copied = again(kit.find)
    assert gated(lambda: copied("x")) == "x"
    assert kit.log == []
    assert copied.__self__ is not kit


@pytest.mark.parametrize("again", SHALLOW.values(), ids=SHALLOW)
def test_a_copy_of_a_method_has_its_object(again: Callable[[Any], Any]) -> None:
    kit = Kit()
    assert gated(lambda: again(kit.find)("x")) == "x"
    assert kit.log == ["x"]


@pytest.mark.parametrize("again", [*DEEP.values(), *SHALLOW.values()])
def test_methods_of_other_sorts(again: Callable[[Any], Any]) -> None:
    for tool in (Kit.of_class, Kit.of_none, Kit().of_class, Kit().of_none):
        copied = again(tool)
        assert gated(partial(copied, "x")) == "x"
    if again is not DEEP["langchain"]:  # it wants a method with an object
        assert gated(lambda: again(Kit.find)(Kit(), "x")) == "x"
        assert asyncio.run(again(Kit().afind)("x")) == "x"


def test_an_object_that_holds_its_own_method() -> None:
    kit: Any = Kit()
    kit.mine = kit.find
    copied = copy.deepcopy(kit)
    copied.mine("x")
    assert (kit.log, copied.log) == ([], ["x"])
    assert copied.mine.__self__ is copied


def test_a_method_of_a_base_class_stays_that() -> None:
    assert copy.deepcopy(Wider().narrow())("x") == "x"


@pytest.mark.parametrize("again", [DEEP["deepcopy"], DEEP["pydantic"], DEEP["pickle"]])
def test_tools_that_are_objects_and_bound_methods(again: Callable[[Any], Any]) -> None:
    held, call = Kit(), Call()
    of_method: Any = spanhook.tool("find")(bare(held.find))
    of_object: Any = spanhook.tool("call")(call)
    of_part: Any = spanhook.tool("part")(partial(call, "x"))
    assert gated(lambda: again(of_method)("x")) == "x"
    assert gated(lambda: again(of_object)("x")) == "x"
    assert gated(lambda: again(of_part)()) == "x"
    assert (held.log, call.log) == ([], [])


class Stream:
    """Something that a proxy wraps."""

    def __init__(self) -> None:
        self.items = [1]


class Proxy(Copied, wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    pass


@pytest.mark.slow
def test_a_copied_proxy_is_what_it_wraps() -> None:
    stream = Stream()
    proxy: Any = Proxy(stream)
    shallow, deep, pickled = copy.copy(proxy), copy.deepcopy(proxy), pickle.loads(pickle.dumps(proxy))
    assert {type(one) for one in (shallow, deep, pickled)} == {Stream}
    assert shallow is not stream
    assert shallow.items is stream.items
    assert deep.items is not stream.items
    with pytest.raises(TypeError, match="generator"):
        copy.deepcopy(Proxy(one for one in ()))
