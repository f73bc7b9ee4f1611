"""Hooks that read what is not recorded: their decision is unknown, whatever they make of it."""

import asyncio
import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.gating import hooks_of
from spanhook.runs import RunContext, RunHooks
from tests.cli.replay.asking import decided
from tests.cli.replay.lines import line, span

WITHOUT = line(span(gen_ai__tool__name="refund"))
"""A tool that was called, without content."""
WITH = line(
    span(
        gen_ai__tool__name="refund",
        gen_ai__tool__call__arguments=json.dumps({"amount": 60}),
        gen_ai__tool__call__result="paid",
    )
)


def reads(op: Operation) -> None:
    if op.request.arguments["amount"] > 50:
        raise Reject("too much")


def catches_all(op: Operation) -> None:
    try:
        reads(op)
    except BaseException as error:
        raise Reject("it cannot be read") from error


def swallows(op: Operation) -> None:
    with suppress(BaseException):
        reads(op)


def rewrites(op: Operation) -> None:
    op.replace(arguments={**op.request.arguments, "amount": 1})


def answers(op: Operation) -> None:
    try:
        amount = op.request.arguments["amount"]
    except BaseException:
        amount = 0
    op.respond(f"{amount} paid")


async def waits(op: Operation) -> None:
    await asyncio.sleep(0)
    reads(op)


@pytest.mark.parametrize(
    ("hook", "decision"),
    [
        (reads, "reject"),
        (catches_all, "reject"),
        (swallows, ""),
        (rewrites, "modify"),
        (answers, "replace"),
        (waits, "reject"),
    ],
)
@pytest.mark.parametrize("blocking", [False, True])
def test_before(hook: Any, decision: str, blocking: bool, tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.before("tool.execute", name="it", blocking=blocking and hook is not waits, timeout=60.0)(hook)
    [*found] = decided(hooks, tmp_path, WITH)
    assert [one[2] for one in found] == [decision] * bool(decision)
    assert decided(hooks, tmp_path, WITHOUT) == [("it", "tool.execute.pre", "unknown", "op.request.arguments")]


def test_a_filter(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", when=lambda op: op.request.arguments["amount"] > 50)
    def large(_op: Operation) -> None:
        raise Reject("too much")

    assert [one[2] for one in decided(hooks, tmp_path, WITH)] == ["reject"]
    assert [one[2] for one in decided(hooks, tmp_path, WITHOUT)] == ["unknown"]


def test_other_hooks_decide_all_the_same(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.before("tool.execute", priority=1)(reads)

    @hooks.before("tool.execute")
    def never(_op: Operation) -> None:
        raise Reject("never")

    assert [one[::2] for one in decided(hooks, tmp_path, WITHOUT)] == [("reads", "unknown"), ("never", "reject")]


def test_around(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[str] = []

    @hooks.around("tool.execute")
    def before(op: Operation) -> Generator[None, None, None]:
        reads(op)
        yield
        seen.append("must not")

    @hooks.around("tool.execute")
    def after(op: Operation) -> Generator[None, str, str]:
        result = yield
        return result.upper()

    @hooks.around("tool.execute")
    def passes_on(op: Operation) -> Generator[None, str, str]:
        result = yield
        return result

    @hooks.around("tool.execute")
    async def waiting(op: Operation, call_next: Any) -> Any:
        result = await call_next()
        return result if isinstance(result, str) else "?"

    @hooks.around("tool.execute")
    async def asking(op: Operation, call_next: Any) -> None:
        reads(op)
        await call_next()
        seen.append("must not")

    found = {one[0]: one[1:] for one in decided(hooks, tmp_path, WITHOUT)}
    assert found == {
        "before": ("tool.execute.pre", "unknown", "op.request.arguments"),
        "asking": ("tool.execute.pre", "unknown", "op.request.arguments"),
        "after": ("tool.execute.post", "unknown", "op.result"),
        "waiting": ("tool.execute.post", "unknown", "op.result"),
    }
    assert seen == []


def test_the_same_refusal_as_then_if_its_reason_is_not_recorded(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.before("tool.execute", name="reads", priority=1)(reads)
    asked: list[str] = []

    @hooks.before("tool.execute")
    def later(op: Operation) -> None:
        asked.append(op.name)

    refused = span(status="rejected", decisions=(("reads", "pre", "reject"),), gen_ai__tool__name="refund")
    assert [one[2] for one in decided(hooks, tmp_path, line(refused))] == ["unknown"]
    assert asked == []


def test_a_thread_of_the_hook_reads_it(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", timeout=60.0)
    def elsewhere(op: Operation) -> None:
        with ThreadPoolExecutor() as threads:
            if threads.submit(lambda: op.request.arguments).result():
                raise Reject("no")

    assert [one[2] for one in decided(hooks, tmp_path, WITHOUT)] == ["unknown"]


def test_hooks_of_whole_runs_get_everything_at_once(tmp_path: Path) -> None:
    runs = RunHooks()

    @runs.before_run
    async def begun(_context: RunContext) -> None:
        raise RunHooks.RejectRun("closed")

    hooks = hooks_of(runs)
    assert isinstance(hooks, Hooks)
    run = span("agent.invoke", gen_ai__agent__name="support")
    assert [one[0::2] for one in decided(hooks, tmp_path, line(run))] == [("begun", "unknown")]
