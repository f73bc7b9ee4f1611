"""tests/asleep.py: between tests a library is as it was, and hooks hold all the same in the next one."""

from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.tools import BaseTool, StructuredTool

import spanhook
from spanhook import Hooks, Reject
from tests import asleep


class Vectors(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0]]

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("*", priority=0)
    def refuse(op: spanhook.Operation) -> None:
        raise Reject(op.kind)

    return hooks


def standing() -> list[Any]:
    """What stands in a class of the library, and in one that overrides its method."""
    return [vars(BaseTool)["run"], vars(Vectors)["embed_query"]]


@pytest.mark.usefixtures("unbound")
def test_a_library_that_is_asleep_has_the_very_objects_that_were_there() -> None:
    functions = standing()
    codes = [one.__code__ for one in functions]
    with asleep.allowed():
        spanhook.instrument(refusing())
        wrappers = standing()
        assert not any(one is other for one, other in zip(wrappers, functions, strict=True))
        assert not any(one.__code__ is code for one, code in zip(functions, codes, strict=True))
        asleep.uninstrument()
        assert all(one is other for one, other in zip(standing(), functions, strict=True))
        assert all(one.__code__ is code for one, code in zip(functions, codes, strict=True))
        assert Vectors().embed_query("x") == [1.0]

        spanhook.instrument(refusing())
        assert all(one is other for one, other in zip(standing(), wrappers, strict=True))
        with pytest.raises(Reject):
            Vectors().embed_query("x")


@pytest.mark.usefixtures("unbound")
def test_what_appears_meanwhile_is_bound_too() -> None:
    with asleep.allowed():
        spanhook.instrument(refusing())

        class Before(Vectors):
            def embed_query(self, text: str) -> list[float]:
                return [2.0]

        asleep.uninstrument()

        class Meanwhile(Vectors):
            def embed_query(self, text: str) -> list[float]:
                return [3.0]

        assert (Before().embed_query("x"), Meanwhile().embed_query("x")) == ([2.0], [3.0])
        reference = Meanwhile().embed_query
        spanhook.instrument(refusing())
        for call in (Before().embed_query, Meanwhile().embed_query, reference):
            with pytest.raises(Reject):
                call("x")


@pytest.mark.usefixtures("unbound")
@pytest.mark.parametrize("asleep_when_changed", [True, False])
def test_what_was_changed_is_bound_as_it_is_now(monkeypatch: pytest.MonkeyPatch, asleep_when_changed: bool) -> None:
    def run(self: BaseTool, *_args: Any, **_kwargs: Any) -> str:
        return "changed"

    before = vars(BaseTool)["run"]
    tool = StructuredTool.from_function(lambda amount: amount, name="pay", description="Pay.")
    with asleep.allowed():
        spanhook.instrument(refusing())
        if not asleep_when_changed:
            monkeypatch.setattr(BaseTool, "run", run)
        asleep.uninstrument()
        if asleep_when_changed:
            monkeypatch.setattr(BaseTool, "run", run)
        assert tool.run({"amount": 1}) == "changed"
        spanhook.instrument(refusing())
        with pytest.raises(Reject):
            tool.run({"amount": 1})
        spanhook.uninstrument()
        assert tool.run({"amount": 1}) == "changed"
    if asleep_when_changed:
        monkeypatch.undo()
        assert vars(BaseTool)["run"] is before
