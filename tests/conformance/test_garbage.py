"""A call leaves nothing of spanhook to the garbage collector: until it runs, that would hold whatever the call held."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from spanhook import Hooks, Operation
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.testing import recorder
from tests.conformance.everything import CASES, ONCE, named, one_way_each
from tests.stub import stubbed, use

NOT_OURS = ("spanhook.cli.", "spanhook.testing")
"""What runs the matrix, and what it calls."""

CYCLES = {("a model of functions of Pydantic AI", "request_stream")}
"""What leaves a cycle: the operation's result is the response, whose body leads back to the operation."""


def plain() -> Hooks:
    """Hooks that run without a chain."""
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    hooks.after("*", priority=200)(lambda op: None)  # from 100 on, so that no stream is held back for it

    @hooks.around("*")
    def around(op: Operation) -> Iterator[None]:
        yield

    return hooks


def awaited() -> Hooks:
    """Hooks that are waited for: on loops of spanhook's own for sync calls, in workers, or in the call's task."""
    hooks = Hooks()

    @hooks.before("*", timeout=60.0)
    async def before(op: Operation) -> None: ...

    @hooks.around("*", timeout=60.0)
    async def around(op: Operation, call_next: Any) -> None:
        await call_next()

    hooks.before("*", blocking=True, timeout=60.0)(lambda op: None)
    hooks.after("*", blocking=True, timeout=60.0, priority=200)(lambda op: None)
    return hooks


def left_behind(use: Callable[[], Any]) -> list[str]:
    """The types of what only the garbage collector finds after a use."""
    use()  # what is made once
    gc.freeze()  # a collection looks at nothing that is there already, which would take most of the time
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        use()
        gc.collect()
        return [f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.enable()
        gc.unfreeze()
        gc.garbage.clear()


@pytest.mark.parametrize("hooks", [plain, awaited])
@pytest.mark.parametrize("case", one_way_each(CASES), ids=named)
def test_a_call_leaves_no_cycle(case: tuple[Subject, str], hooks: Callable[[], Hooks]) -> None:
    subject, way = case
    kept = subject.make(Body())

    def call() -> None:
        settle(subject.ways[way](subject.make(Body()) if subject.name in ONCE else kept))

    with recorder(hooks()) as seen:

        def use() -> None:
            call()
            seen.operations.clear()

        ours = [one for one in left_behind(use) if one.startswith("spanhook.") and not one.startswith(NOT_OURS)]
    if (subject.name, way) in CYCLES:
        assert ours, "it leaves none any more: take it out of CYCLES"
    elif ours:  # only in cycles that the library makes of its own, such as LangGraph of the exception of a hand-off
        assert left_behind(call), ours


def failing(op: Operation) -> None:
    raise ZeroDivisionError("a mistake")


def failing_around(op: Operation) -> Iterator[None]:
    yield
    raise ZeroDivisionError("a mistake")


def answering_around(op: Operation) -> Iterator[None]:
    yield
    op.respond("instead")


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "astream"])
@pytest.mark.parametrize("hook", [failing, failing_around, answering_around])
def test_what_a_hook_raised_is_let_go_of_by_the_chain_that_takes_over(hook: Callable[..., Any], mode: str) -> None:
    """It would hold the frames of the whole call, and they it."""
    hooks = Hooks()
    form = hooks.after if hook is failing else hooks.around
    form("llm.call", priority=200, fail_mode="open")(hook)
    with stubbed(hooks) as (library, seen):

        def call() -> None:
            use(library, mode, "given")
            seen.operations.clear()

        assert [one for one in left_behind(call) if one.startswith("spanhook.")] == []
