"""Output functions: what a model's final answer is given to."""

from typing import Any

import pytest
from pydantic_ai import Agent, TextOutput

from spanhook import Hooks, Operation, Reject
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import go, iterated, refusing, run, scripted, told

ways = pytest.mark.parametrize("way", [run, iterated])
"""Those in which a function is called once: streams call it for each part of an answer."""


def _paying(paid: list[Any]) -> Agent[Any, Any]:
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    return Agent(scripted(None, [("final_result", {"amount": 3})]), name="helper", output_type=pay)


def _telling(told_it: list[Any]) -> Agent[Any, Any]:
    def tell(text: str) -> str:
        """Tell it."""
        told_it.append(text)
        return text.upper()

    return Agent(scripted(None, "hello"), name="helper", output_type=TextOutput(tell))


@ways
def test_one_operation_each(way: Any) -> None:
    with recorder() as seen:
        assert go(way, _paying([])) == "paid 3"
        assert go(way, _telling([])) == "HELLO"
    tools = [one for one in told(seen) if one[0] == "tool.execute"]
    assert tools == [("tool.execute", "final_result", "success"), ("tool.execute", "tell", "success")]


@pytest.mark.parametrize("make", [_paying, _telling])
@ways
def test_a_refused_one_ends_the_run(way: Any, make: Any) -> None:
    given: list[Any] = []
    with recorder(refusing("tool.execute")), pytest.raises(Reject, match="not now"):
        go(way, make(given))
    assert given == []


@ways
def test_rewritten_arguments(way: Any) -> None:
    hooks, paid = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def less(op: Operation) -> None:
        op.replace(arguments={"amount": 1})

    with recorder(hooks):
        assert go(way, _paying(paid)) == "paid 1"
    assert paid == [1]


@ways
def test_answered(way: Any) -> None:
    hooks, paid = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def answer(op: Operation) -> None:
        op.respond("nothing was paid")

    with recorder(hooks):
        assert go(way, _paying(paid)) == "nothing was paid"
    assert paid == []
