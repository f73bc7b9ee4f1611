"""``run_scope``: a run around any code."""

import asyncio
import contextvars
import copy
from typing import Any
from uuid import UUID

import pytest
import trio
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from spanhook import ConfigurationError, OperationError, current_operation, operation
from spanhook.runs import RejectRun, RunContext, RunHooks, RunScope, User, run_scope
from spanhook.testing import recorder

RUN_ID = UUID(int=7)


class Told(RunHooks):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, RunContext]] = []
        self.before_run(lambda ctx: self.told.append(("before", ctx)))
        self.after_run(lambda ctx: self.told.append(("after", ctx)))
        self.on_run_error(lambda ctx: self.told.append(("error", ctx)))


def test_a_scope_opens_a_run_with_all_that_is_said_of_it() -> None:
    hooks = Told()
    config: dict[str, Any] = {"configurable": {"thread_id": "other", "x": [1]}}

    async def work() -> None:
        async with run_scope(
            "research",
            run_id=RUN_ID,
            thread_id="t1",
            assistant_id="a1",
            user={"identity": "ann", "plan": "pro"},
            config=config,
            input={"question": "why?"},
        ) as scope:
            assert isinstance(scope, RunScope)
            assert scope.run_id == str(RUN_ID)
            async with operation("tool.execute", "search"):
                pass
            scope.output = {"answer": "so"}

    with recorder(hooks) as seen:
        asyncio.run(work())
    (_, before), (_, after) = hooks.told
    assert (before.run_id, before.thread_id, before.assistant_id, before.graph_id) == (
        str(RUN_ID),
        "t1",
        "a1",
        "research",
    )
    assert (before.user, before.config) == (User("ann", plan="pro"), config)
    assert (before.input, before.output) == ({"question": "why?"}, None)
    assert (after.output, after.status) == ({"answer": "so"}, "success")
    tool, run = seen.operations
    assert (run.kind, run.name, run.result) == ("run", "research", {"answer": "so"})
    assert tool.identity[1:4] == run.identity[1:4] == ("ann", "t1", str(RUN_ID))


def test_a_scope_is_sync_too() -> None:
    hooks = Told()
    with recorder(hooks):
        with run_scope("own", user="ann") as scope:
            scope.output = 3
        with pytest.raises(ValueError, match="x"), run_scope("own"):
            raise ValueError("x")
    assert [which for which, _ in hooks.told] == ["before", "after", "before", "error"]
    assert (hooks.told[1][1].output, hooks.told[1][1].user) == (3, User("ann"))


def test_a_scope_under_trio() -> None:
    hooks = Told()

    async def work() -> None:
        async with run_scope("own") as scope:
            await trio.lowlevel.checkpoint()
            scope.output = 3

    with recorder(hooks):
        trio.run(work)
    assert [(which, ctx.output) for which, ctx in hooks.told] == [("before", None), ("after", 3)]


def test_a_run_that_waits_for_somebody_is_interrupted() -> None:
    hooks = Told()
    with recorder(hooks) as seen, run_scope("own") as scope:
        scope.output, scope.interrupted = {"question": "sure?"}, True
    assert (hooks.told[1][1].status, hooks.told[1][1].output) == ("interrupted", {"question": "sure?"})
    assert seen.operations[0].status == "interrupted"


def test_a_run_that_fails_is_not_interrupted() -> None:
    hooks = Told()
    with recorder(hooks) as seen, pytest.raises(ValueError), run_scope("own") as scope:
        scope.interrupted = True
        raise ValueError
    assert (hooks.told[1][0], seen.operations[0].status) == ("error", "error")


def test_a_refused_scope_is_not_entered() -> None:
    hooks = RunHooks()

    @hooks.before_run
    async def refuse(ctx: RunContext) -> None:
        raise RejectRun("No", 402)

    async def work() -> None:
        async with run_scope("own"):
            raise AssertionError("it was entered")

    with recorder(hooks):
        with pytest.raises(RejectRun):
            asyncio.run(work())
        scope = run_scope("own")
        with pytest.raises(RejectRun), scope:
            raise AssertionError("it was entered")
        assert scope.run_id == ""
    assert current_operation() is None


def test_a_run_without_hooks_or_sampling_is_a_run() -> None:
    with recorder(sampler=ALWAYS_OFF) as seen, run_scope("own") as scope:
        assert scope.run_id
    assert [op.kind for op in seen.operations] == ["run"]
    with run_scope():
        pass


def test_what_is_given_is_copied() -> None:
    hooks = RunHooks()
    given: dict[str, Any] = {"a": [1]}
    kept = copy.deepcopy(given)

    @hooks.before_run
    def spoil(ctx: RunContext) -> None:
        ctx.config["a"].append(2)
        ctx.input["a"].append(2)

    with recorder(hooks), run_scope("own", config=given, input=given):
        pass
    assert given == kept


def test_a_scope_is_entered_once() -> None:
    scope = run_scope("own")
    with scope:
        pass
    with pytest.raises(OperationError, match="was already entered"), scope:
        pass


def test_a_scope_that_is_dropped_ends() -> None:
    hooks = Told()
    with recorder(hooks):
        contextvars.copy_context().run(run_scope("own").__enter__)
    assert [which for which, _ in hooks.told] == ["before", "after"]
    assert hooks.told[1][1].status == "abandoned"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"run_id": 3}, r"run_scope\(run_id=3\): expected a string or a UUID"),
        ({"graph_id": None}, r"run_scope\(graph_id=None\)"),
        ({"config": [1]}, r"run_scope\(config=\[1\]\): expected a mapping"),
    ],
)
def test_what_cannot_be_used_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run_scope(**given)
