"""What gates read is what a decorated function receives, whatever the library makes of a tool's input."""

import asyncio
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, Field

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.strands_ways import strands
from spanhook.hooks.approval import Approval
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.testing import recorder


class Money(BaseModel):
    amount: int = Field(1, validation_alias=AliasChoices("total", "amount"))


def _tool(ran: list[Any], sort: str) -> Any:
    def refund(amount: int, money: Money, currency: str = "usd") -> str:
        """Pay money back.

        Args:
            amount: How much.
            money: How much.
            currency: Of what.
        """
        ran.append((amount, money, currency))
        return f"paid {amount}"

    async def arefund(amount: int, money: Money, currency: str = "usd") -> str:
        """Pay money back."""
        await asyncio.sleep(0)
        return refund(amount, money, currency)

    async def steps(amount: int, money: Money, currency: str = "usd") -> Any:
        """Pay money back."""
        yield "paying"
        yield refund(amount, money, currency)

    return strands.tool(name="refund")({"sync": refund, "async": arefund, "steps": steps}[sort])


def _call(made: Any, arguments: dict[str, Any]) -> str:
    async def main() -> list[Any]:
        use = {"toolUseId": "call_1", "name": "refund", "input": arguments}
        return [event async for event in made.stream(use, {})]

    return repr(asyncio.run(main())[-1])


GIVEN = {"amount": "1000", "money": {"amount": 1, "total": 1000}}
SEEN = {"amount": 1000, "money": {"amount": 1000}, "currency": "usd"}
EITHER = pytest.mark.parametrize("awaits", [False, True])
EACH = pytest.mark.parametrize("sort", ["sync", "async", "steps"])


def _hook(hooks: Hooks, decide: Any, *, awaits: bool) -> list[Any]:
    looks: list[Any] = []

    def look(op: Operation) -> None:
        looks.append(op.request.arguments)
        if op.request.arguments["money"]["amount"] > 500:
            decide(op)

    async def alook(op: Operation) -> None:
        await asyncio.sleep(0)
        look(op)

    hooks.before("tool.execute")(alook if awaits else look)
    return looks


def _refuse(_op: Operation) -> None:
    raise Reject("too much")


@EITHER
@EACH
def test_a_gate_refuses_what_the_function_would_receive(sort: str, awaits: bool) -> None:
    ran: list[Any] = []
    looks = _hook(hooks := Hooks(), _refuse, awaits=awaits)
    with recorder(hooks) as seen, pytest.raises(Reject, match="too much"):
        _call(_tool(ran, sort), dict(GIVEN))
    assert ran == []
    assert looks == [GIVEN, SEEN]
    assert [(op.status, op.called) for op in seen.operations] == [("rejected", False)]


@EITHER
@EACH
def test_what_has_passed_is_what_arrives(sort: str, awaits: bool) -> None:
    ran: list[Any] = []
    looks = _hook(hooks := Hooks(), lambda op: None, awaits=awaits)
    with recorder(hooks) as seen:
        assert "paid 1000" in _call(_tool(ran, sort), dict(GIVEN))
    assert [(amount, currency) for amount, _, currency in ran] == [(1000, "usd")]
    assert looks == [GIVEN, SEEN]
    assert [op.request.arguments for op in seen.operations] == [SEEN]


@EITHER
@EACH
def test_a_rewrite_there_arrives(sort: str, awaits: bool) -> None:
    ran: list[Any] = []

    def cap(op: Operation) -> None:
        op.replace(arguments={"amount": 5, "money": {"amount": 5}, "currency": "eur"})

    _hook(hooks := Hooks(), cap, awaits=awaits)
    with recorder(hooks) as seen:
        assert "paid 5" in _call(_tool(ran, sort), dict(GIVEN))
    assert [(amount, currency) for amount, _, currency in ran] == [(5, "eur")]
    assert [[one.decision for one in op.decisions] for op in seen.operations] == [["modify"]]


@EITHER
@EACH
def test_an_answer_there(sort: str, awaits: bool) -> None:
    ran: list[Any] = []
    _hook(hooks := Hooks(), lambda op: op.respond("nothing to pay"), awaits=awaits)
    with recorder(hooks) as seen:
        assert "nothing to pay" in _call(_tool(ran, sort), dict(GIVEN))
    assert ran == []
    assert [(op.status, op.called) for op in seen.operations] == [("success", False)]


@EACH
def test_hooks_that_ask_or_count_act_once(sort: str) -> None:
    ran, approved = list[Any](), list[str]()
    hooks = Hooks(LoopGuard(max_tool_calls=1), Approval(ask=lambda request: approved.append(request.arguments) or True))
    with recorder(hooks):
        assert "paid 1000" in _call(_tool(ran, sort), dict(GIVEN))
    assert len(approved) == len(ran) == 1
    assert '"amount":1000' in approved[0]
