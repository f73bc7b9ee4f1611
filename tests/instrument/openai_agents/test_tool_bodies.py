"""What gates read is what a tool's function receives, whatever the SDK makes of the arguments that a model wrote."""

import asyncio
import functools
import json
from decimal import Decimal
from typing import Any

import pytest
from agents import FunctionTool, function_tool
from agents.tool_context import ToolContext
from pydantic import BaseModel, Field
from pydantic_core import core_schema

from spanhook import Hooks, Operation, Reject
from spanhook.hooks.approval import Approval
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.testing import recorder

validated: list[Any] = []


def _cents(value: Any) -> Any:
    validated.append(value)
    return value * 100 if value < 100 else value


class Cents(int):
    """Which versions of the SDK keep that leave out what is in ``Annotated``."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.no_info_before_validator_function(_cents, core_schema.int_schema())


class Order(BaseModel):
    item: str
    amount: Decimal = Field(Decimal(1), alias="total")


def _tool(ran: list[Any], *, is_async: bool = True) -> FunctionTool:
    def refund(amount: Cents, currency: str = "usd") -> str:
        """Pay money back."""
        ran.append((amount, currency))
        return f"paid {amount}"

    async def arefund(amount: Cents, currency: str = "usd") -> str:
        """Pay money back."""
        await asyncio.sleep(0)
        return refund(amount, currency)

    return function_tool(arefund if is_async else refund, strict_mode=False, name_override="refund")


def _order(ran: list[Any]) -> FunctionTool:
    def order(order: Order, *more: str, **others: int) -> str:
        """Order."""
        ran.append(order)
        return "ordered"

    return function_tool(order, strict_mode=False)


def _call(tool: FunctionTool, arguments: dict[str, Any]) -> Any:
    given = json.dumps(arguments)
    context: Any = ToolContext(context=None, tool_name=tool.name, tool_call_id="call_1", tool_arguments=given)

    async def main() -> Any:
        return await tool.on_invoke_tool(context, given)

    return asyncio.run(main())


EITHER = pytest.mark.parametrize("awaits", [False, True])


def _hook(hooks: Hooks, decide: Any, *, awaits: bool) -> list[Any]:
    looks: list[Any] = []

    async def alook(op: Operation) -> None:
        await asyncio.sleep(0)
        look(op)

    def look(op: Operation) -> None:
        looks.append(op.request.arguments)
        decide(op)

    hooks.before("tool.execute")(alook if awaits else look)
    return looks


@pytest.mark.parametrize("is_async", [False, True])
@EITHER
def test_a_gate_refuses_what_the_function_would_receive(awaits: bool, is_async: bool) -> None:
    ran: list[Any] = []

    def decide(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            raise Reject("too much")

    looks = _hook(hooks := Hooks(), decide, awaits=awaits)
    with recorder(hooks) as seen:
        told = _call(_tool(ran, is_async=is_async), {"amount": 10})
    assert ran == []
    assert told == "Tool call rejected: too much"
    assert looks == [{"amount": 10}, {"amount": 1000, "currency": "usd"}]
    assert [(op.status, op.called) for op in seen.operations] == [("rejected", False)]


@EITHER
def test_what_has_passed_is_what_arrives(awaits: bool) -> None:
    ran: list[Any] = []
    looks = _hook(hooks := Hooks(), lambda op: None, awaits=awaits)
    validated.clear()
    with recorder(hooks) as seen:
        assert _call(_tool(ran), {"amount": 10}) == "paid 1000"
        assert len(validated) == 1 + awaits
        assert _call(_tool(ran), {"amount": 1000, "currency": "usd"}) == "paid 1000"
        assert len(validated) == 2 + awaits
    assert ran == [(1000, "usd")] * 2
    assert len(looks) == 3
    assert [op.request.arguments["amount"] for op in seen.operations] == [1000, 1000]


@EITHER
def test_a_rewrite_there_arrives(awaits: bool) -> None:
    ran: list[Any] = []

    def decide(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            op.replace(arguments={"amount": 500, "currency": "eur"})

    looks = _hook(hooks := Hooks(), decide, awaits=awaits)
    with recorder(hooks) as seen:
        assert _call(_tool(ran), {"amount": 10}) == "paid 500"
    assert ran == [(500, "eur")]
    assert len(looks) == 2
    assert [op.request.arguments for op in seen.operations] == [{"amount": 500, "currency": "eur"}]


@EITHER
def test_an_answer_there(awaits: bool) -> None:
    ran: list[Any] = []

    def decide(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            op.respond("nothing to pay")

    _hook(hooks := Hooks(), decide, awaits=awaits)
    with recorder(hooks) as seen:
        assert _call(_tool(ran), {"amount": 10}) == "nothing to pay"
    assert ran == []
    assert [(op.status, op.called) for op in seen.operations] == [("success", False)]


def test_hooks_that_ask_or_count_act_once() -> None:
    ran, approved = list[Any](), list[str]()
    hooks = Hooks(LoopGuard(max_tool_calls=2), Approval(ask=lambda request: approved.append(request.arguments) or True))
    with recorder(hooks):
        _call(_tool(ran), {"amount": 10})
        _call(_tool(ran), {"amount": 700, "currency": "usd"})
    assert approved == ['{"amount":1000,"currency":"usd"}', '{"amount":700,"currency":"usd"}']
    assert len(ran) == 2


def test_numbers_and_models_are_read_as_they_are() -> None:
    ran: list[Any] = []
    looks = _hook(hooks := Hooks(), lambda op: None, awaits=False)
    with recorder(hooks):
        _call(_order(ran), {"order": {"item": "tea", "total": 9}})
    assert looks == [{"order": {"item": "tea", "total": 9}}, {"order": {"item": "tea", "amount": Decimal(9)}}]
    assert ran == [Order(item="tea", total=Decimal(9))]


def test_arguments_that_do_not_pass_reach_nobody() -> None:
    approved: list[Any] = []
    with recorder(Hooks(Approval(ask=lambda request: approved.append(request) or True))):
        told = _call(_tool([]), {"amount": 10, "currency": {}})
    assert "error" in told.lower()
    assert approved == []


def test_a_function_that_stands_for_the_sdks_is_asked_about_at_the_border() -> None:
    ran, approved = list[Any](), list[str]()
    tool = _tool(ran)

    @functools.wraps(tool.on_invoke_tool)
    async def shortcut(_context: Any, given: str) -> str:
        ran.append(given)
        return "paid"

    tool.on_invoke_tool = shortcut

    def ask(request: Any) -> bool:
        approved.append(request.arguments)
        return False

    with recorder(Hooks(Approval(ask=ask))):
        assert "rejected" in _call(tool, {"amount": 11})
    assert (approved, ran) == (['{"amount":11}'], [])
