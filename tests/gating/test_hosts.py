"""Timeouts, budgets, blocking hooks, cancellation: where hooks meet the clock and the event loop."""

import asyncio
import contextvars
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

import spanhook
from spanhook import Hooks, Operation, Reject, SealedError, per_loop
from spanhook.concurrency import Workers, loops, private_loops, remote
from spanhook.diagnostics import internal
from spanhook.gating import _hosts
from spanhook.model import clock
from tests.stub import MODES, passing, stubbed, use

Next = Callable[[], Awaitable[Any]]
SHORT, LONG = 0.02, 30.0


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "spanhook"):
        yield


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    """Workers for hooks that hang; in those of everybody, what hung in another test may not have ended yet."""
    made = Workers("spanhook-hook")
    monkeypatch.setattr(_hosts, "workers", made)
    return made


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets more time pass than any limit here, for every clock that hooks are timed with; called in a hook."""
    passed = [0.0]

    def now() -> float:
        return time.monotonic() + passed[0]

    monkeypatch.setattr(loops, "monotonic", now)
    monkeypatch.setattr(remote, "monotonic", now)
    monkeypatch.setattr(remote, "SLICE_S", 0.01)

    def pass_time() -> None:
        passed[0] += 2 * LONG
        asyncio.get_running_loop().time = now

    return pass_time


def decisions(op: Operation) -> list[tuple[str, str]]:
    return [(one.hook, one.decision) for one in op.decisions]


async def forever() -> None:
    await asyncio.Event().wait()


# ------------------------------------------------------------------------------------------------ timeouts


@pytest.mark.one_value
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("form", ["before", "wrapping", "wrapping after"])
def test_an_async_hook_that_takes_too_long(
    form: str, closed: bool, mode: str, later: Callable[[], None], fresh_loops: None
) -> None:
    hooks = Hooks()
    settings: Any = {"timeout": LONG, "fail_mode": "closed" if closed else "open"}
    cancelled = threading.Event()

    async def before(op: Operation) -> None:
        await asyncio.sleep(0)  # from here on it is timed on async calls as well
        later()
        try:
            await forever()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def wrapping(op: Operation, call_next: Next) -> Any:
        if form == "wrapping after":
            await call_next()
        await before(op)

    if form == "before":
        hooks.before("llm.call", name="slow", **settings)(before)
    else:
        hooks.around("llm.call", name="slow", **settings)(wrapping)
    streamed = mode in ("stream", "astream")
    with stubbed(hooks) as (library, seen):
        if closed and not (form == "wrapping after" and streamed):
            with pytest.raises(Reject) as caught:
                use(library, mode, "x")
            assert caught.value.status_code == 504
            assert caught.value.reason == "hook 'slow' timed out after 30 s"
        else:
            assert use(library, mode, "x") == "x"
    assert len(library.calls) == (0 if closed and form != "wrapping after" else 1)
    expected = "too_late" if closed and form == "wrapping after" and streamed else "timeout"
    assert decisions(seen.operations[0])[0] == ("slow", expected)
    assert cancelled.wait(60.0)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("sort", ["class", "instance", "decorator"])
def test_a_hooks_own_timeout_and_fail_mode_are_obeyed(sort: str, closed: bool, mode: str) -> None:
    """Against what its band says, wherever they were given."""
    given: dict[str, Any] = {
        "timeout": SHORT,
        "fail_mode": "closed" if closed else "open",
        "priority": 900 if closed else 10,
    }

    class Slow(spanhook.Hook):
        kinds = ("llm.call",)

        async def before(self, op: Operation) -> None:
            await forever()

    hooks = Hooks()
    if sort == "class":
        hooks.add(type("Slow", (Slow,), given)())
    elif sort == "instance":
        slow = Slow()
        for name, value in given.items():
            setattr(slow, name, value)
        hooks.add(slow)
    else:
        hooks.before("llm.call", name="Slow", **given)(Slow().before)
    with stubbed(hooks) as (library, seen):
        if closed:
            with pytest.raises(Reject, match="hook 'Slow' timed out after 20 ms"):
                use(library, mode, "x")
        else:
            assert use(library, mode, "x") == "x"
    assert len(library.calls) == (0 if closed else 1)
    [decision] = seen.operations[0].decisions
    assert (decision.decision, decision.fail_mode) == ("timeout", given["fail_mode"])


def test_a_hook_that_swallows_its_timeout_has_timed_out_all_the_same(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=SHORT)
    async def stubborn(op: Operation) -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            return

    with stubbed(hooks) as (library, _), pytest.raises(Reject) as caught:
        use(library, mode, "x")
    assert caught.value.status_code == 504
    assert library.calls == []


def test_the_timeout_covers_the_hooks_own_code_alone(mode: str, later: Callable[[], None], fresh_loops: None) -> None:
    """A timeout that covered what the hook calls next made slow chains run steps several times."""
    hooks = Hooks()

    @hooks.around("llm.call", timeout=LONG, priority=10)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        return await call_next()

    @hooks.around("llm.call", timeout=LONG, priority=11)
    def around(op: Operation) -> Iterator[None]:
        yield

    @hooks.before("llm.call", timeout=None, priority=12)
    async def patient(op: Operation) -> None:
        later()
        for _ in range(10):  # a timer that is due by now would come in between
            await asyncio.sleep(0)

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
    assert library.calls == ["x"]
    assert seen.operations[0].decisions == ()


def test_a_sync_hook_that_overran_is_recorded_and_its_decision_stands() -> None:
    hooks = Hooks()
    now = [0]

    @hooks.before("llm.call", timeout=0.2, priority=10)
    def slow(op: Operation) -> None:
        now[0] += 300_000_000

    @hooks.before("llm.call", timeout=0.2, priority=11)
    def slow_and_refusing(op: Operation) -> None:
        now[0] += 300_000_000
        raise Reject("no")

    with stubbed(hooks) as (library, seen):
        clock.now = lambda: now[0]
        with pytest.raises(Reject, match="no"):
            library.work("x")
    op = seen.operations[0]
    assert decisions(op) == [("slow", "timeout"), ("slow_and_refusing", "reject")]
    assert op.decisions[0].reason == "ran 300 ms of 200 ms; what it decided stands"
    assert op.decisions[1].reason == "no (ran 300 ms of 200 ms)"


def test_a_spent_budget_skips_observers_and_never_gates(limits: None) -> None:
    hooks = Hooks()
    now = [0]
    ran: list[str] = []

    @hooks.before("llm.call", timeout=60.0, priority=10)
    def slow(op: Operation) -> None:
        now[0] += 600_000_000

    hooks.before("llm.call", priority=900)(lambda op: ran.append("late gate"))

    @hooks.before("llm.call", priority=901, timeout=60.0)
    async def late_async_gate(op: Operation) -> None:
        ran.append("late async gate")

    hooks.before("llm.call", priority=902, timeout=60.0, blocking=True)(lambda op: ran.append("late blocking gate"))

    @hooks.around("llm.call", priority=903)
    def late_around(op: Operation) -> Iterator[None]:
        ran.append("late around")
        yield

    hooks.after("llm.call", name="observer")(lambda op: ran.append("observer"))
    hooks.after("llm.call", priority=20)(lambda op: ran.append("closed after"))
    with stubbed(hooks) as (library, seen):
        clock.now = lambda: now[0]
        library.work("x")
    assert ran == ["late gate", "late async gate", "late blocking gate", "late around", "closed after"]
    assert decisions(seen.operations[0]) == [("observer", "skipped")]


def test_what_a_hook_uses_after_the_call_counts_against_the_budget(limits: None) -> None:
    hooks = Hooks()
    now = [0]
    ran: list[str] = []

    @hooks.after("llm.call", priority=10, timeout=60.0)
    def slow(op: Operation) -> None:
        now[0] += 600_000_000

    hooks.after("llm.call", name="observer")(lambda op: ran.append("observer"))
    hooks.after("llm.call", priority=20)(lambda op: ran.append("closed after"))
    with stubbed(hooks) as (library, seen):
        clock.now = lambda: now[0]
        library.work("x")
    assert ran == ["closed after"]
    assert decisions(seen.operations[0]) == [("observer", "skipped")]


def test_waiting_for_people_counts_against_no_budget() -> None:
    hooks = Hooks()
    now = [0]
    ran: list[str] = []

    @hooks.before("llm.call", timeout=None)
    def approval(op: Operation) -> None:
        now[0] += 3_600_000_000_000

    hooks.after("llm.call")(lambda op: ran.append("observer"))
    with stubbed(hooks) as (library, seen):
        clock.now = lambda: now[0]
        library.work("x")
    assert ran == ["observer"]
    assert seen.operations[0].decisions == ()


def test_defaults(limits: None) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: None)
    hooks.before("run")(lambda op: None)
    hooks.after("llm.call")(lambda op: None)
    one, run, after = hooks.bound
    assert (one.timeout_ns, one.priority, one.closed) == (200_000_000, 75, True)
    assert run.timeout_ns == 10_000_000_000
    assert (after.priority, after.closed) == (500, False)


# ------------------------------------------------------------------------------------------------ blocking hooks


def test_a_blocking_hook_runs_in_a_worker(mode: str) -> None:
    hooks = Hooks()
    threads: list[str] = []

    @hooks.before("llm.call", blocking=True, timeout=60.0)
    def before(op: Operation) -> None:
        threads.append(threading.current_thread().name)
        op.state["seen"] = True

    @hooks.around("llm.call", blocking=True, timeout=60.0)
    def around(op: Operation) -> Any:
        threads.append(threading.current_thread().name)
        yield
        threads.append(threading.current_thread().name)

    @hooks.after("llm.call", blocking=True, timeout=60.0)
    def after(op: Operation) -> None:
        assert op.state["seen"]
        threads.append(threading.current_thread().name)

    with stubbed(hooks) as (library, _):
        assert use(library, mode, "x") == "x"
    assert len(threads) == 4
    assert all(name.startswith("spanhook-hook") for name in threads)


def test_a_blocking_hook_may_refuse_rewrite_and_answer(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", blocking=True, timeout=60.0)
    def before(op: Operation) -> None:
        if op.request.inputs == "refuse":
            raise Reject("no")
        if op.request.inputs == "rewrite":
            op.replace(inputs="rewritten")
        if op.request.inputs == "answer":
            op.respond("answered")

    with stubbed(hooks) as (library, _):
        with pytest.raises(Reject):
            use(library, mode, "refuse")
        assert use(library, mode, "rewrite") == "rewritten"
        assert use(library, mode, "answer") == "answered"
    assert library.calls == ["rewritten"]


def test_a_hung_blocking_hook_is_sealed_counted_and_bounded(
    mode: str, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_hosts, "START_S", LONG)  # it does begin
    hooks = Hooks()
    release, sealed = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    @hooks.before("llm.call", blocking=True, timeout=SHORT)
    def hung(op: Operation) -> None:
        release.wait(60.0)
        for attempt in (
            lambda: op.replace(inputs="too late"),
            lambda: op.respond("too late"),
            lambda: op.state.clear(),
        ):
            try:
                attempt()
            except SealedError as error:
                errors.append(error)
        sealed.set()

    with stubbed(hooks) as (library, _), pytest.raises(Reject) as caught:
        use(library, mode, "x")
    assert caught.value.status_code == 504
    assert workers.hung == 1
    assert internal.counts.pop("hook.hung") == 1
    release.set()
    assert sealed.wait(60.0)
    assert len(errors) == 3
    assert library.calls == []


@pytest.mark.slow
def test_when_every_worker_hangs_new_hooks_time_out_and_nothing_else_does(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_hosts, "START_S", LONG)
    hooks = Hooks()
    release = threading.Event()

    @hooks.before("llm.call", blocking=True, timeout=SHORT)
    def hung(op: Operation) -> None:
        release.wait(60.0)

    with stubbed(hooks) as (library, _):
        for index in range(36):
            if index == 32:
                monkeypatch.setattr(_hosts, "START_S", SHORT)
            with pytest.raises(Reject, match="timed out"):
                library.work("x")
        assert workers.hung == 32
    release.set()
    internal.renew()
    assert library.calls == []


# ------------------------------------------------------------------------------------------------ cancellation


@pytest.mark.parametrize("backend", ["asyncio", "anyio"])
@pytest.mark.parametrize("where", ["call", "before", "around"])
def test_cancelling_runs_error_hooks_and_ends_cancelled(where: str, backend: str) -> None:
    hooks = Hooks()
    ran: list[str] = []

    async def main() -> None:
        reached = asyncio.Event()

        async def hang() -> None:
            reached.set()
            await forever()

        @hooks.before("llm.call", timeout=60.0)
        async def before(op: Operation) -> None:
            if where == "before":
                await hang()

        @hooks.around("llm.call", timeout=60.0)
        async def around(op: Operation, call_next: Next) -> Any:
            try:
                if where == "around":
                    await hang()
                return await call_next()
            except asyncio.CancelledError:
                ran.append("around cancelled")
                raise

        @hooks.on_error("llm.call", timeout=60.0)
        async def on_error(op: Operation) -> None:
            await asyncio.sleep(0)
            ran.append(f"error hook {op.status}")

        async def work() -> None:
            await library.awork(hang if where == "call" else "x")

        with stubbed(hooks) as (library, seen):
            if backend == "asyncio":
                task = asyncio.create_task(work())
                await reached.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert task.cancelled()
            else:
                async with anyio.create_task_group() as group:
                    group.start_soon(work)
                    await reached.wait()
                    group.cancel_scope.cancel()
                while not seen.operations:  # noqa: ASYNC110 - cancelled again, the error hooks finish by themselves
                    await asyncio.sleep(0)
            assert [op.status for op in seen.operations] == ["cancelled"]
            assert seen.spans[0].status.status_code.name == "UNSET"
            assert (seen.spans[0].attributes or {})["spanhook.status"] == "cancelled"

    asyncio.run(main())
    assert ran.count("error hook cancelled") == 1
    assert ran.count("around cancelled") == (0 if where == "before" else 1)


def test_cancelled_again_while_error_hooks_run() -> None:
    hooks = Hooks()
    ran: list[str] = []

    async def main() -> None:
        reached, inside, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def hang() -> None:
            reached.set()
            await forever()

        @hooks.on_error("llm.call", timeout=60.0)
        async def on_error(op: Operation) -> None:
            inside.set()
            await go.wait()
            ran.append("finished")

        with stubbed(hooks) as (library, seen):
            task = asyncio.create_task(library.awork(hang))
            await reached.wait()
            task.cancel()
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert seen.operations == []
            go.set()
            while not seen.operations:  # noqa: ASYNC110 - it finishes in a task of spanhook's
                await asyncio.sleep(0)
            assert [op.status for op in seen.operations] == ["cancelled"]

    asyncio.run(main())
    assert ran == ["finished"]


def test_a_hook_cannot_swallow_cancellation() -> None:
    hooks = Hooks()

    @hooks.around("llm.call", timeout=60.0)
    async def swallow(op: Operation, call_next: Next) -> Any:
        try:
            return await call_next()
        except asyncio.CancelledError:
            return "swallowed"

    async def main() -> None:
        reached = asyncio.Event()

        async def hang() -> None:
            reached.set()
            await forever()

        with stubbed(hooks) as (library, _):
            task = asyncio.create_task(library.awork(hang))
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_a_hooks_own_timeout_around_the_call() -> None:
    """A hook may bound the call it wraps; that cancellation is its own."""
    hooks = Hooks()

    @hooks.around("llm.call", timeout=60.0)
    async def bounded(op: Operation, call_next: Next) -> Any:
        try:
            async with asyncio.timeout(SHORT if op.request.inputs is forever else None):
                return await call_next()
        except TimeoutError:
            return "took too long"

    async def main() -> None:
        with stubbed(hooks) as (library, seen):
            assert await library.awork(forever) == "took too long"
            assert await library.awork("x") == "x"
            assert [op.status for op in seen.operations] == ["success", "success"]
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0

    asyncio.run(main())


def test_a_timeout_around_the_call_belongs_to_its_owner() -> None:
    hooks = Hooks()
    hooks.around("llm.call", priority=10)(passing)

    async def main() -> None:
        with stubbed(hooks) as (library, seen):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(SHORT):
                    await library.awork(forever)
            with anyio.move_on_after(SHORT) as scope:
                await library.awork(forever)
            assert scope.cancelled_caught
            assert [op.status for op in seen.operations] == ["cancelled", "cancelled"]

    asyncio.run(main())


# ---------------------------------------------------------------------------------------- async hooks on sync calls


def test_from_a_running_loops_thread() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    async def before(op: Operation) -> None:
        await asyncio.sleep(0)
        raise Reject("no")

    async def main() -> None:
        with stubbed(hooks) as (library, _), pytest.raises(Reject):
            library.work("x")

    asyncio.run(main())


@pytest.mark.parametrize("waits", [False, True])
def test_a_hook_has_all_of_asyncio_and_a_loop_that_stays(waits: bool) -> None:
    hooks = Hooks()
    name = contextvars.ContextVar("name", default="")
    seen: list[Any] = []
    left: list[asyncio.Task[Any]] = []
    ended, lock = threading.Semaphore(0), per_loop(asyncio.Lock)

    async def outlive() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        seen.append(f"outlived {name.get()}")
        ended.release()

    @hooks.before("llm.call", timeout=60.0)
    async def before(op: Operation) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        assert name.get() == f"caller {op.request.inputs}"
        name.set(f"hook {op.request.inputs}")
        async with lock(), asyncio.timeout(60.0), asyncio.TaskGroup() as group:
            if waits:
                group.create_task(asyncio.sleep(0))
        left.append(asyncio.create_task(outlive()))
        assert asyncio.current_task() is task
        assert asyncio.get_running_loop() is loop
        seen.append(loop)

    with stubbed(hooks) as (library, _):
        for index in range(3):
            name.set(f"caller {index}")
            assert library.work(index) == index
            assert name.get() == f"caller {index}"
            assert ended.acquire(timeout=60.0)
    assert seen[1::2] == [f"outlived hook {index}" for index in range(3)]
    assert len(set(seen[::2])) == 1


def test_a_hook_that_ends_while_the_call_is_made_has_its_own_outcome() -> None:
    """Its end came while nobody waited for it, and was lost: the caller waited until its time was over, or for ever."""
    hooks = Hooks()
    ended = threading.Event()

    @hooks.around("llm.call", timeout=None, fail_mode="open")
    async def impatient(op: Operation, call_next: Next) -> Any:
        try:
            async with asyncio.timeout(0.0):
                return await call_next()
        finally:
            asyncio.get_running_loop().call_soon(ended.set)

    def work() -> str:
        assert ended.wait(60.0)
        return "done"

    with stubbed(hooks) as (library, seen):
        assert library.work(work) == "done"
    [decision] = seen.operations[0].decisions
    assert (decision.decision, decision.reason) == ("error", "failed: TimeoutError: ")


def test_a_hook_that_cancels_its_own_task_has_failed_even_if_it_returns() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    async def before(op: Operation) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="HookError") as caught:
        library.work("x")
    assert "nobody cancelled" in str(caught.value.__cause__)
    assert library.calls == []


def test_on_the_private_loop_itself_the_gate_fails_closed_instead_of_deadlocking() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    async def before(op: Operation) -> None:
        await asyncio.sleep(0)

    async def call(library: Any) -> Any:
        return library.work("x")

    with stubbed(hooks) as (library, _):
        future = asyncio.run_coroutine_threadsafe(call(library), private_loops.get().loop)
        with pytest.raises(Reject, match="HookError"):
            future.result(60.0)
    assert library.calls == []


def test_an_interrupted_caller_cancels_the_hook() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it

    hooks = Hooks()
    cancelled = threading.Event()

    @hooks.before("llm.call", timeout=30.0)
    async def before(op: Operation) -> None:
        try:
            signal.raise_signal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else os.kill(
                os.getpid(), signal.SIGINT
            )
            await forever()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with stubbed(hooks) as (library, seen):
        with pytest.raises(KeyboardInterrupt):
            library.work("x")
        assert cancelled.wait(60.0)
        assert [op.status for op in seen.operations] == ["cancelled"]
    assert library.calls == []


def test_outside_of_asyncio_async_calls_are_hosted_like_sync_ones() -> None:
    import trio

    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    async def before(op: Operation) -> None:
        await asyncio.sleep(0)
        raise Reject("no")

    class Trio:
        async def awork(self, library: Any) -> None:
            with pytest.raises(Reject):
                await library.awork("x")

    with stubbed(hooks) as (library, _):
        trio.run(Trio().awork, library)
    assert library.calls == []


@pytest.mark.slow
def test_a_limit_too_short_to_begin_leaves_nothing_behind() -> None:
    """The caller neither waits for ever nor leaves a coroutine that nobody awaited."""
    hooks = Hooks()

    @hooks.before("llm.call", timeout=1e-9)
    async def hopeless(op: Operation) -> None:
        await asyncio.Event().wait()

    with stubbed(hooks) as (library, _seen):
        for _ in range(300):
            with pytest.raises(Reject, match="timed out"):
                library.work("x")
    gc.collect()
