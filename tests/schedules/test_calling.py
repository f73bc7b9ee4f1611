"""Agents of the application itself, called for ticks."""

from datetime import UTC, datetime
from typing import Any

import pytest

import spanhook
from spanhook.runs import RejectRun, RunContext, RunHooks, set_hooks
from spanhook.schedules import CronEntry, Execution, calling, execute

pytestmark = pytest.mark.anyio
TICK = Execution("exec_1", datetime(2026, 1, 30, 9, tzinfo=UTC))
CRON = CronEntry(id="news", schedule="0 9 * * *", agent="report", input="hi", session_id="morning")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def report(given: Any) -> tuple[Any, str]:
    op = spanhook.current_operation()
    assert op is not None
    return given, op.kind


class Graph:
    """What a graph looks like from outside."""

    async def ainvoke(self, given: Any, config: Any = None) -> tuple[Any, Any]:
        return given, config


async def test_a_function_is_given_the_input() -> None:
    outcome = await execute(CRON, TICK, lambda: calling({"report": report})(CRON, TICK, print))
    assert (outcome.result, outcome.error) == (("hi", "run"), None)


async def test_a_graph_gets_its_thread() -> None:
    work = calling({"report": Graph()})
    assert await work(CRON, TICK, print) == ("hi", {"configurable": {"thread_id": "morning"}})
    assert await work(CRON.model_copy(update={"session_id": ""}), TICK, print) == ("hi", None)


def test_what_is_not_async_is_refused() -> None:
    with pytest.raises(spanhook.ConfigurationError, match=r"'report'.*async def"):
        calling({"report": len})


async def test_hooks_of_runs_are_called_once_and_may_refuse() -> None:
    hooks, told = RunHooks(), list[str]()

    @hooks.before_run
    async def before(ctx: RunContext) -> None:
        told.append(f"{ctx.graph_id} {ctx.thread_id}")
        if len(told) > 1:
            raise RejectRun("too many", 429)

    set_hooks(hooks)
    try:
        work = calling({"report": report})
        first, second = [await execute(CRON, TICK, lambda: work(CRON, TICK, print)) for _ in range(2)]
    finally:
        set_hooks(None)
    assert told == ["report morning", "report morning"]
    assert first.error is None
    assert isinstance(second.error, spanhook.Reject)
    assert second.error.reason == "too many"
