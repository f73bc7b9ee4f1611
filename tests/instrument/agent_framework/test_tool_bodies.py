"""What gates read is what a tool's function receives, whatever the library makes of the arguments."""

import asyncio
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, Field

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import framework
from spanhook.hooks.approval import Approval
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.testing import recorder

pytestmark = pytest.mark.skipif(
    not hasattr(framework.FunctionTool, "_invoke_function"),
    reason="older versions call the function where nothing stands between it and their validation",
)


class Money(BaseModel):
    amount: int = Field(1, validation_alias=AliasChoices("total", "amount"))


def _tool(ran: list[Any], *, is_async: bool) -> Any:
    def refund(money: Money, note: str = "") -> str:
        """Pay money back."""
        ran.append((money, note))
        return "paid"

    async def arefund(money: Money, note: str = "") -> str:
        """Pay money back."""
        await asyncio.sleep(0)
        return refund(money, note)

    return framework.tool(name="refund", approval_mode="never_require")(arefund if is_async else refund)


def _call(made: Any, arguments: dict[str, Any]) -> str:
    async def main() -> Any:
        return await made.invoke(arguments=arguments)

    return repr([getattr(one, "text", one) for one in asyncio.run(main())])


GIVEN = {"money": {"amount": 1, "total": 1000}}
EITHER = pytest.mark.parametrize("is_async", [False, True])


def _hook(hooks: Hooks, decide: Any) -> list[Any]:
    looks: list[Any] = []

    @hooks.before("tool.execute")
    async def look(op: Operation) -> None:
        await asyncio.sleep(0)
        looks.append(op.request.arguments)
        if op.request.arguments["money"]["amount"] > 500:
            decide(op)

    return looks


def _refuse(_op: Operation) -> None:
    raise Reject("too much")


@EITHER
def test_a_gate_refuses_what_the_function_would_receive(is_async: bool) -> None:
    ran: list[Any] = []
    looks = _hook(hooks := Hooks(), _refuse)
    with recorder(hooks) as seen, pytest.raises(Reject, match="too much"):
        _call(_tool(ran, is_async=is_async), dict(GIVEN))
    assert ran == []
    assert looks[0] == GIVEN
    assert looks[1]["money"] == {"amount": 1000}
    assert [(op.status, op.called) for op in seen.operations] == [("rejected", False)]


@EITHER
def test_a_rewrite_there_arrives(is_async: bool) -> None:
    ran: list[Any] = []
    _hook(hooks := Hooks(), lambda op: op.replace(arguments={"money": {"amount": 500}, "note": "capped"}))
    with recorder(hooks) as seen:
        assert "paid" in _call(_tool(ran, is_async=is_async), dict(GIVEN))
    assert [note for _, note in ran] == ["capped"]
    assert "500" in repr(ran)
    assert len(seen.operations) == 1


@EITHER
def test_an_answer_there(is_async: bool) -> None:
    ran: list[Any] = []
    _hook(hooks := Hooks(), lambda op: op.respond("nothing to pay"))
    with recorder(hooks):
        assert "nothing to pay" in _call(_tool(ran, is_async=is_async), dict(GIVEN))
    assert ran == []


@EITHER
def test_hooks_that_ask_or_count_act_once(is_async: bool) -> None:
    ran, approved = list[Any](), list[str]()
    hooks = Hooks(LoopGuard(max_tool_calls=1), Approval(ask=lambda request: approved.append(request.arguments) or True))
    with recorder(hooks):
        _call(_tool(ran, is_async=is_async), dict(GIVEN))
    assert len(ran) == 1
    assert approved == ['{"money":{"amount":1000}}']
