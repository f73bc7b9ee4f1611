"""What gates read is what the function of a server's tool receives, whatever the server makes of the arguments."""

from collections.abc import Callable
from typing import Annotated, Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel, BeforeValidator, Field

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.mcp_servers import memory
from spanhook.cli.conformance.libraries.mcp_versions import tool_server
from spanhook.hooks.approval import Approval
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.testing import recorder
from tests.instrument.mcp.parts import LEAKS, asked, greeted, run

pytestmark = LEAKS

Cents = Annotated[int, BeforeValidator(lambda value: value * 100 if value < 100 else value)]


class Order(BaseModel):
    item: str
    amount: int = Field(1, alias="total")


def _server(ran: list[Any], *, is_async: bool) -> Any:
    server = tool_server("shop")

    def refund(amount: Cents, currency: str = "usd") -> str:
        """Pay money back."""
        ran.append((amount, currency))
        return f"paid {amount}"

    async def arefund(amount: Cents, currency: str = "usd") -> str:
        """Pay money back."""
        await anyio.lowlevel.checkpoint()
        return refund(amount, currency)

    def order(order: Order) -> str:
        """Order."""
        ran.append(order.amount)
        return "ordered"

    server.tool(name="refund")(arefund if is_async else refund)
    server.tool()(order)
    return server


def _asked(server: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        async with memory(server) as exchange:
            await greeted(exchange)
            return await asked(exchange, "tools/call", 1, name=name, arguments=arguments)

    return run(main)


def _failed(told: dict[str, Any]) -> bool:
    return bool(told["result"]["isError"])


def _called(server: Any, name: str, arguments: dict[str, Any]) -> Any:
    async def main() -> Any:
        return await server.call_tool(name, arguments)

    return run(main)


WAYS: tuple[Callable[[Any, str, dict[str, Any]], Any], ...] = (_asked, _called)
EITHER = pytest.mark.parametrize("is_async", [False, True])
BOTH = pytest.mark.parametrize("way", WAYS)


@EITHER
@BOTH
def test_a_gate_refuses_what_the_function_would_receive(way: Any, is_async: bool) -> None:
    ran, looks = list[Any](), list[Any]()
    hooks = Hooks()

    @hooks.before("tool.execute")
    async def look(op: Operation) -> None:
        await anyio.lowlevel.checkpoint()
        looks.append(op.request.arguments)
        if op.request.arguments["amount"] > 500:
            raise Reject("too much")

    with recorder(hooks) as seen:
        if way is _asked:
            assert _failed(_asked(_server(ran, is_async=is_async), "refund", {"amount": 10}))
        else:
            with pytest.raises(Exception, match="too much"):
                _called(_server(ran, is_async=is_async), "refund", {"amount": 10})
    assert ran == []
    assert looks == [{"amount": 10}, {"amount": 1000, "currency": "usd"}]
    assert [(op.status, op.called) for op in seen.operations] == [("rejected", False)]


@EITHER
@BOTH
def test_a_rewrite_there_arrives(way: Any, is_async: bool) -> None:
    ran: list[Any] = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def cap(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            op.replace(arguments={"amount": 500, "currency": "eur"})

    with recorder(hooks) as seen:
        way(_server(ran, is_async=is_async), "refund", {"amount": 10})
    assert ran == [(500, "eur")]
    assert [op.request.arguments for op in seen.operations] == [{"amount": 500, "currency": "eur"}]


@BOTH
def test_an_answer_there(way: Any) -> None:
    ran: list[Any] = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def answer(op: Operation) -> None:
        if op.request.arguments["amount"] > 500:
            op.respond("nothing to pay")

    with recorder(hooks):
        assert "nothing to pay" in repr(way(_server(ran, is_async=False), "refund", {"amount": 10}))
    assert ran == []


@EITHER
@BOTH
def test_hooks_that_ask_or_count_act_once(way: Any, is_async: bool) -> None:
    ran, approved = list[Any](), list[str]()
    hooks = Hooks(LoopGuard(max_tool_calls=1), Approval(ask=lambda request: approved.append(request.arguments) or True))
    with recorder(hooks):
        way(_server(ran, is_async=is_async), "refund", {"amount": 10})
    assert approved == ['{"amount":1000,"currency":"usd"}']
    assert ran == [(1000, "usd")]


@BOTH
def test_models_are_read_as_data(way: Any) -> None:
    ran, looks = list[Any](), list[Any]()
    hooks = Hooks()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        looks.append(op.request.arguments)

    with recorder(hooks):
        way(_server(ran, is_async=False), "order", {"order": {"item": "tea", "total": 9}})
        way(_server(ran, is_async=False), "order", {"order": '{"item": "tea"}'})
    assert looks[1] == {"order": {"item": "tea", "amount": 9}}
    assert looks[3] == {"order": {"item": "tea", "amount": 1}}
    assert ran == [9, 1]


def test_arguments_that_do_not_pass_reach_nobody() -> None:
    approved: list[Any] = []
    with recorder(Hooks(Approval(ask=lambda request: approved.append(request) or True))):
        told = _asked(_server([], is_async=False), "refund", {"amount": 10, "currency": 5})
    assert _failed(told)
    assert approved == []
