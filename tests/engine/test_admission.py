"""Runs that are decided about in one place and executed in another."""

import asyncio
import gc
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, context, operation
from spanhook.concurrency import reaper
from spanhook.engine import AdmittedRuns
from spanhook.model import Adapter, Admission, CallContext, RunFacts, current
from spanhook.runs import RunContext, RunHooks
from spanhook.testing import recorder


class Job:
    """A run of a server's."""

    def __init__(self, run_id: str = "r1", user: str = "ann") -> None:
        self.run_id, self.user = run_id, user
        self.facts = RunFacts("t1", "a1", "research", {"identity": user, "plan": "pro"}, {"x": 1})


RUN = Adapter(
    kind="run",
    start=lambda job, _args, _kwargs: {"gen_ai.workflow.name": job.facts.graph_id},
    context=CallContext(identity=lambda job, _args, _kwargs: {"run_id": job.run_id, "user_id": job.user}),
    traits=frozenset(("block",)),
)
RUNS = AdmittedRuns()


class Told(RunHooks):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, RunContext]] = []
        self.refuse = False

        @self.before_run
        async def before(ctx: RunContext) -> None:
            self.told.append(("before", ctx))
            ctx.metadata["asked"] = len(self.told)
            if self.refuse:
                raise self.RejectRun("not paid", 402)

        @self.after_run
        async def after(ctx: RunContext) -> None:
            self.told.append(("after", ctx))

        @self.on_run_error
        async def error(ctx: RunContext) -> None:
            self.told.append(("error", ctx))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.told]


async def ask(job: Job) -> Admission:
    found = await RUNS.ask(RUN, job, {"assistant_id": "a1"})
    assert found is not None
    return found


async def execute(job: Job, admission: Admission | None, result: Any = None, left: Any = "") -> None:
    run = RUNS.executing(RUN, job, admission)
    await run.enter()
    async with operation("agent.invoke", "inner"):
        pass
    assert run.leave(result, left=left) is None
    await run.end()
    assert current.get() is None


def test_servers_ask_about_runs_where_a_hook_applies_to_them() -> None:
    with recorder():
        assert not RUNS.hooked
    with recorder(Told()):
        assert RUNS.hooked


def test_what_gates_decided_but_to_let_it_pass_is_told_with_the_run() -> None:
    hooks = Hooks()

    @hooks.before("run", fail_mode="open", timeout=0.01)
    async def slow(_op: Operation) -> None:
        await asyncio.sleep(5)

    async def main() -> None:
        admission = Admission.of((await ask(Job())).text())
        await execute(Job(), admission)

    with recorder(hooks) as seen:
        asyncio.run(main())
    (run,) = (op for op in seen.operations if op.kind == "run")
    assert [(one.hook, one.decision) for one in run.decisions] == [("slow", "timeout")]


def test_a_run_is_asked_about_once_and_has_one_end() -> None:
    hooks = Told()

    async def main() -> None:
        admission = await ask(Job())
        assert seen.operations == []
        assert current.get() is None
        read = Admission.of(admission.text())
        assert (admission.known, admission.state) == ({"assistant_id": "a1"}, {"asked": 1})
        await execute(Job(), read, {"answer": 42})

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert hooks.names == ["before", "after"]
    (_, before), (_, after) = hooks.told
    for ctx in (before, after):
        assert (ctx.run_id, ctx.thread_id, ctx.assistant_id, ctx.graph_id) == ("r1", "t1", "a1", "research")
        assert (ctx.user.identity, ctx.user.plan, ctx.config) == ("ann", "pro", {"x": 1})
    assert (after.output, after.status, after.metadata) == ({"answer": 42}, "success", {"asked": 1})
    inner, run = seen.operations
    assert (run.kind, run.name, run.status, inner.identity.run_id) == ("run", "research", "success", "r1")
    assert [span.name for span in seen.spans] == ["invoke_agent inner", "invoke_workflow research"]


def test_a_refusal_is_an_operation_at_once() -> None:
    hooks = Told()
    hooks.refuse = True
    with recorder(hooks) as seen, pytest.raises(Reject, match="not paid") as raised:
        asyncio.run(ask(Job()))
    assert raised.value.status_code == 402
    assert hooks.names == ["before"]
    (run,) = seen.operations
    assert (run.kind, run.status, run.identity.run_id) == ("run", "rejected", "r1")
    (span,) = seen.spans
    assert (span.name, span.status.is_ok) == ("invoke_workflow research", False)


@pytest.mark.parametrize(
    "other",
    [
        lambda _admission: None,
        lambda admission: replace(admission, run_id="r2"),
        lambda admission: replace(admission, user_id="eve"),
        lambda admission: replace(admission, hooks="0" * 12),
    ],
)
def test_what_was_decided_about_another_run_is_nothing(other: Any) -> None:
    hooks = Told()

    async def main() -> None:
        admission = await ask(Job())
        hooks.refuse = True
        with pytest.raises(Reject, match="not paid"):
            await execute(Job(), other(admission))
        assert current.get() is None

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert hooks.names == ["before", "before"]
    assert [one.status for one in seen.operations] == ["rejected"]


def test_without_hooks_there_is_nothing_to_decide() -> None:
    async def main() -> None:
        assert await RUNS.ask(RUN, Job(), {}) is None
        await execute(Job(), None)

    with recorder() as seen:
        asyncio.run(main())
    assert [one.kind for one in seen.operations] == ["agent.invoke", "run"]


def test_it_is_nobodys_part() -> None:
    """Though it is asked for in a request, and executed in the context of that."""
    hooks = Told()

    async def main() -> None:
        async with operation("request", "POST /runs"):
            admission = await ask(Job())
            run = RUNS.executing(RUN, Job(), admission)
            await run.enter()
            run.leave()
            await run.end()
            assert current.get() is not None

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert hooks.names == ["before", "after"]
    assert [(one.kind, one.parent) for one in seen.operations] == [("run", None), ("request", None)]


def test_it_is_nobodys_part_inside_a_span_of_another_instrumentation() -> None:
    """Such as when a tool that others trace asks the server that it runs in for a run."""
    hooks = Told()

    async def main() -> None:
        tracer = seen.tracer_provider.get_tracer("openinference.instrumentation.other")
        with tracer.start_as_current_span("theirs", attributes={"openinference.span.kind": "TOOL"}):
            await execute(Job(), await ask(Job()))
            await execute(Job("r2"), None)

    with recorder(hooks) as seen:
        asyncio.run(main())
    about = [(name, ctx.run_id) for name, ctx in hooks.told if ctx.graph_id == "research"]
    assert about == [("before", "r1"), ("after", "r1"), ("before", "r2"), ("after", "r2")]
    assert {one.parent for one in seen.operations if one.kind == "run"} == {None}


def test_a_request_is_no_run_and_what_is_in_it_may_be_one() -> None:
    hooks = Told()

    async def main() -> None:
        chat, agent, tool = ("request", "POST /chat"), ("agent.invoke", "one"), ("tool.execute", "search")
        async with operation(*chat), operation(*agent), operation(*tool):
            pass

    with recorder(hooks):
        asyncio.run(main())
    assert [(name, ctx.graph_id) for name, ctx in hooks.told] == [("before", "one"), ("after", "one")]


# ------------------------------------------------------------------------------------------------ how it ends


def test_errors_and_cancellations_are_ends() -> None:
    hooks = Told()

    async def main() -> None:
        for error in (ValueError("out of paper"), asyncio.CancelledError()):
            run = RUNS.executing(RUN, Job(), await ask(Job()))
            await run.enter()
            assert run.leave(error=error) is None
            await run.end()

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert [ctx.error_type for name, ctx in hooks.told if name == "error"] == ["ValueError", "CancelledError"]
    assert [one.status for one in seen.operations] == ["error", "cancelled"]


def test_an_error_that_comes_later() -> None:
    """Such as one in recording the end: the run has not ended as it seemed."""
    hooks = Told()

    async def main() -> None:
        run = RUNS.executing(RUN, Job(), None)
        await run.enter()
        run.leave("done")
        await run.end(ConnectionError("the database is away"))
        await run.end()

    with recorder(hooks):
        asyncio.run(main())
    assert hooks.names == ["before", "error"]
    assert hooks.told[-1][1].error_type == "ConnectionError"


def test_a_run_that_waits_for_a_person() -> None:
    hooks = Told()
    with recorder(hooks):
        asyncio.run(execute(Job(), None, left="interrupted"))
    assert hooks.told[-1][1].status == "interrupted"


def test_a_run_that_goes_on_elsewhere_has_not_ended() -> None:
    hooks = Told()

    async def main() -> None:
        admission = await ask(Job())
        run = RUNS.executing(RUN, Job(), admission)
        await run.enter()
        await run.hand_back()
        assert current.get() is None
        assert hooks.names == ["before"]
        await execute(Job(), admission)

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert hooks.names == ["before", "after"]
    assert [one.status for one in seen.operations if one.kind == "run"] == ["interrupted", "success"]


def test_what_stops_the_run_inside_is_raised_when_it_is_left() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def never(op: Operation) -> None:
        raise Reject("no tools", scope="run")

    async def main() -> BaseException | None:
        run = RUNS.executing(RUN, Job(), None)
        await run.enter()
        instead = None
        try:
            with operation("agent.invoke", "one"), suppress(Exception), operation("tool.execute", "search"):
                pass
        except BaseException as error:
            instead = run.leave(error=error)
        await run.end()
        return instead

    with recorder(hooks) as seen:
        instead = asyncio.run(main())
    assert type(instead) is Reject
    assert [one.status for one in seen.operations] == ["rejected"] * 3


def test_a_run_that_is_dropped_ends() -> None:
    async def main() -> None:
        run = RUNS.executing(RUN, Job(), None)
        await run.enter()
        del run
        gc.collect()

    with recorder() as seen:
        asyncio.run(main())
        assert reaper.drain(60.0)
    assert [one.status for one in seen.operations] == ["abandoned"]


# ------------------------------------------------------------------------------------------------ hooks of other forms


def test_what_is_around_a_run_is_around_its_execution() -> None:
    hooks, told = Hooks(), list[str]()

    @hooks.before("run")
    def gate(op: Operation) -> None:
        told.append("before")

    @hooks.around("run")
    def generator(op: Operation) -> Generator[None, Any, None]:
        told.append("around")
        yield
        told.append("around, after")

    @hooks.around("run")
    async def wraps(op: Operation, call_next: Any) -> Any:
        told.append("wraps")
        result = await call_next()
        told.append("wrapped")
        return result

    @hooks.after("run")
    async def after(op: Operation) -> None:
        told.append("after")

    async def main() -> None:
        admission = await ask(Job())
        assert told == ["before"]
        await execute(Job(), admission)

    with recorder(hooks):
        asyncio.run(main())
    assert told == ["before", "around", "wraps", "wrapped", "around, after", "after"]


def test_the_client_may_be_gone_while_gates_are_asked() -> None:
    hooks = Hooks()
    asking = asyncio.Event()

    @hooks.before("run", timeout=None)
    async def slow(op: Operation) -> None:
        asking.set()
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(ask(Job()))
        await asking.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert [one.status for one in seen.operations] == ["cancelled"]


def test_the_application_says_whose_it_is() -> None:
    """``spanhook.context`` goes before what the server knows, and the admission is still about the server's run."""
    hooks = Told()

    async def main() -> None:
        with context(user_id="acme/ann"):
            admission = await ask(Job())
            assert admission.user_id == "ann"
            await execute(Job(), admission)

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert hooks.names == ["before", "after"]
    assert seen.operations[-1].identity.user_id == "acme/ann"
