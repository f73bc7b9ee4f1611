"""Our own event loops: what hooks raise, block and break there reaches nobody but their own call."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.concurrency import loops, reaper, remote
from spanhook.diagnostics import internal
from tests.stub import MODES, Library, stubbed, use

Next = Callable[[], Awaitable[Any]]
LONG = 30.0


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


class Clock:
    """Time that stands still but for what a test adds: nothing is late because the machine is busy."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(loops, "monotonic", made)
    monkeypatch.setattr(remote, "monotonic", made)
    return made


def raising(form: str, error: BaseException, **settings: Any) -> Hooks:
    """Hooks of which one raises ``error`` for the call ``"raise"``."""
    hooks = Hooks()

    async def before(op: Operation) -> None:
        await asyncio.sleep(0)
        if op.request.inputs == "raise":
            raise error

    async def wrapping(op: Operation, call_next: Next) -> Any:
        if form == "wrapping after":
            await call_next()
            return await before(op)
        await before(op)
        return await call_next()

    def blocking(op: Operation) -> None:
        if op.request.inputs == "raise":
            raise error

    if form in ("before", "after"):
        (hooks.before if form == "before" else hooks.after)("llm.call", name="raising", **settings)(before)
    elif form == "blocking":
        hooks.before("llm.call", name="raising", blocking=True, **settings)(blocking)
    else:
        hooks.around("llm.call", name="raising", **settings)(wrapping)
    return hooks


FORMS = ("before", "wrapping", "wrapping after", "after", "blocking")


@pytest.mark.every_combination
@pytest.mark.parametrize("fail_mode", ["closed", "open"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sort", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_is_no_exception_gets_to_the_caller_and_no_further(
    sort: type[BaseException], form: str, fail_mode: Any
) -> None:
    error = sort("it")
    with stubbed(raising(form, error, fail_mode=fail_mode, timeout=None)) as (library, seen):
        for mode in ("sync", "stream"):
            with pytest.raises(sort) as caught:
                use(library, mode, "raise")
            assert caught.value is error
            assert use(library, mode, "x") == "x"
    assert seen.operations[1].decisions == seen.operations[3].decisions == ()


@pytest.mark.parametrize("form", FORMS)
def test_a_hook_that_cancels_itself_has_failed(form: str, mode: str) -> None:
    """Nobody asked for the call to be cancelled, so it is not."""
    with stubbed(raising(form, asyncio.CancelledError(), fail_mode="open", timeout=LONG)) as (library, seen):
        assert use(library, mode, "raise") == "raise"
    assert [(one.hook, one.decision) for one in seen.operations[0].decisions] == [("raising", "error")]
    assert seen.operations[0].status == "success"
    with stubbed(raising(form, asyncio.CancelledError(), fail_mode="closed", timeout=LONG)) as (library, seen):
        if form == "wrapping after" and "stream" in mode:
            assert use(library, mode, "raise") == "raise"  # handed on by then
        else:
            with pytest.raises(Reject, match="HookError") as caught:
                use(library, mode, "raise")
            assert "nobody cancelled" in str(caught.value.__cause__)


def test_a_plain_hook_that_raises_a_cancellation_has_failed(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def gate(op: Operation) -> None:
        raise asyncio.CancelledError

    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="HookError"):
        use(library, mode, "x")
    assert library.calls == []


def _leave_a_task() -> None:
    async def behind() -> None:
        raise SystemExit("nobody waits for this")

    asyncio.get_running_loop().create_task(behind())


def _leave_a_callback() -> None:
    def behind() -> None:
        raise KeyboardInterrupt

    asyncio.get_running_loop().call_soon(behind)


def _recurse() -> None:
    _recurse()


async def _arecurse() -> None:
    await _arecurse()


HARM: dict[str, Callable[[], Any]] = {
    "stops the loop": lambda: asyncio.get_running_loop().stop(),
    "closes the loop": lambda: asyncio.get_running_loop().close(),
    "leaves a task": _leave_a_task,
    "leaves a callback": _leave_a_callback,
    "recurses": _recurse,
    "recurses without end": _arecurse,
    "takes the loop off": lambda: asyncio.set_event_loop(None),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_hook_that_harms_the_loop_harms_no_other(harm: str, fresh_loops: None) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=LONG, fail_mode="open")
    async def harming(op: Operation) -> None:
        if op.request.inputs == "harm":
            made = HARM[harm]()
            if made is not None:
                await made
        await asyncio.sleep(0)

    @hooks.before("llm.call", timeout=None, priority=900, fail_mode="closed")
    async def gate(op: Operation) -> None:
        await asyncio.sleep(0)
        if op.request.inputs == "refuse":
            raise Reject("no")

    with stubbed(hooks) as (library, seen):
        for _ in range(3):
            assert library.work("harm") == "harm"
            assert library.work("x") == "x"
            with pytest.raises(Reject, match="no"):
                library.work("refuse")
        gc.collect()
    assert not any(one.decisions for one in seen.operations if one.request.inputs == "x")


def _close(loop: Any) -> None:
    loop.run_forever = loop.close
    loop.stop()


def _break(loop: Any) -> None:
    def fail() -> None:
        raise OSError("broken")

    loop.run_forever = fail
    loop.stop()


@pytest.mark.one_value
@pytest.mark.parametrize("kill", [_close, _break])
def test_a_loop_that_is_dead_is_replaced(kill: Callable[[Any], None], fresh_loops: None) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=None)
    async def gate(op: Operation) -> None:
        if op.request.inputs == "kill":
            kill(asyncio.get_running_loop())
            await asyncio.Event().wait()
        await asyncio.sleep(0)

    with stubbed(hooks) as (library, _):
        with pytest.raises(Reject, match="HookError") as caught:
            library.work("kill")
        assert "has closed the event loop" in str(caught.value.__cause__)
        assert library.work("x") == "x"
    assert library.calls == ["x"]


class Blocked:
    """Hooks of two tenants. Of one's, those for ``"block"`` do not await while they wait to be released."""

    def __init__(self, limit: float = LONG) -> None:
        self.hooks = Hooks()
        self.begun, self.release, self.answer = threading.Semaphore(0), threading.Event(), threading.Event()
        self.waiting: list[asyncio.Event] = []
        self.loops: dict[str, list[Any]] = {}

        @self.hooks.before("llm.call", tenant_id="careless", timeout=limit)
        async def careless(op: Operation) -> None:
            self.begun.release()
            if op.request.inputs == "block":
                self.release.wait(60.0)

        @self.hooks.before("llm.call", tenant_id="careful", timeout=LONG)
        async def careful(op: Operation) -> None:
            self.loops.setdefault(op.request.inputs, []).append(asyncio.get_running_loop())
            if op.request.inputs == "wait":
                event = asyncio.Event()
                self.waiting.append(event)
                self.begun.release()
                await event.wait()

    def go_on(self) -> None:
        """Let the careful hook that waits go on."""
        [event], [loop] = self.waiting, self.loops["wait"]
        loop.call_soon_threadsafe(event.set)


def of(tenant: str, library: Library, given: str) -> Any:
    with spanhook.context(tenant_id=tenant):
        return library.work(given)


@pytest.mark.slow
def test_a_hook_that_blocks_the_loop_keeps_none_from_beginning(
    fresh_loops: None, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = Blocked()
    with stubbed(blocked.hooks) as (library, _), ThreadPoolExecutor(4) as pool:
        assert of("careful", library, "before") == "before"
        stuck: Future[Any] = pool.submit(of, "careless", library, "block")
        blocked.begun.acquire()
        meanwhile = pool.submit(of, "careful", library, "meanwhile")
        clock.now += 1.0
        assert meanwhile.result() == "meanwhile"
        assert internal.counts["loop.hung"] == 1
        assert of("careful", library, "later") == "later"
        blocked.release.set()
        assert stuck.result() == "block"
        [first] = blocked.loops["before"]
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), first).result()  # it is back
        assert of("careful", library, "after") == "after"
    assert blocked.loops["meanwhile"] == blocked.loops["later"] != [first]
    assert blocked.loops["after"] == [first]
    assert caplog.text.count("careless' blocks the event loop of async hooks on sync calls") == 1


@pytest.mark.slow
def test_a_hook_that_waits_while_another_blocks_its_loop_loses_no_time(fresh_loops: None, clock: Clock) -> None:
    blocked = Blocked()
    with stubbed(blocked.hooks) as (library, seen), ThreadPoolExecutor(4) as pool:
        waits = pool.submit(of, "careful", library, "wait")
        blocked.begun.acquire()
        blocks = pool.submit(of, "careless", library, "block")
        blocked.begun.acquire()
        clock.now += LONG + 5.0
        with pytest.raises(Reject, match="timed out"):
            blocks.result()  # its time is over
        assert not waits.done()
        blocked.release.set()
        blocked.go_on()
        assert waits.result() == "wait"
    assert [op.decisions for op in seen.operations if op.identity.tenant_id == "careful"] == [()]


@pytest.mark.slow
def test_blocking_goes_on_for_too_long_for_everybody(fresh_loops: None, clock: Clock) -> None:
    blocked = Blocked()
    with stubbed(blocked.hooks) as (library, _), ThreadPoolExecutor(4) as pool:
        waits = pool.submit(of, "careful", library, "wait")
        blocked.begun.acquire()
        pool.submit(of, "careless", library, "block")
        blocked.begun.acquire()
        while not waits.done():  # its caller may begin to wait only now, and counts from then on
            clock.now += LONG + remote.PATIENCE_S + 5.0
            wait([waits], 0.01)
        with pytest.raises(Reject, match="timed out"):
            waits.result()
        blocked.release.set()


def test_hung_loops_are_counted_and_bounded(fresh_loops: None, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MAX_LOOPS", 2)
    blocked = Blocked()
    with stubbed(blocked.hooks) as (library, _), ThreadPoolExecutor(4) as pool:
        stuck = [pool.submit(of, "careless", library, "block")]
        blocked.begun.acquire()
        clock.now += 1.0
        stuck.append(pool.submit(of, "careless", library, "block"))
        blocked.begun.acquire()
        clock.now += 1.0
        refused = pool.submit(of, "careful", library, "x")
        while not refused.done():
            clock.now += 1.0
            wait([refused], 0.01)
        with pytest.raises(Reject, match="HookError"):
            refused.result()
        assert internal.counts["loop.hung"] == 2
        blocked.release.set()
        for one in stuck:
            assert one.exception() is None or isinstance(one.exception(), Reject)
        assert of("careful", library, "x") == "x"


def test_hooks_of_dropped_streams_may_leave_too() -> None:
    hooks = Hooks()

    @hooks.after("llm.call", timeout=LONG)
    async def leave(op: Operation) -> None:
        raise SystemExit

    with stubbed(hooks) as (library, seen):
        for count in range(1, 3):
            letters = library.words("abc")
            assert next(letters) == "a"
            del letters
            gc.collect()
            assert reaper.drain()
            assert len(seen.operations) == count


def test_async_handlers_may_raise_what_they_like() -> None:
    hooks = Hooks()
    heard: list[Any] = []

    async def handler(op: Operation) -> None:
        heard.append(op.request.inputs)
        raise SystemExit

    hooks.on("llm.call.pre", handler, timeout=LONG)
    with stubbed(hooks) as (library, _):
        for index in range(3):
            assert library.work(index) == index
        assert hooks.flush()
    assert heard == [0, 1, 2]
