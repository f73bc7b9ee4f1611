"""One turn as a block: an operation that hooks gate, with its frames loaded before and written after."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio
from langgraph.errors import GraphInterrupt

import spanhook
from spanhook import Hooks, Operation, OperationError, Reject, Settings
from spanhook.iterations import (
    HookConfig,
    HookEvent,
    Iteration,
    IterationHooks,
    MemoryFrames,
    SQLiteFrames,
)
from spanhook.model import current
from spanhook.testing import recorder

MODES = ("with", "async with", "trio")


@pytest.fixture
def hooks() -> IterationHooks:
    return IterationHooks()


def turn(mode: str, hooks: IterationHooks, body: Callable[[Iteration], Any] = repr, n: int = 0, **given: Any) -> None:
    """One turn of session ``s``."""
    if mode == "with":
        with hooks.iteration("s", n, **given) as one:
            body(one)
        return

    async def wait() -> None:
        async with hooks.iteration("s", n, **given) as one:
            body(one)

    asyncio.run(wait()) if mode == "async with" else trio.run(wait)


def written(hooks: IterationHooks) -> list[tuple[str, Any]]:
    return [(frame.type, frame.success) for frame in hooks.store.recent(99)]


def raising(error: BaseException) -> Callable[[Iteration], None]:
    def body(_turn: Iteration) -> None:
        raise error

    return body


@pytest.mark.parametrize("mode", MODES)
def test_a_turn_is_one_operation_with_its_frames(hooks: IterationHooks, mode: str) -> None:
    loaded: list[list[str]] = []

    def body(one: Iteration) -> None:
        loaded.append([frame.content for frame in one.frames])
        one.output = f"did {one.iteration}"
        assert one.operation.identity.session_id == "s"

    with recorder() as seen:
        for number in range(2):
            turn(mode, hooks, body, number, name="planner")
    assert loaded == [[], ["Iteration 1 succeeded: did 0"]]
    assert written(hooks) == [("iteration", True)] * 2
    attributes = [dict(span.attributes or {}) for span in seen.spans]
    assert [span.name for span in seen.spans] == ["iteration planner"] * 2
    assert [one["spanhook.iteration.index"] for one in attributes] == [0, 1]
    assert {(one["spanhook.kind"], one["session.id"]) for one in attributes} == {("iteration", "s")}
    assert current.get() is None


@pytest.mark.parametrize("mode", MODES)
def test_what_is_called_in_a_turn_belongs_to_it(hooks: IterationHooks, mode: str) -> None:
    def body(one: Iteration) -> None:
        with spanhook.operation("llm.call", "my-model") as op:
            op.record_usage(input_tokens=20, output_tokens=3)
        one.output = one.operation.usage.total_tokens

    with recorder() as seen:
        turn(mode, hooks, body)
    assert [(op.kind, op.identity.session_id) for op in seen.operations] == [("llm.call", "s"), ("iteration", "s")]
    assert hooks.store.recent(1)[0].content == "Iteration 1 succeeded: 23"


@pytest.mark.parametrize("mode", MODES)
def test_hooks_on_iteration_pre_gate_it(hooks: IterationHooks, mode: str) -> None:
    gates = Hooks()

    @gates.before("iteration", names={"planner"})
    async def few_turns(op: Operation) -> None:
        if op.request.inputs["iteration"] >= 2:
            raise Reject("More than 2 turns", status_code=429)

    with recorder(gates) as seen, pytest.raises(Reject, match="More than 2 turns") as caught:
        for number in range(9):
            turn(mode, hooks, n=number, name="planner")
    assert caught.value.status_code == 429
    assert [op.status for op in seen.operations] == ["success", "success", "rejected"]
    assert written(hooks) == [("iteration", True)] * 2  # what never began is not remembered
    assert spanhook.current_operation() is None


@pytest.mark.parametrize("mode", MODES)
def test_a_turn_that_raises_has_failed(hooks: IterationHooks, mode: str) -> None:
    def body(one: Iteration) -> None:
        one.error_context, one.output = "refunding order 7", "half of it"
        raise ValueError("no disk")

    with recorder() as seen, pytest.raises(ValueError, match="no disk"):
        turn(mode, hooks, body)
    error, end = hooks.store.recent(9)
    assert error.content == "ValueError: no disk\nContext: refunding order 7"
    assert (end.content, end.success) == ("Iteration 1 failed: half of it", False)
    assert [op.status for op in seen.operations] == ["error"]


@pytest.mark.parametrize("mode", MODES)
def test_a_turn_that_did_not_do_it_says_so(hooks: IterationHooks, mode: str) -> None:
    turn(mode, hooks, lambda one: setattr(one, "success", False))
    assert written(hooks) == [("iteration", False)]


@pytest.mark.parametrize("mode", MODES)
def test_after_hooks_see_its_output_and_may_refuse_it(hooks: IterationHooks, mode: str) -> None:
    gates = Hooks()
    outputs: list[Any] = []

    @gates.after("iteration")
    def no_secrets(op: Operation) -> None:
        outputs.append(op.result)
        raise Reject("a secret")

    with recorder(gates) as seen, pytest.raises(Reject, match="a secret"):
        turn(mode, hooks, lambda one: setattr(one, "output", "hunter2"))
    assert outputs == ["hunter2"]
    assert written(hooks) == [("error", False), ("iteration", False)]
    assert [op.status for op in seen.operations] == ["rejected"]


@pytest.mark.parametrize("mode", MODES)
def test_a_refusal_inside_of_it_is_its_error(hooks: IterationHooks, mode: str) -> None:
    gates = Hooks()

    @gates.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("no refunds")

    def body(_turn: Iteration) -> None:
        with spanhook.operation("tool.execute", "refund"):
            raise AssertionError("it ran")

    with recorder(gates), pytest.raises(Reject, match="no refunds"):
        turn(mode, hooks, body)
    assert [frame.details.get("message") for frame in hooks.store.recent(9)] == ["no refunds", None]


def test_a_run_that_is_refused_is_remembered_with_its_reason(hooks: IterationHooks) -> None:
    gates = Hooks()

    @gates.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("the budget is spent", scope="run")

    @spanhook.agent("desk")
    def answer() -> None:
        with hooks.iteration("s", 0), spanhook.operation("tool.execute", "refund"):
            raise AssertionError("it ran")

    with recorder(gates) as seen, pytest.raises(Reject, match="the budget is spent"):
        answer()
    error, end = hooks.store.recent(9)
    assert (error.details["error_type"], error.details["message"], end.success) == (
        "Reject",
        "the budget is spent",
        False,
    )
    assert [op.kind for op in seen.operations] == ["tool.execute", "iteration", "agent.invoke"]


def test_an_interrupt_that_waits_for_a_person_is_no_end(hooks: IterationHooks) -> None:
    with recorder() as seen, pytest.raises(GraphInterrupt):
        turn("with", hooks, raising(GraphInterrupt()))
    assert written(hooks) == []
    assert [op.status for op in seen.operations] == ["interrupted"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupted_process_has_failed_without_an_error(hooks: IterationHooks, error: BaseException) -> None:
    with pytest.raises(type(error)):
        turn("with", hooks, raising(error))
    assert written(hooks) == [("iteration", False)]


@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_cancelled_turn_has_failed_without_an_error(tmp_path: Any, library: str) -> None:
    with SQLiteFrames(tmp_path / "a.db") as store:
        hooks = IterationHooks(store)
        told: list[Any] = []

        async def tell(context: Any) -> None:
            await anyio.lowlevel.checkpoint()
            told.append(context.event)

        hooks.register_handler(HookEvent.ITERATION_END, tell)

        async def main() -> None:
            with anyio.CancelScope() as scope:
                async with hooks.iteration("s", 0):
                    scope.cancel()
                    await anyio.sleep_forever()

        with recorder() as seen:
            anyio.run(main, backend=library)
        assert written(hooks) == [("iteration", False)]
    assert [op.status for op in seen.operations] == ["cancelled"]
    assert told == ["iteration_end"]


@pytest.mark.parametrize("mode", MODES)
def test_a_memory_that_fails_fails_no_turn(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryFrames):
        def add(self, frame: Any) -> None:
            raise OSError("no space left")

        recent = statistics = add  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    with recorder() as seen, caplog.at_level(logging.CRITICAL, "spanhook"):
        turn(mode, IterationHooks(Broken()))
    assert [op.status for op in seen.operations] == ["success"]


@pytest.mark.parametrize("mode", MODES)
def test_hooks_that_are_off_leave_the_memory(hooks: IterationHooks, mode: str) -> None:
    gates = Hooks()
    gates.before("iteration")(lambda op: op.respond(None))
    with recorder(gates, settings=Settings(mode="off")):
        turn(mode, hooks)
    assert written(hooks) == [("iteration", True)]


def test_a_memory_that_is_off_leaves_the_operation() -> None:
    hooks = IterationHooks(config=HookConfig(enabled=False))
    with recorder() as seen:
        turn("with", hooks)
    assert (written(hooks), len(seen.operations)) == ([], 1)


def test_a_turn_is_entered_and_left_once(hooks: IterationHooks) -> None:
    one = hooks.iteration("s", 0)
    with pytest.raises(OperationError, match="has its operation once its block is entered"):
        _ = one.operation
    with one, pytest.raises(OperationError, match="has been entered before; make one with"):
        one.__enter__()
    with pytest.raises(OperationError), one:
        pass
    with pytest.raises(OperationError, match="cannot be left"):
        one.__exit__(None, None, None)
    assert written(hooks) == [("iteration", True)]


def test_turns_nest_and_run_at_the_same_time(hooks: IterationHooks) -> None:
    async def loop(session: str) -> None:
        for number in range(3):
            async with hooks.iteration(session, number) as one:
                await asyncio.sleep(0)
                with hooks.iteration(f"{session}.inner", number) as inner:
                    assert inner.operation.identity.session_id == f"{session}.inner"
                await asyncio.sleep(0)
                assert one.operation.identity.session_id == session
                current = spanhook.current_operation()
                assert current is not None
                assert current.identity.session_id == session
                one.output = session

    async def main() -> None:
        await asyncio.gather(*(loop(f"s{number}") for number in range(4)))

    with recorder() as seen:
        asyncio.run(main())
    assert [hooks.statistics(f"s{number}").succeeded for number in range(4)] == [3] * 4
    assert len(seen.operations) == 24
    assert {op.status for op in seen.operations} == {"success"}


@pytest.mark.parametrize("name", [None, 3])
def test_a_name_is_text(hooks: IterationHooks, name: Any) -> None:
    with pytest.raises(spanhook.ConfigurationError, match=r"iteration\(name=.*expected text"):
        hooks.iteration("s", 0, name=name)
