"""What each sort of hook of a run may do, and what comes of what it raises."""

import asyncio
import copy
import functools
import logging
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import trio
from langchain_core.tools import tool

import spanhook
from spanhook import ConfigurationError, HookError, Hooks, Operation, Reject, Settings, operation
from spanhook.instrument import swallowers
from spanhook.model import clock
from spanhook.runs import RejectRun, RunContext, RunHooks, run_scope
from spanhook.testing import recorder

KINDS = ("sync", "async", "trio")


def run(kind: str, body: Callable[[], Any] = lambda: None) -> None:
    """A run of own code, in one of the ways that code is run."""
    if kind == "sync":
        with run_scope("own") as scope:
            scope.output = body()
        return

    async def arun() -> None:
        async with run_scope("own") as scope:
            scope.output = body()

    if kind == "async":
        asyncio.run(arun())
    else:
        trio.run(arun)


def noting(hooks: RunHooks) -> list[str]:
    """What is noted of runs, in order."""
    noted: list[str] = []
    hooks.before_run(lambda ctx: noted.append("before"))
    hooks.after_run(lambda ctx: noted.append(f"after {ctx.status}"))
    hooks.on_run_error(lambda ctx: noted.append(f"error {ctx.error_type}: {ctx.error}"))
    return noted


# ------------------------------------------------------------------------------------------------ order and form


@pytest.mark.parametrize("kind", KINDS)
def test_several_hooks_run_in_registration_order(kind: str) -> None:
    hooks, ran = RunHooks(), list[str]()

    def register(which: Callable[[Any], Any], name: str) -> None:
        async def waits(ctx: RunContext) -> None:
            await asyncio.sleep(0)
            ran.append(f"{name} 1")

        which(waits)
        which(lambda ctx: ran.append(f"{name} 2"))
        which(functools.partial(lambda label, ctx: ran.append(label), f"{name} 3"))

    register(hooks.before_run, "before")
    register(hooks.after_run, "after")
    register(hooks.on_run_error, "error")

    def fail() -> None:
        raise ValueError

    with recorder(hooks):
        run(kind)
        assert ran == ["before 1", "before 2", "before 3", "after 1", "after 2", "after 3"]
        ran.clear()
        with pytest.raises(ValueError):
            run(kind, fail)
    assert ran == ["before 1", "before 2", "before 3", "error 1", "error 2", "error 3"]


def test_decorated_functions_are_given_back() -> None:
    hooks = RunHooks()

    @hooks.before_run
    @hooks.after_run
    @hooks.on_run_error
    async def audit(ctx: RunContext) -> int:
        return 3

    assert asyncio.run(audit(None)) == 3  # pyright: ignore[reportArgumentType]
    assert repr(hooks) == "<RunHooks audit>"


class Auditor:
    """Hooks as methods and as an object that is called."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def before(self, ctx: RunContext) -> None:
        self.noted.append("before")

    async def __call__(self, ctx: RunContext) -> None:
        await asyncio.sleep(0)
        self.noted.append("called")


@pytest.mark.parametrize("kind", KINDS)
def test_methods_and_objects_are_hooks_too(kind: str) -> None:
    hooks, auditor = RunHooks(), Auditor()
    hooks.before_run(auditor.before)
    hooks.after_run(auditor)
    with recorder(hooks) as seen:
        run(kind)
    assert auditor.noted == ["before", "called"]
    assert not seen.operations[0].decisions


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_hook_returns_is_ignored(kind: str) -> None:
    hooks = RunHooks()

    @hooks.before_run
    async def counts(ctx: RunContext) -> int:
        return 1

    hooks.before_run(lambda ctx: "no")
    hooks.after_run(lambda ctx: Reject("no"))
    with recorder(hooks) as seen:
        run(kind)
    assert (seen.operations[0].status, seen.operations[0].decisions) == ("success", ())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [RejectRun, RejectRun("no"), Reject("no")], ids=["class", "instance", "plain"])
@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_refusal_that_before_run_returns_refuses_the_run(kind: str, value: Any, form: str) -> None:
    hooks, ran = RunHooks(), list[int]()

    async def waits(ctx: RunContext) -> Any:
        return value

    hooks.before_run(waits if form == "async" else lambda ctx: value)
    with recorder(hooks), pytest.raises(RejectRun):
        run(kind, lambda: ran.append(1))
    assert not ran


def test_hooks_are_taken_out_again() -> None:
    hooks = RunHooks()
    noted = noting(hooks)
    auditor = Auditor()
    hooks.before_run(auditor.before)
    with recorder(hooks):
        assert hooks.remove(auditor.before)
        assert not hooks.remove(auditor.before)
        run("sync")
    assert (noted, auditor.noted) == (["before", "after success"], [])


def test_what_is_no_hook_is_refused_where_it_is_written() -> None:
    hooks: Any = RunHooks()
    with pytest.raises(
        ConfigurationError, match=r"before_run\(3\): expected a function; write @hooks.before_run alone"
    ):
        hooks.before_run(3)
    with pytest.raises(ConfigurationError, match=r"takes \(\); it is called with \(ctx\).*test_hooks.py, line"):
        hooks.after_run(lambda: None)
    with pytest.raises(ConfigurationError, match="timeout=0, expected seconds above 0"):
        RunHooks(timeout=0)
    with pytest.raises(ConfigurationError, match="timeout='10'"):
        hooks.timeout = "10"
    assert hooks.timeout == 10.0


# ------------------------------------------------------------------------------------------------ which runs


def test_hooks_are_bound_to_the_outermost_operation_whatever_its_kind() -> None:
    hooks, noted = RunHooks(), list[str]()
    hooks.before_run(lambda ctx: noted.append(ctx.graph_id))

    @spanhook.tool
    def search(query: str) -> str:
        return query

    @spanhook.agent("desk")
    def desk(question: str) -> str:
        return search(question)

    with recorder(hooks):
        desk("x")
        search("x")
        with operation("llm.call", "gpt-4o"):
            pass
        with run_scope("served"):
            desk("x")
    assert noted == ["desk", "search", "gpt-4o", "served"]


def test_a_run_in_a_run_is_part_of_it() -> None:
    hooks = RunHooks()
    noted = noting(hooks)
    with recorder(hooks), run_scope("outer"), run_scope("inner"):
        pass
    assert noted == ["before", "after success"]


def test_what_hooks_themselves_call_is_no_run() -> None:
    hooks, noted = RunHooks(), list[str]()

    @hooks.before_run
    async def judge(ctx: RunContext) -> None:
        noted.append(ctx.graph_id)
        async with run_scope("judge"):
            pass

    with recorder(hooks):
        run("async")
    assert noted == ["own"]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_hooks_shared_by_threads(kind: str) -> None:
    """Runs of eight threads at once, each told of its own, on one set of hooks."""
    hooks, noted, lock = RunHooks(), dict[str, list[str]](), threading.Lock()
    together = threading.Barrier(8)

    @hooks.before_run
    async def before(ctx: RunContext) -> None:
        await asyncio.sleep(0)
        ctx.metadata["given"] = ctx.input

    @hooks.after_run
    def after(ctx: RunContext) -> None:
        with lock:
            noted.setdefault(ctx.metadata["given"], []).append(ctx.output)

    def one(n: int) -> None:
        if kind == "sync":
            with run_scope("own", input=f"in {n}") as scope:
                together.wait(60)
                scope.output = n
            return

        async def arun() -> None:
            async with run_scope("own", input=f"in {n}") as scope:
                await asyncio.to_thread(together.wait, 60)
                scope.output = n

        asyncio.run(arun())

    with recorder(hooks), ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    assert noted == {f"in {n}": [n] for n in range(8)}


# ------------------------------------------------------------------------------------------------ before_run


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["def", "async def"])
def test_a_rejection_refuses_the_run(kind: str, form: str) -> None:
    hooks, ran = RunHooks(), list[str]()
    noted = noting(hooks)

    @hooks.before_run
    def refuse(ctx: RunContext) -> Any:
        if form == "def":
            raise hooks.RejectRun("Rate limit exceeded")

        async def wait() -> None:
            await asyncio.sleep(0)
            raise hooks.RejectRun("Rate limit exceeded")

        return wait()

    hooks.before_run(lambda ctx: ran.append("the next hook"))
    with recorder(hooks) as seen, pytest.raises(RejectRun) as caught:
        run(kind, lambda: ran.append("the run"))
    assert (caught.value.message, caught.value.reason) == ("Rate limit exceeded",) * 2
    assert (caught.value.status_code, caught.value.scope) == (429, "run")
    assert (ran, noted) == ([], ["before"])
    (decision,) = seen.operations[0].decisions
    assert (decision.decision, decision.hook, decision.reason) == ("reject", "refuse", "Rate limit exceeded")


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_reject_rejects_like_reject_run(kind: str) -> None:
    hooks = RunHooks()
    noted = noting(hooks)

    @hooks.before_run
    async def refuse(ctx: RunContext) -> None:
        raise Reject("Not today", status_code=402)

    with recorder(hooks), pytest.raises(RejectRun, match="Not today") as caught:
        run(kind)
    assert (caught.value.status_code, caught.value.scope) == (402, "run")
    assert noted == ["before"]


class Unpaid(Reject):
    """A refusal of an application's own, with a constructor of its own."""

    def __init__(self, amount: int) -> None:
        super().__init__("Unpaid", status_code=402)
        self.amount = amount


def test_a_reject_of_ones_own_keeps_its_class_and_refuses_the_run() -> None:
    hooks = RunHooks()
    raised = Unpaid(20)

    @hooks.before_run
    def refuse(ctx: RunContext) -> None:
        raise raised

    with recorder(hooks), pytest.raises(Unpaid) as caught:
        run("sync")
    assert (caught.value.amount, caught.value.scope, caught.value.status_code) == (20, "run", 402)
    assert raised.scope == "operation"


def test_one_rejection_may_be_raised_again_and_again() -> None:
    hooks, always = RunHooks(), RejectRun("Closed", 503)

    @hooks.before_run
    def refuse(ctx: RunContext) -> None:
        raise always

    with recorder(hooks):
        for _ in range(3):
            with pytest.raises(RejectRun) as caught:
                run("sync")
            assert caught.value is not always
            assert (caught.value.message, caught.value.status_code) == ("Closed", 503)


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_rejection_keeps_its_class_through_copies_and_pickling(twin: Callable[[Any], Any]) -> None:
    found = twin(RejectRun("Closed", 503))
    assert type(found) is RejectRun is RunHooks.RejectRun
    assert (found.message, found.status_code, found.scope, str(found)) == ("Closed", 503, "run", "Closed")
    assert (RejectRun().status_code, RejectRun(message="x").reason) == (429, "x")


def test_a_lone_tool_that_is_a_run_is_refused_with_the_exception() -> None:
    """Frameworks make results of refused tools; a refused run has none."""
    hooks = RunHooks()

    @tool
    def refund(amount: int) -> str:
        """Pay money back."""
        return "paid"

    @hooks.before_run
    def refuse(ctx: RunContext) -> None:
        assert ctx.input == {"amount": 5}
        raise RejectRun("No")

    call = {"type": "tool_call", "id": "1", "name": "refund", "args": {"amount": 5}}
    with recorder(hooks), pytest.raises(RejectRun):
        refund.invoke(call)


@pytest.mark.parametrize("kind", KINDS)
def test_another_exception_in_before_run_fails_the_run(kind: str) -> None:
    hooks = RunHooks()
    noted, ran = noting(hooks), list[str]()
    broken = ConnectionError("billing is down")

    @hooks.before_run
    async def breaks(ctx: RunContext) -> None:
        await asyncio.sleep(0)
        raise broken

    with recorder(hooks) as seen, pytest.raises(ConnectionError) as caught:
        run(kind, lambda: ran.append("the run"))
    assert caught.value is broken
    assert (ran, noted) == ([], ["before", "error ConnectionError: billing is down"])
    assert seen.operations[0].status == "error"


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_error_that_before_run_raises_fails_the_run(kind: str) -> None:
    """Nobody has cancelled the run, so it has failed: the caller's task is not cancelled."""
    hooks = RunHooks()
    noted, ran = noting(hooks), list[str]()

    @hooks.before_run
    async def breaks(ctx: RunContext) -> None:
        raise asyncio.CancelledError

    with recorder(hooks), pytest.raises(HookError, match="left by a CancelledError") as caught:
        run(kind, lambda: ran.append("the run"))
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    assert ran == []
    assert noted[0] == "before"
    assert noted[1].startswith("error HookError: ")


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("form", ["def", "async def"])
def test_before_run_does_not_swallow_an_interrupt_from_the_keyboard(kind: str, form: str) -> None:
    hooks = RunHooks()

    @hooks.before_run
    def interrupted(ctx: RunContext) -> Any:
        if form == "def":
            raise KeyboardInterrupt

        async def wait() -> None:
            raise KeyboardInterrupt

        return wait()

    with recorder(hooks), pytest.raises(KeyboardInterrupt):
        run(kind)


def test_a_run_that_is_cancelled_while_a_hook_decides() -> None:
    hooks = RunHooks()
    noted = noting(hooks)

    async def main() -> None:
        deciding = asyncio.Event()

        @hooks.before_run
        async def decides(ctx: RunContext) -> None:
            deciding.set()
            await asyncio.Event().wait()

        async def arun() -> None:
            async with run_scope("own"):
                raise AssertionError("it ran")

        task = asyncio.create_task(arun())
        await deciding.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(hooks):
        asyncio.run(main())
    assert noted == ["before", "error CancelledError: Run was cancelled"]


# ------------------------------------------------------------------------------------------------ after, on error


class Worse(Exception):
    pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "raised", [ValueError("x"), Reject("x"), RejectRun("x"), asyncio.CancelledError(), Worse()], ids=repr
)
def test_what_after_run_raises_is_logged_not_propagated(
    kind: str, raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    hooks, ran = RunHooks(), list[str]()

    @hooks.after_run
    async def reports(ctx: RunContext) -> None:
        await asyncio.sleep(0)
        raise raised

    @hooks.after_run
    def reports_at_once(ctx: RunContext) -> None:
        raise raised

    hooks.after_run(lambda ctx: ran.append("the next"))
    with recorder(hooks) as seen, caplog.at_level(logging.WARNING, "spanhook"):
        run(kind)
    assert ran == ["the next"]
    assert seen.operations[0].status == "success"
    assert [one.decision for one in seen.operations[0].decisions] == ["error", "error"]
    assert "hook 'reports' on run.post failed" in caplog.text
    assert "hook 'reports_at_once' on run.post failed" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("raised", [ValueError("x"), RejectRun("x"), asyncio.CancelledError()], ids=repr)
def test_what_on_run_error_raises_does_not_mask_the_error(
    kind: str, raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    hooks, ran = RunHooks(), list[str]()

    @hooks.on_run_error
    async def alerts(ctx: RunContext) -> None:
        raise raised

    hooks.on_run_error(lambda ctx: ran.append(str(ctx.error)))

    def fail() -> None:
        raise Worse("the run's own")

    with recorder(hooks), caplog.at_level(logging.WARNING, "spanhook"), pytest.raises(Worse):
        run(kind, fail)
    assert ran == ["the run's own"]
    assert "hook 'alerts' on run.error failed" in caplog.text


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("which", ["after_run", "on_run_error"])
def test_an_interrupt_from_the_keyboard_is_never_swallowed(kind: str, which: str) -> None:
    hooks = RunHooks()

    def interrupted(ctx: RunContext) -> None:
        raise KeyboardInterrupt

    getattr(hooks, which)(interrupted)

    def fail() -> None:
        if which == "on_run_error":
            raise ValueError

    with recorder(hooks), pytest.raises(KeyboardInterrupt):
        run(kind, fail)


def test_a_cancelled_error_that_on_run_error_raises_of_a_cancelled_run_is_swallowed() -> None:
    hooks, ran = RunHooks(), list[str]()

    @hooks.on_run_error
    async def alerts(ctx: RunContext) -> None:
        raise asyncio.CancelledError

    @hooks.on_run_error
    async def tells(ctx: RunContext) -> None:
        await asyncio.sleep(0)
        ran.append(f"{ctx.error_type}: {ctx.error}")

    async def main() -> None:
        inside = asyncio.Event()

        async def arun() -> None:
            async with run_scope("own"):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(arun())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert ran == ["CancelledError: Run was cancelled"]
    assert seen.operations[0].status == "cancelled"


def test_a_run_that_trio_cancels_is_told_like_any() -> None:
    hooks, ran = RunHooks(), list[str]()

    @hooks.on_run_error
    async def tells(ctx: RunContext) -> None:
        await asyncio.sleep(0)
        ran.append(f"{ctx.error_type}: {ctx.error}")

    async def main() -> None:
        with trio.CancelScope() as scope:
            async with run_scope("own"):
                scope.cancel()
                await trio.sleep_forever()

    with recorder(hooks):
        trio.run(main)
    assert ran == ["CancelledError: Run was cancelled"]


def test_hooks_of_a_cancelled_run_are_shielded() -> None:
    """Cancelled again while its hooks run, they finish all the same."""
    hooks, ran = RunHooks(), list[str]()

    async def main() -> None:
        inside, alerting, go_on, done = (asyncio.Event() for _ in range(4))

        @hooks.on_run_error
        async def alerts(ctx: RunContext) -> None:
            alerting.set()
            await go_on.wait()
            ran.append("alerted")
            done.set()

        async def arun() -> None:
            async with run_scope("own"):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(arun())
        await inside.wait()
        task.cancel()
        await alerting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ran == []
        go_on.set()
        await done.wait()

    with recorder(hooks):
        asyncio.run(main())
    assert ran == ["alerted"]


# ------------------------------------------------------------------------------------------------ timeouts


async def hangs(ctx: RunContext) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("kind", KINDS)
def test_a_before_run_hook_that_times_out_rejects_with_504(kind: str) -> None:
    hooks = RunHooks(timeout=0.01)
    hooks.before_run(hangs)
    hooks.after_run(lambda ctx: pytest.fail("it ran"))
    hooks.on_run_error(lambda ctx: pytest.fail("it failed"))
    with recorder(hooks) as seen, pytest.raises(RejectRun, match="hook 'hangs' timed out after 10 ms") as caught:
        run(kind)
    assert (caught.value.status_code, caught.value.scope) == (504, "run")
    assert [one.decision for one in seen.operations[0].decisions] == ["timeout"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["after_run", "on_run_error"])
def test_other_hooks_that_time_out_are_logged(kind: str, which: str, caplog: pytest.LogCaptureFixture) -> None:
    hooks, ran = RunHooks(timeout=0.01), list[str]()
    getattr(hooks, which)(hangs)
    getattr(hooks, which)(lambda ctx: ran.append("the next"))

    def fail() -> None:
        if which == "on_run_error":
            raise Worse

    with recorder(hooks), caplog.at_level(logging.WARNING, "spanhook"):
        if which == "on_run_error":
            with pytest.raises(Worse):
                run(kind, fail)
        else:
            run(kind)
    assert ran == ["the next"]
    assert "timed out after 10 ms" in caplog.text


def test_a_failing_end_hook_is_logged_for_each_run_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    hooks = RunHooks()

    @hooks.after_run
    def keeps_the_books(ctx: RunContext) -> None:
        raise ValueError("wrong")

    with recorder(hooks) as seen, caplog.at_level(logging.WARNING, "spanhook"):
        for _ in range(3):
            run("sync")
    assert [one.getMessage() for one in caplog.records] == [
        f"spanhook: hook 'keeps_the_books' on run.post failed: ValueError: wrong (run {op.identity.run_id})"
        for op in seen.operations
    ]
    assert len({op.identity.run_id for op in seen.operations} - {""}) == 3


@pytest.mark.parametrize("cls", [Reject, RejectRun])
def test_facts_of_a_refusal_are_those_of_its_decision(cls: type[Reject]) -> None:
    hooks = RunHooks()

    @hooks.before_run
    def limits(ctx: RunContext) -> None:
        refusal = cls("too many", status_code=429)
        refusal.facts = {"acme.runs": 3}
        raise refusal

    with recorder(hooks) as seen, pytest.raises(RejectRun):
        run("sync")
    assert [one.facts for one in seen.operations[0].decisions] == [{"acme.runs": 3}]


def test_a_timeout_set_anew_holds_from_the_next_run_on() -> None:
    hooks = RunHooks()
    hooks.before_run(lambda ctx: None)
    hooks.before_run(hangs)
    with recorder(hooks):
        hooks.timeout = 0.01
        with pytest.raises(RejectRun, match="timed out after 10 ms"):
            run("async")
        hooks.remove(hangs)
        hooks.timeout = None
        run("async")


def test_hooks_of_runs_take_ten_seconds_unless_told_otherwise() -> None:
    hooks = RunHooks()
    hooks.before_run(hangs)
    (bound,) = hooks.__spanhook_hooks__().bound
    assert (hooks.timeout, bound.timeout_ns) == (10.0, 10_000_000_000)


@pytest.mark.usefixtures("limits")
def test_slow_hooks_of_runs_use_up_nobodys_budget() -> None:
    """Nothing of a run's end is left out because its beginning took long."""
    hooks, others, ran = RunHooks(), Hooks(), list[str]()

    @hooks.before_run
    async def slow(ctx: RunContext) -> None:
        clock.now = lambda: time_of["now"]
        time_of["now"] += 2_000_000_000

    time_of = {"now": 1}
    hooks.after_run(lambda ctx: ran.append("after_run"))
    others.after("run")(lambda op: ran.append("an observer"))
    with recorder([hooks, others]) as seen:
        run("async")
    assert sorted(ran) == ["after_run", "an observer"]
    assert not [one for one in seen.operations[0].decisions if one.decision == "skipped"]


@pytest.mark.usefixtures("limits")
def test_hooks_of_runs_are_never_left_out_for_others() -> None:
    hooks, others, ran = RunHooks(), Hooks(), list[str]()
    time_of = {"now": 1}

    @others.before("run", timeout=5.0)
    async def slow(op: Operation) -> None:
        clock.now = lambda: time_of["now"]
        time_of["now"] += 2_000_000_000

    hooks.after_run(lambda ctx: ran.append("after_run"))
    with recorder([hooks, others]):
        run("async")
    assert ran == ["after_run"]


# ------------------------------------------------------------------------------------------------ with the others


def test_instrument_takes_them_as_it_takes_hooks() -> None:
    hooks, others, ran = RunHooks(), Hooks(), list[str]()
    hooks.before_run(lambda ctx: ran.append("run"))
    others.before("run")(lambda op: ran.append("hook"))
    with recorder(hooks):
        run("sync")
    with recorder([others, hooks]):
        spanhook.instrument(hooks)
        run("sync")
        hooks.before_run(lambda ctx: ran.append("added later"))
        run("sync")
    run("sync")
    assert ran == ["run", "hook", "run", "hook", "run", "added later"]


def test_what_offers_no_hooks_is_refused() -> None:
    class Odd:
        def __spanhook_hooks__(self) -> Any:
            return [1]

    for given in (Odd(), RunHooks, "hooks", 3):
        with pytest.raises(ConfigurationError, match=r"is neither a spanhook\.Hooks nor"):
            spanhook.instrument(given)  # pyright: ignore[reportArgumentType]


def test_nothing_runs_while_hooks_are_off() -> None:
    hooks = RunHooks()
    noted = noting(hooks)
    with recorder(hooks, settings=Settings(mode="off")):
        run("sync")
    assert noted == []


def test_metadata_is_shared_by_the_hooks_of_one_run() -> None:
    hooks, found = RunHooks(), list[Any]()

    @hooks.before_run
    async def begins(ctx: RunContext) -> None:
        ctx.metadata["began"] = ctx.run_id

    hooks.after_run(lambda ctx: found.append((ctx.run_id, ctx.metadata["began"])))
    with recorder(hooks):
        run("async")
        run("async")
    assert len(found) == 2
    assert all(run_id == began for run_id, began in found)


def test_in_shadow_a_run_goes_on_and_what_would_have_been_is_recorded() -> None:
    hooks, noted = RunHooks(), list[str]()

    @hooks.before_run
    async def refuse(ctx: RunContext) -> None:
        noted.append(ctx.graph_id)
        raise RejectRun("No")

    @hooks.before_run
    def breaks(ctx: RunContext) -> None:
        raise ValueError

    hooks.after_run(lambda ctx: noted.append(str(ctx.status)))
    with recorder(hooks, settings=Settings(mode="shadow")) as seen:
        run("async")
    assert sorted(noted) == ["own", "success"]
    (op,) = seen.operations
    assert (op.status, op.decisions) == ("success", ())
    assert sorted((one.decision, one.hook, one.mode) for one in op.shadow_decisions) == [
        ("error", "breaks", "shadow"),
        ("reject", "refuse", "shadow"),
    ]


@pytest.mark.parametrize("raised", [RejectRun("No", 402), ConnectionError("billing is down")], ids=repr)
def test_runs_that_other_instrumentations_trace_are_refused_where_they_let_it_out(raised: Exception) -> None:
    hooks, ran = RunHooks(), list[str]()
    noted = noting(hooks)

    @hooks.before_run
    def decide(ctx: RunContext) -> None:
        if ctx.graph_id == "desk":
            raise raised

    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("theirs")
        for name in ("desk", "other"):
            attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
            try:
                with tracer.start_as_current_span("agent", attributes=attributes):
                    ran.append(name)
            except (RejectRun, ConnectionError) as error:
                ran.append(str(error))
    assert ran == [str(raised), "other"]
    failed = [] if isinstance(raised, RejectRun) else ["error ConnectionError: billing is down"]
    assert noted == ["before", *failed, "before", "after success"]


@pytest.mark.parametrize("raised", [RejectRun("No", 402), Reject("No"), ConnectionError("billing is down")], ids=repr)
def test_what_is_inside_of_a_run_whose_refusal_is_swallowed_is_refused(raised: Exception) -> None:
    hooks, ran = RunHooks(), list[str]()

    @hooks.before_run
    def decide(ctx: RunContext) -> None:
        raise raised

    with recorder(hooks, only=()) as seen:
        tracer = seen.tracer_provider.get_tracer(min(swallowers()))
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
        with tracer.start_as_current_span("agent", attributes=attributes, record_exception=False):
            for _ in range(2):
                with pytest.raises(Reject) as refused, operation("tool.execute", "t"):
                    ran.append("t")
                assert refused.value.status_code == getattr(raised, "status_code", 500)
    assert ran == []


def test_hooks_change_while_runs_are_under_way() -> None:
    """A gate that stays is never left out, whatever is registered, removed or timed anew around it."""
    hooks, gated, stop = RunHooks(), list[str](), threading.Event()

    @hooks.before_run
    async def gate(ctx: RunContext) -> None:
        gated.append(ctx.run_id)

    def change(n: int) -> None:
        while not stop.is_set():
            added = hooks.after_run(lambda ctx: None)
            hooks.timeout = 30.0 + n
            assert hooks.remove(added)

    def use(_n: int) -> list[str]:
        ran: list[str] = []
        for _ in range(50):
            with run_scope("own") as scope:
                ran.append(scope.run_id)
        return ran

    with recorder(hooks), ThreadPoolExecutor(6) as pool:
        changing = [pool.submit(change, n) for n in range(3)]
        try:
            ran = [one for several in pool.map(use, range(3)) for one in several]
        finally:
            stop.set()
        for one in changing:
            one.result(60)
    assert sorted(gated) == sorted(ran)
    assert len(ran) == 150
