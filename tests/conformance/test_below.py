"""Classes below the points, however they are made: what they override is gated from the first instance on."""

import copy
import functools
import gc
import inspect
import pickle
import threading
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool
from openai import OpenAI

import spanhook
from spanhook import Hooks, Reject
from spanhook.cli.conformance.libraries.langchain_core import (
    ScriptedChat,
    ScriptedEmbeddings,
    ScriptedRetriever,
    ScriptedText,
)
from spanhook.cli.conformance.libraries.langgraph import OuterStore
from spanhook.cli.conformance.subject import Body, settle
from spanhook.instrument._wrapping import Wrapper
from spanhook.model import Point
from spanhook.testing import recorder
from tests.conformance.points import PLACES, Place, place_named
from tests.conformance.test_denied import expect_refused, refusing

BELOW = [place for place in PLACES if isinstance(place.entry, Point) and place.entry.overrides]


class Silent:
    """A mixin whose `__init_subclass__` does not call `super()`, as many do not."""

    def __init_subclass__(cls, **_kwargs: Any) -> None:
        pass


def below(base: Any) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Ways to make a class below ``base`` of which nobody is told, given what is in it."""

    def made(bases: tuple[Any, ...]) -> Callable[[dict[str, Any]], Any]:
        return lambda namespace: type(base)("Late", bases, {"__module__": __name__, **namespace})

    def silent(_cls: Any, **_kwargs: Any) -> None:
        pass

    class_of = type(base)
    own = class_of("Own", (base,), {"__module__": __name__, "__init_subclass__": classmethod(silent)})
    under = class_of("Under", (own,), {"__module__": __name__})
    return {
        "plain": made((base,)),
        "below one": made((own,)),
        "far below one": made((under,)),
        "beside a mixin": made((Silent, base)),
        "both": made((Silent, under)),
    }


WAYS = ("plain", "below one", "far below one", "beside a mixin", "both")


@pytest.mark.filterwarnings("ignore::FutureWarning")  # libraries warn of classes that they may still change
@pytest.mark.parametrize("place", BELOW, ids=place_named)
def test_every_point_is_bound_in_classes_below(place: Place) -> None:
    def late(make: Callable[[dict[str, Any]], Any]) -> Any:
        def override(self: Any, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError

        return make({place.name: override, "__del__": lambda _self: None})  # which finds nothing of what __init__ makes

    earlier = below(place.owner)
    made = {f"{way}, before": late(earlier[way]) for way in WAYS}
    overrides = {name: vars(cls)[place.name] for name, cls in made.items()}
    codes = {name: override.__code__ for name, override in overrides.items()}
    spanhook.instrument()
    made |= {f"{way}, between": late(earlier[way]) for way in WAYS}
    made |= {f"{way}, after": late(below(place.owner)[way]) for way in WAYS}
    for cls in made.values():
        cls.__abstractmethods__ = frozenset()
        cls.__new__(cls)
    assert [name for name, cls in made.items() if type(vars(cls)[place.name]) is not Wrapper] == []
    spanhook.uninstrument()
    assert [name for name, cls in made.items() if type(vars(cls)[place.name]) is not FunctionType] == []
    assert {name: vars(made[name])[place.name] for name in overrides} == overrides
    assert {name: override.__code__ for name, override in overrides.items()} == codes


# --------------------------------------------------------------------------------------- how instances come about


def chat() -> type[Any]:
    class Own(ScriptedChat):
        def __init_subclass__(cls, **_kwargs: Any) -> None:
            pass

    class Late(Own):
        def generate(self, *args: Any, **kwargs: Any) -> Any:
            self.body.run(args)
            return super().generate(*args, **kwargs)

    Late.__qualname__ = "Late"
    globals()["Late"] = Late  # for pickle to find
    return Late


BIRTHS: dict[str, Callable[[Any], Any]] = {
    "called": lambda cls: cls(body=None),
    "constructed": lambda cls: cls.model_construct(body=None, model_name="m"),
    "validated": lambda cls: cls.model_validate({"body": None}),
    "pickled": lambda cls: pickle.loads(pickle.dumps(cls(body=None))),
    "copied": lambda cls: copy.copy(cls(body=None)),
    "deeply copied": lambda cls: copy.deepcopy(cls(body=None)),
    "model copy": lambda cls: cls(body=None).model_copy(),
}


@pytest.mark.parametrize("birth", BIRTHS)
def test_instances_that_go_around_the_constructor(birth: str) -> None:
    body = Body()
    with recorder(refusing("llm.call")):
        one = BIRTHS[birth](chat())
        one.body = body
        expect_refused(lambda: one.invoke("hi"))
    assert body.runs == 0
    with recorder() as seen:
        assert one.invoke("hi").content
    assert len(seen.operations) == 1


@pytest.mark.parametrize("birth", ["pickled", "copied", "deeply copied", "model copy"])
def test_instances_made_of_those_that_were_there(birth: str) -> None:
    body = Body()
    cls = chat()
    kept = cls(body=None)
    dumped = pickle.dumps(kept)
    copies: dict[str, Callable[[], Any]] = {
        "pickled": lambda: pickle.loads(dumped),
        "copied": lambda: copy.copy(kept),
        "deeply copied": lambda: copy.deepcopy(kept),
        "model copy": kept.model_copy,
    }
    with recorder(refusing("llm.call")):
        for one in (kept, copies[birth]()):
            one.body = body
            expect_refused(lambda one=one: one.invoke("hi"))
    assert body.runs == 0


def counting(name: str) -> Any:
    """An override that counts itself, and calls what it overrides."""

    def override(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.body.run(args)
        return getattr(super(type(self), self), name)(*args, **kwargs)

    return override


LATE: dict[str, tuple[type[Any], str, str, Callable[[Any, Body], Any], Callable[[Any], Any]]] = {
    "text": (
        ScriptedText,
        "generate",
        "llm.call",
        lambda cls, body: cls(body=body),
        lambda model: model.invoke("hi"),
    ),
    "retriever": (
        ScriptedRetriever,
        "invoke",
        "retrieval.query",
        lambda cls, body: cls(body=body),
        lambda retriever: retriever.invoke("x"),
    ),
    "embeddings": (
        ScriptedEmbeddings,
        "embed_query",
        "embeddings.create",
        lambda cls, body: cls(body),
        lambda embeddings: embeddings.embed_query("x"),
    ),
    "store": (
        OuterStore,
        "put",
        "memory.store",
        lambda cls, body: _with_body(cls(OuterStore(_store())), body),
        lambda store: store.put(("notes",), "k", {"what": "tea"}),
    ),
}


def _store() -> Any:
    from langgraph.store.memory import InMemoryStore

    return InMemoryStore()


def _with_body(thing: Any, body: Body) -> Any:
    thing.body = body
    return thing


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LATE)
def test_what_they_override_is_refused_and_counted_once(name: str, way: str) -> None:
    base, method, kind, make, use = LATE[name]
    body = Body()
    with recorder(refusing(kind)):
        thing = make(below(base)[way]({method: counting(method)}), body)
        expect_refused(lambda: use(thing))
    assert body.runs == 0
    with recorder() as seen:
        settle(use(thing))
    assert [op.kind for op in seen.operations] == [kind]
    assert body.runs >= 1


def test_signatures_of_classes_and_rules_of_their_constructors_stay() -> None:
    Store: Any = OuterStore

    class Empty(Store):
        __init__: Any = object.__init__

    class Given(Store):
        def __new__(cls, inner: Any) -> Any:
            return super().__new__(cls)

    class Single(Store):
        made: Any = None

        def __new__(cls, *args: Any) -> Any:
            cls.made = cls.made or object.__new__(cls)
            return cls.made

    classes: tuple[Any, ...] = (OuterStore, Given, Single, Empty, ScriptedChat, ScriptedEmbeddings, OpenAI, BaseTool)
    before = [inspect.signature(cls) for cls in classes]
    for _ in range(2):
        spanhook.instrument()
        assert [inspect.signature(cls) for cls in classes] == before
        assert [cls(1).inner for cls in classes[:3]] == [1, 1, 1]
        assert Single(2) is Single(1)
        with pytest.raises(TypeError):
            Empty(1)
        with pytest.raises(TypeError, match="abstract"):
            BaseTool(name="x", description="y")  # pyright: ignore[reportAbstractUsage]
        spanhook.uninstrument()
        assert [inspect.signature(cls) for cls in classes] == before
        assert [cls(1).inner for cls in classes[:3]] == [1, 1, 1]
        with pytest.raises(TypeError):
            Empty(1)


def test_methods_that_are_set_before_the_first_instance() -> None:
    def refuse_less(cls: Any) -> Any:
        cls.embed_query = counting("embed_query")
        return cls

    class Setting:
        def __init_subclass__(cls) -> None:
            super().__init_subclass__()
            cls.embed_query = counting("embed_query")  # pyright: ignore[reportAttributeAccessIssue]

    body = Body()
    with recorder(refusing("embeddings.create")):

        @refuse_less
        class Decorated(ScriptedEmbeddings):
            def embed_query(self, text: str) -> list[float]:
                return []

        class Set(Setting, ScriptedEmbeddings):
            pass

        for cls in (Decorated, Set):
            expect_refused(lambda cls=cls: cls(body).embed_query("x"))
    assert body.runs == 0


def test_a_class_whose_own_new_goes_around_the_base() -> None:
    Parent: Any = ScriptedEmbeddings

    class Own(Parent):
        def __init_subclass__(cls) -> None:
            pass

    body = Body()
    with recorder(refusing("embeddings.create")):

        class Late(Own):
            def __new__(cls, *_args: Any) -> Any:
                return object.__new__(cls)

            embed_query = counting("embed_query")

        expect_refused(lambda: Late(body).embed_query("x"))
    assert body.runs == 0


def test_what_an_instance_has_in_place_of_a_method_leads_to_the_gate() -> None:
    body = Body()
    one: Any = ScriptedEmbeddings(body)
    one.embed_query = functools.partial(one.embed_query)  # as caches and retries are put around
    with recorder(refusing("embeddings.create")):
        expect_refused(lambda: one.embed_query("x"))
    assert body.runs == 0


# ----------------------------------------------------------------------------------------------- many of them


def _made(number: int) -> Any:
    class Late(ScriptedEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            return super().embed_query(text)

    Late.__name__ = f"Late{number}"
    return Late


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_classes_made_for_one_request_are_freed(count: int) -> None:
    spanhook.instrument()
    for number in range(20):  # what is made once for good
        settle(_made(number)(Body()).embed_query("x"))
    gc.collect()
    before = len(gc.get_objects())
    gone: list[weakref.ref[Any]] = []
    for number in range(count):
        cls = _made(number)
        settle(cls(Body()).embed_query("x"))
        gone.append(weakref.ref(cls))
        del cls
        if number % 500 == 0:
            gc.collect()
    gc.collect()
    assert not [one for one in gone if one() is not None]
    gone.clear()
    gc.collect()
    assert len(gc.get_objects()) <= before + 50


def test_threads_that_make_classes_while_others_instrument() -> None:
    body, made, errors = Body(), list[Any](), list[BaseException]()
    start = threading.Barrier(5)

    def make() -> None:
        start.wait(60.0)
        try:
            for number in range(40):
                made.append(_made(number))
                made[-1](body)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    start.wait(60.0)
    with recorder(refusing("embeddings.create")):
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(made) == 160
        for cls in made:
            with pytest.raises(Reject):
                cls(body).embed_query("x")
    assert body.runs == 0
    assert all("embed_query" in vars(cls) and not hasattr(vars(cls)["embed_query"], "_self_point") for cls in made)


@pytest.mark.parametrize("own", [False, True], ids=["LangChain's run", "a run of its own"])
def test_arguments_are_printed_only_where_a_call_may_go_on_in_another(own: bool) -> None:
    """Printing them takes as long as they are: what LangChain does of it is all there is."""

    class Table:
        printed = 0

        def __repr__(self) -> str:
            Table.printed += 1
            return "a long table"

    def count(table: Any) -> str:
        """Count rows."""
        return "3"

    class Own(StructuredTool):
        def run(self, *args: Any, **kwargs: Any) -> Any:
            return super().run(*args, **kwargs)

    tool = (Own if own else StructuredTool).from_function(count)
    table = Table()
    tool.invoke({"table": table})
    without, Table.printed = Table.printed, 0
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: None)
    with recorder(hooks) as seen:
        assert tool.invoke({"table": table}) == "3"
    assert len(seen.operations) == 1
    assert (Table.printed > without) is own
