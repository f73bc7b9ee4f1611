"""What hooks see of a tool's arguments, however these are passed, and what becomes of a rewrite."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.crewai_ways import BaseTool, StructuredTool


class Asked(BaseModel):
    limit: int
    query: str


class Ordered(BaseTool):  # pyright: ignore[reportUntypedBaseClass]
    """A tool whose schema has another order than its function."""

    name: str = "ordered"
    description: str = "Look something up."
    args_schema: type[BaseModel] = Asked

    def _run(self, query: str, limit: int) -> str:
        return f"{query} {limit}"


class Unnamed(BaseTool):  # pyright: ignore[reportUntypedBaseClass]
    name: str = "unnamed"
    description: str = "Look something up."

    def _run(self, *texts: str) -> str:
        return " ".join(texts)


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()


def test_positions_have_the_names_of_the_function(hooks: Hooks) -> None:
    seen: list[Any] = []

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)
        op.replace(arguments={**op.request.arguments, "limit": 5})

    spanhook.instrument(hooks)
    assert Ordered().run("tea", 3) == "tea 5"
    assert seen == [{"query": "tea", "limit": 3}]


def test_positions_without_names_are_seen_and_not_rewritten(hooks: Hooks) -> None:
    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        if "poison" in op.request.arguments.values():
            raise Reject("Not today")
        if "coffee" in op.request.arguments.values():
            op.replace(arguments={"0": "tea"})

    spanhook.instrument(hooks)
    assert Unnamed().run("tea", "leaves") == "tea leaves"
    with pytest.raises(Reject, match="Not today"):
        Unnamed().run("tea", "poison")
    with pytest.raises(Reject, match="ValueError"):
        Unnamed().run("coffee")


class Query(BaseModel):
    query: str


def look_up(query: str, amount: int = 1) -> str:
    """Look something up."""
    return f"{query} {amount}"


def test_what_is_passed_beside_the_input_is_seen_and_rewritten(hooks: Hooks) -> None:
    seen: list[Any] = []

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)
        op.replace(arguments={"query": "coffee", "amount": 2})

    spanhook.instrument(hooks)
    made = StructuredTool(name="look_up", description="Look something up.", func=look_up, args_schema=Query)
    assert made.invoke({"query": "tea"}, amount=100) == "coffee 2"
    assert seen == [{"query": "tea", "amount": 100}]
