"""Operations of own code, made the way users make them. Type-checked and never run, so that their types stay."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import ExitStack
from typing import Any, assert_type

import spanhook
from spanhook import Operation, OperationError, OwnOperation, SpanhookError

# ----------------------------------------------------------------------------------------------- functions


@spanhook.tool
def search(query: str, limit: int = 3) -> list[str]:
    return [query] * limit


@spanhook.tool("refund")
async def pay_back(amount: int) -> str:
    return f"paid {amount}"


@spanhook.agent
def research(question: str) -> Iterator[str]:
    yield question


@spanhook.agent("researcher")
async def aresearch(question: str) -> AsyncIterator[str]:
    yield question


@spanhook.operation("llm.call", "summarizer", provider="acme", model="my-model")
def summarize(text: str) -> str:
    spanhook.record_usage(input_tokens=20, output_tokens=3, model="my-model-2")
    return text


class Desk:
    @spanhook.tool
    def look_up(self, order: str) -> str:
        return order

    @staticmethod
    @spanhook.tool
    def count(orders: list[str]) -> int:
        return len(orders)


assert_type(search("x", limit=1), list[str])
coroutine: Coroutine[Any, Any, str] = pay_back(1)
assert_type(research("why?"), Iterator[str])
assert_type(aresearch("why?"), AsyncIterator[str])
assert_type(summarize("x"), str)
assert_type(Desk().look_up("x"), str)
assert_type(Desk.count(["x"]), int)

# ----------------------------------------------------------------------------------------------- blocks

request: dict[str, Any] = {
    "messages": [{"role": "user", "content": "hi"}],
    "system": "Be brief.",
    "arguments": {},
    "inputs": None,
}


def block() -> str:
    with spanhook.operation("llm.call", "my-model", provider="acme", request=request) as op:
        assert_type(op, OwnOperation)
        read: Operation = op
        assert_type(read.name, str)
        op.record_usage(input_tokens=20, output_tokens=3, cost_usd=0.01)
        return op.result_of("hello")


def called(query: str, limit: int) -> int:
    with spanhook.operation("tool.execute", "search") as op:
        return len(op.call(search, query, limit=limit))


async def awaited() -> str:
    async with spanhook.operation("tool.execute", "refund") as op:
        return await op.acall(pay_back, 1)


async def kept() -> int:
    async with spanhook.operation("tool.execute", "count") as op:
        return await op.aresult_of(3)


def streamed() -> Iterator[str]:
    with spanhook.operation("llm.call", "my-model") as op:
        return op.stream(lambda: research("why?"))


async def astreamed() -> AsyncIterator[str]:
    async with spanhook.operation("llm.call", "my-model") as op:
        return op.stream(aresearch("why?"))


with ExitStack() as stack:
    assert_type(stack.enter_context(spanhook.operation("agent.invoke", "a")), OwnOperation)

# ----------------------------------------------------------------------------------------------- kinds

charge = spanhook.register_kind("billing.charge")
assert_type(charge, str)
misuse: type[SpanhookError] = OperationError


def own_kind(op: Operation) -> bool:
    return op.kind == "billing.charge"


# ----------------------------------------------------------------------------------------------- mistakes

search(1)  # pyright: ignore[reportArgumentType]
spanhook.operation("tool.execute", request=[])  # pyright: ignore[reportArgumentType]
spanhook.record_usage(tokens=1)  # pyright: ignore[reportCallIssue]
with spanhook.operation("tool.execute", "search") as mistaken:
    mistaken.call(search)  # pyright: ignore[reportCallIssue]
