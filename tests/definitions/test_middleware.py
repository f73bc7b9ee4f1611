"""The rules of the middleware chain: order, abort per tier, failures, timeouts, and that nothing runs twice."""

import asyncio
import importlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio
from langchain_core.messages import ToolMessage

import spanhook
from spanhook import Operation, Reject, Settings
from spanhook.cli.conformance.libraries.langchain import Calls, agent, consume
from spanhook.definitions import (
    AgentHookContext,
    CallNext,
    HookAbortError,
    HookContext,
    HookRegistry,
    ToolHookContext,
    WorkflowHookContext,
)
from spanhook.model import clock
from spanhook.testing import Recorder, recorder
from tests.definitions.parts import Middleware, call, noting, search
from tests.instrument.langgraph.test_graph import two_steps
from tests.stub import MODES, Paused, stubbed, use

WAYS = ("invoke", "ainvoke")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "spanhook"):
        yield


def run(tool: Any, way: str, given: Any) -> Any:
    return tool.invoke(given) if way == "invoke" else asyncio.run(tool.ainvoke(given))


def registered(*middleware: Middleware, **settings: Any) -> HookRegistry:
    registry = HookRegistry(**settings)
    for one in middleware:
        registry.register(one)
    return registry


def searched(registry: HookRegistry, way: str, log: list[str], query: str = "x") -> tuple[Any, Recorder]:
    with recorder(registry.hooks) as seen:
        return run(search(log), way, call(query)), seen


def aborting(reason: str = "no") -> Callable[[HookContext, CallNext], HookContext]:
    def abort(context: HookContext, call_next: CallNext) -> HookContext:
        context.abort, context.abort_reason = True, reason
        return context

    return abort


# ------------------------------------------------------------------------------------------------ order


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_middleware_runs_by_priority_each_around_the_next(way: str, phase: str) -> None:
    log: list[str] = []
    event = f"tool.execute.{phase}"
    registry = registered(
        Middleware(noting(log, "late"), event, priority=300),
        Middleware(noting(log, "first"), event, priority=10),
        Middleware(noting(log, "second"), event, priority=10),
    )
    result, _ = searched(registry, way, log)
    around = ["first in", "second in", "late in", "late out", "second out", "first out"]
    assert log == ([*around, "search x"] if phase == "pre" else ["search x", *around])
    assert result.content == "found x"


def test_system_hooks_run_before_those_of_a_tenant_at_the_same_priority(way: str) -> None:
    log: list[str] = []
    registry = registered(
        Middleware(noting(log, "acme"), tenant_id="acme"),
        Middleware(noting(log, "other"), tenant_id="other"),
        Middleware(noting(log, "system")),
    )
    with spanhook.context(tenant_id="acme"):
        searched(registry, way, log)
    assert log == ["system in", "acme in", "acme out", "system out", "search x"]


def test_middleware_around_a_kind_runs_around_the_call(way: str) -> None:
    log: list[str] = []
    registry = registered(
        Middleware(noting(log, "around"), "tool.execute", priority=10), Middleware(noting(log, "pre"), priority=20)
    )
    searched(registry, way, log)
    assert log == ["around in", "pre in", "pre out", "search x", "around out"]


def test_middleware_of_a_phase_goes_on_up_to_a_hook_around_the_call(way: str) -> None:
    log: list[str] = []
    registry = registered(Middleware(noting(log, "outer"), priority=1), Middleware(noting(log, "inner"), priority=90))

    @registry.hooks.around("tool.execute", priority=50)
    def around(op: Operation) -> Iterator[None]:
        log.append("around in")
        yield
        log.append("around out")

    searched(registry, way, log)
    assert log == ["outer in", "outer out", "around in", "inner in", "inner out", "search x", "around out"]


def test_a_hook_that_does_not_call_next_keeps_no_other_from_running(way: str) -> None:
    log: list[str] = []

    def silent(context: HookContext, call_next: CallNext) -> None:
        log.append("silent")

    registry = registered(Middleware(silent, priority=1), Middleware(noting(log, "gate"), priority=50))
    searched(registry, way, log)
    assert log == ["silent", "gate in", "gate out", "search x"]


# ------------------------------------------------------------------------------------------------ what hooks share


def test_metadata_is_shared_and_results_say_what_ran_before(way: str) -> None:
    log: list[str] = []
    told: list[Any] = []

    async def outer(context: HookContext, call_next: CallNext) -> HookContext:
        context.metadata["by"] = "outer"
        context = await call_next(context)
        told.append((context.metadata["by"], [(one.hook_name, one.success) for one in context.results]))
        return context

    def inner(context: HookContext, call_next: CallNext) -> Any:
        context.metadata["by"] += " inner"
        return call_next(context)

    async def after(context: HookContext, call_next: CallNext) -> HookContext:
        told.append(context.metadata["by"])
        return await call_next(context)

    registry = registered(Middleware(outer), Middleware(inner), Middleware(after, "tool.execute.post"))
    searched(registry, way, log)
    assert told == [("outer inner", [("inner", True)]), "outer inner"]


def test_what_hooks_change_is_carried_from_one_to_the_next_once(way: str) -> None:
    log: list[str] = []

    def adding(text: str) -> Any:
        async def add(context: ToolHookContext, call_next: CallNext) -> HookContext:
            context.arguments["query"] += text
            return await call_next(context)

        return add

    registry = registered(Middleware(adding("a")), Middleware(adding("b")), Middleware(adding("c")))
    result, seen = searched(registry, way, log)
    assert result.content == "found xabc"
    assert [one.decision for one in seen.operations[0].decisions] == ["modify"] * 3


def test_a_hook_that_fails_closed_sees_what_later_hooks_made_of_the_request(way: str) -> None:
    log: list[str] = []

    def gate(context: ToolHookContext, call_next: CallNext) -> Any:
        if "secret" in context.arguments["query"]:
            context.abort, context.abort_reason = True, "no secrets"
        return call_next(context)

    def enrich(context: ToolHookContext, call_next: CallNext) -> Any:
        context.arguments["query"] += " secret"
        return call_next(context)

    registry = registered(Middleware(gate, priority=10), Middleware(enrich, priority=150))
    result, _ = searched(registry, way, log)
    assert (result.status, log) == ("error", [])


def test_a_context_made_by_replace_counts_too(way: str) -> None:
    from dataclasses import replace

    log: list[str] = []

    async def other(context: ToolHookContext, call_next: CallNext) -> HookContext:
        return await call_next(replace(context, arguments={"query": "y"}))

    assert searched(registered(Middleware(other)), way, log)[0].content == "found y"


def test_a_result_set_before_the_call_answers_instead_of_it(way: str) -> None:
    log: list[str] = []

    def cached(context: ToolHookContext, call_next: CallNext) -> Any:
        context.result = "from the cache"
        return call_next(context)

    result, seen = searched(registered(Middleware(cached)), way, log)
    assert (result.content, log) == ("from the cache", [])
    assert [one.decision for one in seen.operations[0].decisions] == ["replace"]


def test_a_tools_result_is_replaced_after_the_call_and_later_hooks_see_it(way: str) -> None:
    log: list[str] = []

    def shorten(context: ToolHookContext, call_next: CallNext) -> Any:
        assert context.duration_ms >= 0
        context.result = context.result.content[:5]
        return call_next(context)

    def note(context: ToolHookContext, call_next: CallNext) -> Any:
        log.append(context.result.content)
        return call_next(context)

    event = "tool.execute.post"
    result, _ = searched(registered(Middleware(shorten, event), Middleware(note, event)), way, log)
    assert (result.content, log) == ("found", ["search x", "found"])


# ------------------------------------------------------------------------------------------------ abort


def test_an_abort_before_a_tool_gives_its_error_result(way: str) -> None:
    log: list[str] = []
    registry = registered(Middleware(aborting("not today"), priority=10), Middleware(noting(log, "later")))
    result, seen = searched(registry, way, log)
    assert isinstance(result, ToolMessage)
    assert (result.status, result.content, log) == ("error", "Tool call rejected: not today", [])
    assert seen.operations[0].status == "rejected"


def test_an_abort_after_call_next_still_comes_before_the_call(way: str) -> None:
    log: list[str] = []

    async def late(context: HookContext, call_next: CallNext) -> HookContext:
        context = await call_next(context)
        context.abort, context.abort_reason = True, "on second thought"
        return context

    result, _ = searched(registered(Middleware(late), Middleware(noting(log, "later"))), way, log)
    assert (result.status, log) == ("error", ["later in", "later out"])


def test_a_hook_sees_that_a_later_one_has_aborted_and_cannot_take_it_back(way: str) -> None:
    log: list[str] = []

    async def outer(context: HookContext, call_next: CallNext) -> HookContext:
        context = await call_next(context)
        log.append(f"{context.abort} {context.abort_reason}")
        context.abort = False
        return context

    registry = registered(Middleware(outer, fail_mode="open"), Middleware(aborting("no")))
    result, seen = searched(registry, way, log)
    assert (result.status, log) == ("error", ["True no"])
    assert [(one.hook, one.decision) for one in seen.operations[0].decisions] == [("abort", "reject")]


def test_an_abort_raised_in_a_hook_that_fails_open_stands(way: str) -> None:
    log: list[str] = []

    def reject(context: HookContext, call_next: CallNext) -> None:
        raise Reject("on purpose")

    result, _ = searched(registered(Middleware(reject, fail_mode="open")), way, log)
    assert (result.status, log) == ("error", [])


@pytest.mark.one_value
@pytest.mark.parametrize("event", ["tool.execute.pre", "tool.execute"])
@pytest.mark.parametrize("failure", ["raises", "waits", "blocks", "returns nonsense", "is left"])
def test_an_abort_of_middleware_that_then_fails_stands(event: str, failure: str) -> None:
    """It fails open: what it was to do after it had decided, such as to write to a log, does not work."""

    def decide(context: HookContext) -> None:
        context.abort, context.abort_reason = True, "not today"

    async def fails(context: HookContext, _call_next: CallNext) -> Any:
        decide(context)
        if failure == "raises":
            raise ConnectionError("the audit log is down")
        if failure == "is left":  # by something of its own that was cancelled
            raise asyncio.CancelledError
        if failure == "waits":
            await asyncio.sleep(30)
        return "nonsense"

    def fails_too(context: HookContext, _call_next: CallNext) -> Any:
        decide(context)
        threading.Event().wait(0.3)

    log: list[str] = []
    middleware = Middleware(fails_too if failure == "blocks" else fails, event, timeout_ms=50, fail_mode="open")
    value, seen = searched(registered(middleware), "ainvoke", log)
    assert (value.status, log) == ("error", [])
    assert "not today" in value.content
    assert [one.decision for one in seen.operations[0].decisions] == ["reject"]


@pytest.mark.parametrize("event", ["tool.execute.pre", "tool.execute"])
@pytest.mark.parametrize("value", [Reject, Reject("not today")], ids=["class", "instance"])
def test_middleware_that_returns_a_refusal_refuses(way: str, event: str, value: Any) -> None:
    def returning(_context: HookContext, _call_next: CallNext) -> Any:
        return value

    async def waiting(_context: HookContext, _call_next: CallNext) -> Any:
        return value

    def answering(context: HookContext, _call_next: CallNext) -> HookContext:
        context.result = value
        return context

    for run_by in (returning, waiting, answering):
        log: list[str] = []
        result, seen = searched(registered(Middleware(run_by, event)), way, log)
        assert (result.status, log) == ("error", [])
        assert [one.decision for one in seen.operations[0].decisions] == ["reject"]


class Neither:
    """Neither true nor false, as an array with several items."""

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


@pytest.mark.parametrize("event", ["tool.execute.pre", "tool.execute"])
def test_an_abort_that_is_neither_true_nor_false_refuses(way: str, event: str) -> None:
    def neither(context: HookContext, _call_next: CallNext) -> HookContext:
        odd: Any = Neither()
        context.abort = context.abort_reason = odd
        return context

    log: list[str] = []
    result, _ = searched(registered(Middleware(neither, event)), way, log)
    assert (result.status, log) == ("error", [])


@pytest.mark.parametrize("fail_mode", ["open", "closed"])
@pytest.mark.parametrize("event", ["tool.execute.pre", "tool.execute"])
def test_what_follows_runs_although_middleware_does_not_call_it(event: str, fail_mode: str) -> None:
    def silent(context: HookContext, _call_next: CallNext) -> HookContext:
        return context

    log: list[str] = []
    registry = registered(Middleware(silent, event, priority=10, fail_mode=fail_mode), Middleware(noting(log, "later")))
    value, seen = searched(registry, "ainvoke", log)
    assert value.status == "success"
    assert log[0] == "later in"
    assert not seen.operations[0].decisions


def test_an_abort_after_a_tool_gives_its_error_result_and_skips_later_hooks(way: str) -> None:
    log: list[str] = []
    event = "tool.execute.post"
    registry = registered(Middleware(aborting("leaks"), event), Middleware(noting(log, "later"), event))
    result, _ = searched(registry, way, log)
    assert (result.status, result.content, log) == ("error", "Tool call rejected: leaks", ["search x"])


def test_an_abort_before_an_agent_is_raised() -> None:
    registry = registered(Middleware(aborting("injection"), "agent.invoke.pre", priority=10))
    with recorder(registry.hooks), pytest.raises(HookAbortError, match="injection") as raised:
        consume(agent(Calls()), "invoke", None, {})
    assert (raised.value.reason, raised.value.status_code) == ("injection", 403)


@pytest.mark.parametrize("event", ["agent.invoke.post", "workflow.step.post"])
def test_an_abort_after_an_agent_or_a_step_comes_too_late(event: str) -> None:
    log: list[str] = []
    kind = event.rpartition(".")[0]
    registry = registered(Middleware(aborting("oops"), event), Middleware(noting(log, "later"), event))
    with recorder(registry.hooks) as seen:
        result = two_steps([]).invoke({"value": "x"})
    assert result == {"value": "second"}
    op = next(op for op in seen.operations if op.kind == kind)
    assert (op.status, log) == ("success", [])
    assert [(one.decision, one.reason) for one in op.decisions] == [
        ("too_late", f"oops: too late, the result of {kind} stands")
    ]


def test_an_abort_before_a_node_is_raised_out_of_it() -> None:
    ran: list[str] = []
    registry = registered(Middleware(aborting("stop here"), "workflow.step.pre"))
    with recorder(registry.hooks) as seen, pytest.raises(HookAbortError, match="stop here"):
        two_steps(ran).invoke({"value": "x"})
    assert ran == []
    assert [(op.kind, op.status) for op in seen.operations] == [
        ("workflow.step", "rejected"),
        ("agent.invoke", "rejected"),
    ]


# ------------------------------------------------------------------------------------------------ failures


def test_a_hook_that_fails_open_is_left_out(way: str) -> None:
    log: list[str] = []

    def broken(context: ToolHookContext, call_next: CallNext) -> None:
        context.arguments["query"] = "half done"
        raise KeyError("x")

    result, seen = searched(registered(Middleware(broken), Middleware(noting(log, "later"))), way, log)
    assert (result.content, log) == ("found x", ["later in", "later out", "search x"])
    assert [(one.hook, one.decision) for one in seen.operations[0].decisions] == [("broken", "error")]


@pytest.mark.parametrize("settings", [{"fail_mode": "closed"}, {"priority": 99}])
def test_a_hook_that_fails_closed_refuses(way: str, settings: dict[str, Any]) -> None:
    log: list[str] = []

    def broken(context: HookContext, call_next: CallNext) -> None:
        raise KeyError("x")

    result, _ = searched(registered(Middleware(broken, **settings)), way, log)
    assert (result.status, log) == ("error", [])
    assert result.content == "Tool call rejected: hook 'broken' failed: KeyError"


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_a_hook_that_fails_after_it_went_on_runs_nothing_twice(way: str, phase: str) -> None:
    log: list[str] = []
    event = f"tool.execute.{phase}"

    async def broken(context: HookContext, call_next: CallNext) -> None:
        await call_next(context)
        raise KeyError("x")

    result, _ = searched(registered(Middleware(broken, event), Middleware(noting(log, "later"), event)), way, log)
    assert result.content == "found x"
    assert sorted(log) == ["later in", "later out", "search x"]


def test_call_next_twice_is_the_hooks_failure(way: str) -> None:
    log: list[str] = []

    async def twice(context: HookContext, call_next: CallNext) -> HookContext:
        await call_next(context)
        return await call_next(context)

    _, seen = searched(registered(Middleware(twice), Middleware(noting(log, "later"))), way, log)
    assert log == ["later in", "later out", "search x"]
    assert [(one.hook, one.decision) for one in seen.operations[0].decisions] == [("twice", "error")]


def test_what_a_hook_returns_must_be_a_context(way: str) -> None:
    def odd(context: HookContext, call_next: CallNext) -> Any:
        return "done"

    _, seen = searched(registered(Middleware(odd)), way, [])
    (decision,) = seen.operations[0].decisions
    assert "it returned a str; expected the context" in decision.reason


def test_a_read_only_result_stands_and_the_attempt_is_the_hooks_failure() -> None:
    def rewrite(context: AgentHookContext, call_next: CallNext) -> Any:
        context.result = {"value": "mine"}
        return call_next(context)

    with recorder(registered(Middleware(rewrite, "agent.invoke.post")).hooks) as seen:
        assert two_steps([]).invoke({"value": "x"}) == {"value": "second"}
    (decision,) = seen.operations[-1].decisions
    assert decision.decision == "error"
    assert "read-only" in decision.reason


def test_a_cancelled_call_is_cancelled_while_a_hook_waits() -> None:
    log: list[str] = []

    async def wait() -> None:
        waiting = asyncio.Event()

        async def waits(context: HookContext, call_next: CallNext) -> None:
            waiting.set()
            await asyncio.Event().wait()

        with recorder(registered(Middleware(waits, timeout_ms=5000)).hooks) as seen:
            calling = asyncio.create_task(search(log).ainvoke(call()))
            await waiting.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            assert [op.status for op in seen.operations] == ["cancelled"]

    asyncio.run(wait())
    assert log == []


# ------------------------------------------------------------------------------------------------ time


@pytest.mark.parametrize("fail_mode", ["open", "closed"])
def test_a_hook_that_takes_too_long_has_failed(way: str, fail_mode: str) -> None:
    log: list[str] = []

    async def slow(context: HookContext, call_next: CallNext) -> None:
        await asyncio.Event().wait()

    registry = registered(Middleware(slow, timeout_ms=1, fail_mode=fail_mode), Middleware(noting(log, "later")))
    result, seen = searched(registry, way, log)
    (decision,) = seen.operations[0].decisions
    assert (decision.decision, decision.status_code) == ("timeout", 504 if fail_mode == "closed" else 0)
    assert log == (["later in", "later out", "search x"] if fail_mode == "open" else [])
    assert result.status == ("success" if fail_mode == "open" else "error")


def test_a_hooks_time_does_not_count_what_follows_it(way: str) -> None:
    log: list[str] = []
    released = threading.Event()

    async def patient(context: HookContext, call_next: CallNext) -> HookContext:
        return await call_next(context)

    async def long(context: HookContext, call_next: CallNext) -> HookContext:
        await asyncio.to_thread(released.wait, 0.6)
        return await call_next(context)

    registry = registered(Middleware(patient, timeout_ms=500), Middleware(long, timeout_ms=5000))
    _, seen = searched(registry, way, log)
    assert seen.operations[0].decisions == ()
    assert log == ["search x"]


def test_once_the_chains_time_is_spent_observers_are_skipped(way: str) -> None:
    log: list[str] = []
    registry = registered(
        Middleware(noting(log, "first")), Middleware(noting(log, "later"), "tool.execute.post", priority=500)
    )
    with recorder(registry.hooks, settings=Settings(chain_timeout_ms=1)) as seen:  # each look at its clock is 1 ms
        run(search(log), way, call())
    assert log == ["first in", "first out", "search x"]
    assert [one.decision for one in seen.operations[0].decisions] == ["skipped"]


@pytest.mark.parametrize("event", ["llm.call.post", "llm.call.error"])
@pytest.mark.parametrize("mode", MODES)
def test_time_before_call_next_counts_before_what_follows_begins(mode: str, event: str, limits: None) -> None:
    now, log = [0], list[str]()

    def taking(name: str, before_ms: int, after_ms: int = 0) -> Any:
        async def execute(context: HookContext, call_next: CallNext) -> HookContext:
            log.append(name)
            now[0] += before_ms * 1_000_000
            context = await call_next(context)
            now[0] += after_ms * 1_000_000
            return context

        return Middleware(execute, event, name=name, timeout_ms=5000, priority=500)

    gate = taking("gate", 1)
    gate.fail_mode = "closed"
    registry = registered(
        taking("first", 300, 300), taking("second", 150), taking("third", 60), taking("fourth", 1), gate
    )
    with stubbed(registry.hooks) as (library, seen):
        clock.now = lambda: now[0]
        if event.endswith("error"):
            with pytest.raises(ValueError, match="broken"):
                use(library, mode, ValueError("broken"))
        else:
            use(library, mode, "x")
    decisions = [(one.hook, one.decision) for one in seen.operations[0].decisions]
    if event.endswith("error"):  # nothing follows such a hook while it runs
        assert log == ["first", "gate"]
        assert decisions == [(name, "skipped") for name in ("second", "third", "fourth")]
    else:
        assert log == ["first", "second", "third", "gate"]
        assert decisions == [("fourth", "skipped")]


@pytest.mark.parametrize("mode", MODES)
def test_the_time_of_a_hook_counts_once(mode: str, limits: None) -> None:
    now, log = [0], list[str]()

    def taking(name: str, *, changes: bool) -> Any:
        async def execute(context: HookContext, call_next: CallNext) -> HookContext:
            log.append(name)
            now[0] += 100_000_000
            if changes:
                context.result = name
            context = await call_next(context)
            now[0] += 20_000_000
            return context

        return Middleware(execute, "llm.call.post", name=name, timeout_ms=5000, priority=500)

    registry = registered(*(taking(str(number), changes=number == 1) for number in range(4)))
    with stubbed(registry.hooks) as (library, _):
        clock.now = lambda: now[0]
        use(library, mode, "x")
        assert log == ["0", "1", "2", "3"]  # 400 ms have passed as the last one begins


# ------------------------------------------------------------------------------------------------ at the same time


@pytest.mark.parametrize("kind", ["tool.execute", "agent.invoke"])
def test_hooks_after_a_call_run_at_the_same_time_where_the_event_says_so(way: str, kind: str) -> None:
    met: list[str] = []

    def meeting(name: str, here: str, there: str, places: dict[str, asyncio.Event]) -> Any:
        async def meet(context: HookContext, call_next: CallNext) -> HookContext:
            places.setdefault(here, asyncio.Event()).set()
            await places.setdefault(there, asyncio.Event()).wait()
            context.metadata.setdefault("met", []).append(name)
            met.append(name)
            return await call_next(context)

        return meet

    places: dict[str, asyncio.Event] = {}
    event = f"{kind}.post"
    registry = registered(
        Middleware(meeting("a", "a", "b", places), event, timeout_ms=5000),
        Middleware(meeting("b", "b", "a", places), event, timeout_ms=5000),
        concurrent=[event],
    )
    with recorder(registry.hooks) as seen:
        if kind == "tool.execute":
            run(search([]), way, call())
        else:
            run(two_steps([]), way, {"value": "x"})
    assert sorted(met) == ["a", "b"]
    assert all(op.decisions == () for op in seen.operations)


def test_each_concurrent_hook_has_its_own_copy_and_their_order_decides(way: str) -> None:
    log: list[Any] = []
    event = "tool.execute.post"

    def changing(name: str, yields: int) -> Any:
        async def change(context: ToolHookContext, call_next: CallNext) -> HookContext:
            for _ in range(yields):
                await asyncio.sleep(0)
            log.append((name, context.result.content))
            context.result = name
            return await call_next(context)

        return change

    registry = registered(
        Middleware(changing("first", 5), event), Middleware(changing("second", 0), event), concurrent=[event]
    )
    result, _ = searched(registry, way, [])
    assert sorted(log) == [("first", "found x"), ("second", "found x")]
    assert result.content == "second"


def test_concurrent_hooks_fail_time_out_and_abort_each_for_itself(way: str) -> None:
    event = "tool.execute.post"

    async def broken(context: HookContext, call_next: CallNext) -> None:
        raise KeyError("x")

    async def slow(context: HookContext, call_next: CallNext) -> None:
        await asyncio.Event().wait()

    registry = registered(
        Middleware(broken, event),
        Middleware(slow, event, timeout_ms=1),
        Middleware(aborting("leaks"), event),
        Middleware(aborting("leaks too"), event),
        Middleware(noting([], "fine"), event),
        concurrent=[event],
    )
    result, seen = searched(registry, way, [])
    assert result.content == "Tool call rejected: leaks"
    assert [(one.hook, one.decision) for one in seen.operations[0].decisions] == [
        ("broken", "error"),
        ("slow", "timeout"),
        ("abort", "reject"),
        ("abort", "reject"),
    ]


# ------------------------------------------------------------------------------------------------ other kinds


def test_hooks_of_kinds_of_ones_own() -> None:
    kind = spanhook.register_kind("billing.charge")
    seen_by: list[Any] = []

    def note(context: Any, call_next: CallNext) -> Any:
        seen_by.append((context.event_type, context.name, dict(context.arguments)))
        context.arguments["amount"] = 5
        return call_next(context)

    with (
        recorder(registered(Middleware(note, "billing.charge.pre")).hooks),
        spanhook.operation(kind, "card", request={"arguments": {"amount": 10}}) as op,
    ):
        assert op.request.arguments == {"amount": 5}
    assert seen_by == [("billing.charge.pre", "card", {"amount": 10})]


def test_hooks_of_failed_calls_are_told() -> None:
    told: list[Any] = []

    def note(context: WorkflowHookContext, call_next: CallNext) -> Any:
        told.append((context.event_type, context.status, type(context.operation and context.operation.error)))
        return call_next(context)

    with (
        recorder(registered(Middleware(note, "workflow.step.error")).hooks),
        pytest.raises(ZeroDivisionError),
        spanhook.operation("workflow.step", "divide"),
    ):
        raise ZeroDivisionError
    assert told == [("workflow.step.error", "failed", ZeroDivisionError)]


def test_an_abort_before_a_step_of_ones_own_code_fails_it() -> None:
    told: list[Any] = []

    def note(context: WorkflowHookContext, call_next: CallNext) -> Any:
        told.append((context.status, context.abort, context.abort_reason))
        return call_next(context)

    registry = registered(Middleware(aborting("no"), "workflow.step.pre"), Middleware(note, "workflow.step.error"))
    with (
        recorder(registry.hooks) as seen,
        pytest.raises(HookAbortError, match="no"),
        spanhook.operation("workflow.step", "fetch"),
    ):
        raise AssertionError("the step ran")
    assert told == [("failed", True, "no")]
    assert seen.operations[0].status == "rejected"


# ------------------------------------------------------------------------------------------------ ways of calling


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_async", [False, True])
def test_every_way_of_calling(mode: str, is_async: bool) -> None:
    log: list[str] = []

    def plain(name: str) -> Any:
        def execute(context: HookContext, call_next: CallNext) -> Any:
            log.append(f"{name} {context.result}")
            return call_next(context)

        return execute

    async def waiting(context: HookContext, call_next: CallNext) -> HookContext:
        await asyncio.sleep(0)
        log.append(f"a {context.result}")
        context = await call_next(context)
        await asyncio.sleep(0)
        log.append(f"a {context.result} out")
        return context

    first = waiting if is_async else plain("a")
    registry = registered(
        Middleware(first, "llm.call.pre"),
        Middleware(plain("b"), "llm.call.pre"),
        Middleware(first, "llm.call.post"),
        Middleware(plain("b"), "llm.call.post"),
    )
    with stubbed(registry.hooks) as (library, seen):
        assert use(library, mode, "yes") == "yes"
    out = [f"a {None} out"] if is_async else []
    after = ["a yes out"] if is_async else []
    assert log == ["a None", "b None", *out, "a yes", "b yes", *after]
    assert library.calls == ["yes"]
    assert [op.status for op in seen.operations] == ["success"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("event", ["llm.call.pre", "llm.call"])
def test_an_abort_before_the_call_in_every_way_of_calling(mode: str, event: str) -> None:
    with stubbed(registered(Middleware(aborting(), event)).hooks) as (library, _):
        with pytest.raises(HookAbortError, match="no"):
            use(library, mode, "yes")
        assert library.calls == []


@pytest.mark.parametrize("mode", MODES)
def test_an_abort_after_a_stream_withholds_it_only_where_it_was_held_back(mode: str) -> None:
    for priority, withheld in ((10, True), (100, mode in ("sync", "async"))):
        registry = registered(Middleware(aborting(), "llm.call.post", priority=priority))
        with stubbed(registry.hooks) as (library, seen):
            if withheld:
                with pytest.raises(HookAbortError):
                    use(library, mode, "yes")
            else:
                assert use(library, mode, "yes") == "yes"
                assert [one.decision for one in seen.operations[0].decisions] == ["too_late"]


def test_under_trio() -> None:
    log: list[str] = []

    @spanhook.tool("search")
    async def asearch(query: str) -> str:
        await trio.lowlevel.checkpoint()
        log.append(query)
        return query

    event = "tool.execute.post"
    registry = registered(
        Middleware(noting(log, "a")),
        Middleware(noting(log, "b")),
        Middleware(noting(log, "c"), event),
        Middleware(noting(log, "d"), event),
        concurrent=[event],
    )
    with recorder(registry.hooks):
        assert trio.run(asearch, "x") == "x"
    assert log[:5] == ["a in", "b in", "b out", "a out", "x"]
    assert sorted(log[5:]) == ["c in", "c out", "d in", "d out"]


def test_blocks_of_ones_own_code() -> None:
    log: list[str] = []
    registry = registered(Middleware(noting(log, "pre")), Middleware(noting(log, "post"), "tool.execute.post"))

    async def wait() -> None:
        async with spanhook.operation("tool.execute", "charge", request={"arguments": {"n": 1}}) as op:
            await op.aresult_of(2)

    with recorder(registry.hooks) as seen:
        with spanhook.operation("tool.execute", "charge", request={"arguments": {"n": 1}}) as op:
            op.result_of(2)
        asyncio.run(wait())
    assert log == ["pre in", "pre out", "post in", "post out"] * 2
    assert [one.status for one in seen.operations] == ["success"] * 2


def test_operations_inside_of_each_other_and_at_the_same_time() -> None:
    log: list[str] = []

    async def note(context: ToolHookContext, call_next: CallNext) -> HookContext:
        context.metadata["query"] = context.arguments["query"]
        await asyncio.sleep(0)
        return await call_next(context)

    async def check(context: ToolHookContext, call_next: CallNext) -> HookContext:
        assert context.metadata["query"] == context.arguments["query"]
        log.append(context.arguments["query"])
        return await call_next(context)

    @spanhook.tool("inner")
    async def inner(query: str) -> str:
        return query

    @spanhook.tool("outer")
    async def outer(query: str) -> str:
        return await inner(f"{query}-inner")

    async def several() -> None:
        await asyncio.gather(*(outer(str(number)) for number in range(20)))

    with recorder(registered(Middleware(note), Middleware(check, "tool.execute.post")).hooks) as seen:
        asyncio.run(several())
    assert sorted(log) == sorted([f"{n}{end}" for n in range(20) for end in ("", "-inner")])
    assert all(op.decisions == () for op in seen.operations)


def test_operations_that_are_not_sampled_are_gated_too(way: str) -> None:
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    with recorder(registered(Middleware(aborting())).hooks, sampler=ALWAYS_OFF):
        assert run(search([]), way, call()).status == "error"


def test_a_plain_hook_runs_in_the_callers_thread() -> None:
    ran: list[int] = []

    def execute(context: HookContext, call_next: CallNext) -> Any:
        ran.append(threading.get_ident())
        return call_next(context)

    events = ("tool.execute.pre", "tool.execute.post")
    searched(registered(*(Middleware(execute, event) for event in events)), "invoke", [])
    assert ran == [threading.get_ident()] * 2


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_a_plain_hook_may_give_a_coroutine_that_goes_on(way: str, phase: str) -> None:
    log: list[str] = []
    event = f"tool.execute.{phase}"
    around = noting(log, "a")
    registry = registered(
        Middleware(lambda context, call_next: around(context, call_next), event),
        Middleware(noting(log, "b"), event),
    )
    searched(registry, way, log)
    assert [one for one in log if one != "search x"] == ["a in", "b in", "b out", "a out"]


def test_a_plain_hooks_coroutine_has_its_time_limit(way: str) -> None:
    async def forever(context: HookContext, call_next: CallNext) -> None:
        await asyncio.Event().wait()

    registry = registered(Middleware(lambda context, call_next: forever(context, call_next), timeout_ms=1))
    result, seen = searched(registry, way, [])
    assert result.content == "found x"
    assert [one.decision for one in seen.operations[0].decisions] == ["timeout"]


def test_forgetting_to_await_call_next_goes_on_all_the_same(way: str) -> None:
    log: list[str] = []

    async def execute(context: HookContext, call_next: CallNext) -> Any:
        return call_next(context)

    searched(registered(Middleware(execute), Middleware(noting(log, "b"))), way, log)
    assert log == ["b in", "b out", "search x"]


@pytest.mark.parametrize("missing", ["pydantic", "yaml"])
def test_without_its_extra_the_package_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("spanhook.definitions")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)  # as if it were not installed
    with pytest.raises(ImportError, match=r'pip install "spanhook\[policies\]"'):
        importlib.import_module("spanhook.definitions")


@pytest.mark.parametrize("mode", MODES)
def test_middleware_after_a_call_that_was_interrupted_keeps_no_other_from_running(mode: str) -> None:
    log: list[str] = []
    registry = registered(Middleware(noting(log, "first"), "llm.call.post"))
    registry.hooks.after("llm.call")(lambda op: log.append(f"second {op.status}"))
    with stubbed(registry.hooks) as (library, _), pytest.raises(Paused):
        use(library, mode, Paused())
    assert log == ["first in", "second interrupted"]
