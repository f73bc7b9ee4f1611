"""Async context managers whose block is an operation, or whose value is a stream that is one."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject, current_operation, semconv
from spanhook.engine import OperationContext
from spanhook.model import Adapter, Reading, Usage
from tests.stub import Library, stubbed


async def session(library: Library, given: Any = "hey") -> Any:
    async with library.asession(given) as value:
        return value, current_operation()


async def opened(library: Library, given: Any = "hey") -> str:
    async with library.aopened(given) as letters:
        return "".join([letter async for letter in letters])


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    return hooks


@pytest.mark.parametrize("use", [session, opened])
def test_one_operation_from_entering_to_leaving(use: Any) -> None:
    library = Library()
    with stubbed() as (_, seen):
        asyncio.run(use(library))
    assert [(op.kind, op.status) for op in seen.operations] == [("llm.call", "success")]
    assert (library.calls, library.left) == (["hey"], 1)


def test_the_block_is_inside_and_what_comes_after_is_not() -> None:
    async def use() -> None:
        async with Library().asession("hey"):
            await session(Library())
        assert current_operation() is None
        await session(Library())

    with stubbed() as (_, seen):
        asyncio.run(use())
    roots = seen.tree()
    assert [len(root["children"]) for root in roots] == [1, 0]


def test_the_block_of_a_stream_is_not_inside() -> None:
    async def use() -> None:
        async with Library().aopened("hey") as letters:
            assert current_operation() is None
            async for _ in letters:
                assert current_operation() is None

    with stubbed():
        asyncio.run(use())


@pytest.mark.parametrize("use", [session, opened])
def test_refused_on_entering(use: Any) -> None:
    library = Library()
    with stubbed(refusing()) as (_, seen), pytest.raises(Reject, match="no"):
        asyncio.run(use(library))
    assert (library.calls, library.left) == ([], 0)
    assert [op.status for op in seen.operations] == ["rejected"]


@pytest.mark.parametrize("name", ["asession", "aopened"])
def test_a_context_that_is_entered_again_is_gated_again(name: str) -> None:
    hooks, refused = Hooks(), list[str]()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        if refused:
            raise Reject("no")

    async def twice() -> None:
        context = getattr(Library(), name)("hey")
        async with context:
            refused.append("from now on")
        with pytest.raises(Reject, match="no"):
            async with context:
                refused.append("the block has run")

    with stubbed(hooks) as (_, seen):
        asyncio.run(twice())
    assert refused == ["from now on"]
    assert seen.operations[-1].status == "rejected"


@pytest.mark.parametrize("use", [session, opened])
def test_rewritten(use: Any) -> None:
    hooks, library = Hooks(), Library()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(inputs="you")

    with stubbed(hooks):
        asyncio.run(use(library))
    assert library.calls == ["you"]


def test_an_answer_is_what_is_entered() -> None:
    hooks, library = Hooks(), Library()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond("an answer")

    with stubbed(hooks) as (_, seen):
        value, inside = asyncio.run(session(library))
    assert (value, inside, library.calls) == ("an answer", None, [])
    assert [op.status for op in seen.operations] == ["success"]


def test_refused_on_leaving() -> None:
    hooks, library = Hooks(), Library()

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    with stubbed(hooks), pytest.raises(Reject, match="not that"):
        asyncio.run(session(library))
    assert library.left == 1


@pytest.mark.parametrize("use", [session, opened])
def test_errors_of_the_library(use: Any) -> None:
    with stubbed() as (_, seen), pytest.raises(ZeroDivisionError):
        asyncio.run(use(Library(), ZeroDivisionError("theirs")))
    assert [op.status for op in seen.operations] == ["error"]


def test_errors_of_the_block() -> None:
    error = ZeroDivisionError("mine")

    async def use() -> None:
        async with Library().asession("hey"):
            raise error

    with stubbed() as (_, seen), pytest.raises(ZeroDivisionError) as raised:
        asyncio.run(use())
    assert raised.value is error
    assert [op.status for op in seen.operations] == ["error"]


def test_left_in_another_task() -> None:
    async def use() -> None:
        stack = AsyncExitStack()
        await asyncio.create_task(_enter(stack))
        await stack.aclose()
        assert current_operation() is None

    with stubbed() as (_, seen):
        asyncio.run(use())
    assert [op.status for op in seen.operations] == ["success"]


async def _enter(stack: AsyncExitStack) -> None:
    await stack.enter_async_context(Library().asession("hey"))


@pytest.mark.parametrize("name", ["asession", "aopened"])
def test_never_left(name: str) -> None:
    async def use() -> None:
        await getattr(Library(), name)("hey").__aenter__()

    with stubbed() as (_, seen):
        asyncio.run(use())
    assert [op.kind for op in seen.operations] == ["llm.call"]


def test_a_stream_that_is_left_early() -> None:
    async def use() -> None:
        async with Library().aopened("hey") as letters:
            await anext(aiter(letters))

    with stubbed() as (_, seen):
        asyncio.run(use())
    assert [op.status for op in seen.operations] == ["abandoned"]


@pytest.mark.parametrize("name", ["asession", "aopened"])
def test_never_entered(name: str) -> None:
    library = Library()
    with stubbed() as (_, seen):
        getattr(library, name)("hey")
    assert (seen.operations, library.calls) == ([], [])


def test_cancelled_in_the_block() -> None:
    async def use() -> None:
        async with Library().asession("hey"):
            await asyncio.sleep(60)

    async def cancel() -> None:
        task = asyncio.create_task(use())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with stubbed() as (_, seen):
        asyncio.run(cancel())
    assert [op.status for op in seen.operations] == ["cancelled"]


# ------------------------------------------------------------------------------------------------- calls of others


class Told:
    """A call of another program, and what that has told of it."""

    def __init__(self, tokens: int | None) -> None:
        self.tokens = tokens


def told_usage(told: Told) -> tuple[dict[str, Any], Usage | None]:
    return {}, None if told.tokens is None else Usage(told.tokens, 1)


ELSEWHERE = Adapter(
    kind="llm.call",
    layer="elsewhere",
    start=lambda _told, _args, _kwargs: {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_REQUEST_MODEL: "any"},
    reading=Reading(response=told_usage),
    traits=frozenset(("made_elsewhere",)),
)


@asynccontextmanager
async def passing(told: Told) -> AsyncGenerator[Told, None]:
    yield told


async def reported(told: Told) -> None:
    async with OperationContext(ELSEWHERE, lambda: passing(told), told, (), {}):
        pass


@pytest.mark.parametrize(("tokens", "calls"), [(5, 1), (None, 0)])
def test_what_another_program_has_called_is_counted_as_far_as_it_is_reported(tokens: int | None, calls: int) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: None)

    async def main() -> None:
        async with spanhook.operation("agent.invoke", "around"):
            await reported(Told(tokens))

    with stubbed(hooks) as (_, seen):
        asyncio.run(main())
    (around,) = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert (around.usage.llm_calls, around.usage.input_tokens) == (calls, tokens or 0)


def test_what_another_program_has_called_counts_even_if_it_is_refused() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(_op: Operation) -> None:
        raise Reject("too much")

    async def main() -> None:
        async with spanhook.operation("agent.invoke", "around"):
            with pytest.raises(Reject):
                await reported(Told(5))

    with stubbed(hooks) as (_, seen):
        asyncio.run(main())
    call, around = seen.operations
    assert [one.decision for one in call.decisions] == ["attempted"]
    assert around.usage.input_tokens == 5
    (span,) = [span for span in seen.spans if span.name == "chat any"]
    assert (span.attributes or {})[semconv.COVERAGE] == "best_effort"
