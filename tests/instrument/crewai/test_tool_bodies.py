"""What gates read is what a tool's code receives, whatever the tool's schema makes of the arguments."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, Field

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.crewai_ways import _structured, _tools  # pyright: ignore[reportPrivateUsage]
from spanhook.hooks.approval import Approval
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.testing import recorder


class Schema(BaseModel):
    amount: int = Field(1, validation_alias=AliasChoices("total", "amount"))
    currency: str = "usd"


def _own(ran: list[Any]) -> Any:
    class Refund(_tools.BaseTool):
        name: str = "refund"
        description: str = "Pay money back."
        args_schema: type[BaseModel] = Schema

        def _run(self, amount: int, currency: str) -> str:
            ran.append((amount, currency))
            return f"paid {amount}"

        async def _arun(self, amount: int, currency: str) -> str:
            return self._run(amount, currency)

    return Refund()


Made = tuple[Callable[[list[Any]], Any], Callable[[Any, dict[str, Any]], Any]]
WAYS: dict[str, Made] = {
    "run": (_own, lambda made, given: made.run(**given)),
    "arun": (_own, lambda made, given: asyncio.run(made.arun(**given))),
    "invoke": (lambda ran: _own(ran).to_structured_tool(), lambda made, given: made.invoke(given)),
    "ainvoke": (lambda ran: _own(ran).to_structured_tool(), lambda made, given: asyncio.run(made.ainvoke(given))),
}
EACH = pytest.mark.parametrize("way", WAYS)
EITHER = pytest.mark.parametrize("awaits", [False, True])
BOTH_NAMES = {"amount": 1, "total": 1000}


def _hook(hooks: Hooks, decide: Any, *, awaits: bool) -> list[Any]:
    looks: list[Any] = []

    def look(op: Operation) -> None:
        looks.append(op.request.arguments)
        decide(op)

    async def alook(op: Operation) -> None:
        await asyncio.sleep(0)
        look(op)

    hooks.before("tool.execute")(alook if awaits else look)
    return looks


@EITHER
@EACH
def test_a_gate_refuses_what_the_code_would_receive(way: str, awaits: bool) -> None:
    ran: list[Any] = []

    def decide(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            raise Reject("too much")

    looks = _hook(hooks := Hooks(), decide, awaits=awaits)
    make, call = WAYS[way]
    with recorder(hooks) as seen, pytest.raises(Exception, match="too much"):
        call(make(ran), dict(BOTH_NAMES))
    assert ran == []
    assert looks == [BOTH_NAMES, {"amount": 1000, "currency": "usd"}]
    assert [(op.status, op.called) for op in seen.operations] == [("rejected", False)]


@EITHER
@EACH
def test_a_rewrite_there_arrives(way: str, awaits: bool) -> None:
    ran: list[Any] = []

    def decide(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            op.replace(arguments={"amount": 500, "currency": "eur"})

    _hook(hooks := Hooks(), decide, awaits=awaits)
    make, call = WAYS[way]
    with recorder(hooks) as seen:
        assert call(make(ran), dict(BOTH_NAMES)) == "paid 500"
    assert ran == [(500, "eur")]
    assert [op.request.arguments for op in seen.operations] == [{"amount": 500, "currency": "eur"}]


@EITHER
@EACH
def test_an_answer_there(way: str, awaits: bool) -> None:
    ran: list[Any] = []

    def decide(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            op.respond("nothing to pay")

    _hook(hooks := Hooks(), decide, awaits=awaits)
    make, call = WAYS[way]
    with recorder(hooks):
        assert call(make(ran), dict(BOTH_NAMES)) == "nothing to pay"
    assert ran == []


@EACH
def test_hooks_that_ask_or_count_act_once(way: str) -> None:
    ran, approved = list[Any](), list[str]()
    hooks = Hooks(LoopGuard(max_tool_calls=1), Approval(ask=lambda request: approved.append(request.arguments) or True))
    make, call = WAYS[way]
    with recorder(hooks):
        call(make(ran), dict(BOTH_NAMES))
    assert approved == ['{"amount":1000,"currency":"usd"}']
    assert ran == [(1000, "usd")]


def test_a_function_that_is_made_a_tool() -> None:
    ran: list[Any] = []

    @_tools.tool("refund")
    def refund(amount: int) -> str:
        """Pay money back."""
        ran.append(amount)
        return "paid"

    def pay(amount: int) -> str:
        """Pay money back."""
        ran.append(amount)
        return "paid"

    looks = _hook(hooks := Hooks(), lambda op: None, awaits=False)
    with recorder(hooks):
        refund.run(amount="7")
        refund.run(8)
        _structured.CrewStructuredTool.from_function(pay, name="pay", description="Pay.").invoke({"amount": "9"})
    assert looks == [{"amount": "7"}, {"amount": 7}, {"amount": 8}, {"amount": "9"}, {"amount": 9}]
    assert ran == [7, 8, 9]
