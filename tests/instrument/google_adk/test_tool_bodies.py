"""What gates read is what a tool's function receives, once the library has made models of the arguments."""

import asyncio
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, Field

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import context_of, tools
from spanhook.hooks.approval import Approval
from spanhook.testing import recorder


class Money(BaseModel):
    amount: int = Field(1, validation_alias=AliasChoices("total", "amount"))
    currency: str = "usd"


def _tool(ran: list[Any], *, confirmed: Any = False) -> Any:
    async def refund(money: Money, note: str = "") -> str:
        """Pay money back."""
        ran.append((money, note))
        return f"paid {money.amount}"

    return tools.FunctionTool(refund, require_confirmation=confirmed)


def _call(tool: Any, arguments: dict[str, Any], call_id: str = "") -> Any:
    async def main() -> Any:
        return await tool.run_async(args=arguments, tool_context=context_of(call_id))

    return asyncio.run(main())


BOTH_NAMES = {"money": {"amount": 1, "total": 1000}}


def test_a_gate_refuses_what_the_function_would_receive() -> None:
    ran, looks = list[Any](), list[Any]()
    hooks = Hooks()

    @hooks.before("tool.execute")
    async def look(op: Operation) -> None:
        await asyncio.sleep(0)
        looks.append(op.request.arguments)
        if op.request.arguments["money"]["amount"] > 500:
            raise Reject("too much")

    with recorder(hooks) as seen:
        with pytest.raises(Reject, match="too much"):
            _call(_tool(ran), dict(BOTH_NAMES))
        assert _call(_tool(ran), {"money": {"amount": 7, "currency": "usd"}}) == "paid 7"
    assert [money.amount for money, _ in ran] == [7]
    assert looks[:2] == [BOTH_NAMES, {"money": {"amount": 1000, "currency": "usd"}}]
    assert len(looks) == 3
    assert [op.status for op in seen.operations] == ["rejected", "success"]


def test_a_rewrite_there_arrives() -> None:
    ran: list[Any] = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def cap(op: Operation) -> None:
        money = op.request.arguments["money"]
        if money["amount"] > 500:
            op.replace(arguments={"money": {**money, "amount": 500}, "note": "capped"})

    with recorder(hooks) as seen:
        assert _call(_tool(ran), dict(BOTH_NAMES)) == "paid 500"
    assert ran == [(Money.model_validate({"amount": 500}), "capped")]
    assert [op.request.arguments["note"] for op in seen.operations] == ["capped"]


def test_an_answer_there() -> None:
    ran: list[Any] = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def answer(op: Operation) -> None:
        if op.request.arguments["money"]["amount"] > 500:
            op.respond("nothing to pay")

    with recorder(hooks):
        assert _call(_tool(ran), dict(BOTH_NAMES)) == "nothing to pay"
    assert ran == []


def test_hooks_that_ask_act_once_and_only_if_the_function_is_called() -> None:
    ran, approved = list[Any](), list[str]()
    with recorder(Hooks(Approval(ask=lambda request: approved.append(request.arguments) or True))):
        _call(_tool(ran), dict(BOTH_NAMES))
        assert approved == ['{"money":{"amount":1000,"currency":"usd"}}']
        _call(_tool(ran, confirmed=True), dict(BOTH_NAMES), "call_1")
    assert len(approved) == len(ran) == 1
