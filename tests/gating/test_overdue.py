"""A refusal stands although the hook's time runs out while it is on its way. The hooks here fail open."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import pytest
import trio

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.concurrency import loops, remote
from spanhook.gating import _hosts
from spanhook.testing import recorder

LONG = 30.0
HOW = ("sync", "async", "trio")


class Clock:
    """The clock that hooks are timed with, which passes their time limits on demand; and what hooks wait for."""

    def __init__(self) -> None:
        self._passed = 0.0
        self._end = threading.Event()

    def now(self) -> float:
        return time.monotonic() + self._passed

    def _pass(self) -> None:
        self._passed += 2 * LONG

    async def forever(self) -> None:
        loop: Any = asyncio.get_running_loop()
        self._pass()
        loop.time = self.now
        await asyncio.Event().wait()

    def blocked(self) -> None:
        self._pass()
        self._end.wait()

    def release(self) -> None:
        self._end.set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, fresh_loops: None) -> Iterator[Clock]:
    made = Clock()
    for module in (loops, remote, _hosts):
        monkeypatch.setattr(module, "monotonic", made.now)
    for module in (remote, _hosts):
        monkeypatch.setattr(module, "SLICE_S", 0.01)
    monkeypatch.setattr(remote, "LAST_S", LONG)
    yield made
    made.release()


def outcome(hooks: Hooks, how: str) -> tuple[str, int, list[tuple[str, int]]]:
    """What a call came to, how often the tool ran, and what was decided."""
    ran = list[int]()

    @spanhook.tool("pay")
    def pay() -> None:
        ran.append(1)

    @spanhook.tool("pay")
    async def apay() -> None:
        ran.append(1)

    calls: dict[str, Callable[[], Any]] = {
        "sync": pay,
        "async": lambda: asyncio.run(apay()),
        "trio": lambda: trio.run(apay),
    }
    with recorder(hooks) as seen:
        try:
            calls[how]()
        except Reject as reject:
            came_to = f"{reject.status_code}, {reject.reason}"
        else:
            came_to = "made"
    decisions = [(one.decision, one.status_code) for one in seen.operations[0].decisions]
    return came_to, len(ran), decisions


REFUSED, MADE = ("402, no", 0, [("reject", 402)]), ("made", 1, [("timeout", 0)])

# ------------------------------------------------------------------------------------------------ async hooks

Wait = Callable[[], Awaitable[None]]


async def in_a_finally(wait: Wait) -> None:
    try:
        raise Reject("no", status_code=402)
    finally:
        await wait()


async def in_an_except(wait: Wait) -> None:
    try:
        raise Reject("no", status_code=402)
    except Reject:
        await wait()
        raise


async def in_an_except_with_a_name(wait: Wait) -> None:
    try:
        raise Reject("no", status_code=402)
    except Reject as error:
        await wait()
        raise error from None


@asynccontextmanager
async def closing(wait: Wait) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await wait()


async def in_a_with(wait: Wait) -> None:
    async with closing(wait):
        raise Reject("no", status_code=402)


async def beside_another_error(wait: Wait) -> None:
    async def log() -> None:
        try:
            raise ConnectionError("the audit log is down")
        except ConnectionError:
            await wait()

    try:
        raise Reject("no", status_code=402)
    finally:
        await log()


async def in_a_group(wait: Wait) -> None:
    try:
        raise ExceptionGroup("checks", [ValueError("x"), Reject("no", status_code=402)])
    finally:
        await wait()


async def in_a_task_group(wait: Wait) -> None:
    async def refuse() -> None:
        raise Reject("no", status_code=402)

    async def end_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):  # a group does not cancel twice
                    await wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(end_slowly())
        await asyncio.sleep(0)
        group.create_task(refuse())


async def while_another_task_ends(wait: Wait) -> None:
    try:
        raise Reject("no", status_code=402)
    finally:
        await asyncio.ensure_future(wait())


REFUSING = (
    in_a_finally,
    in_an_except,
    in_an_except_with_a_name,
    in_a_with,
    beside_another_error,
    in_a_group,
    in_a_task_group,
    while_another_task_ends,
)


async def caught_before(wait: Wait) -> None:
    with suppress(Reject):
        raise Reject("no", status_code=402)
    await wait()


async def saved_before(wait: Wait) -> None:
    try:
        raise Reject("no", status_code=402)
    except Reject as error:
        saved = error
    await wait()
    raise saved


async def taken_back(wait: Wait) -> None:
    try:
        raise Reject("no", status_code=402)
    except Reject:
        try:
            raise ConnectionError("after all") from None
        finally:
            await wait()


async def never_raised(wait: Wait) -> None:
    prepared = Reject("no", status_code=402)
    await wait()
    raise prepared


PASSING = (caught_before, saved_before, taken_back, never_raised)


def awaiting(clock: Clock, form: str, hook: Callable[[Wait], Awaitable[None]]) -> Hooks:
    hooks = Hooks()

    async def timed() -> None:
        await asyncio.sleep(0)  # from here on it is timed on async calls, too
        await hook(clock.forever)

    if form == "before":

        @hooks.before("tool.execute", priority=100, timeout=LONG)
        async def before(_op: Operation) -> None:
            await timed()
    else:

        @hooks.around("tool.execute", priority=100, timeout=LONG)
        async def around(_op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
            await timed()
            return await call_next()

    return hooks


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("form", ["before", "around"])
@pytest.mark.parametrize("hook", REFUSING, ids=lambda hook: hook.__name__)
def test_an_async_hook_refuses(hook: Any, form: str, how: str, clock: Clock) -> None:
    assert outcome(awaiting(clock, form, hook), how) == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("hook", PASSING, ids=lambda hook: hook.__name__)
def test_an_async_hook_does_not_refuse(hook: Any, how: str, clock: Clock) -> None:
    assert outcome(awaiting(clock, "before", hook), how) == MADE


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync", "trio"])
def test_a_hook_that_does_not_heed_its_cancellation_refuses(
    how: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LAST_S", 0.0)

    async def unheeding() -> None:
        while not clock._end.is_set():
            with suppress(asyncio.CancelledError):
                await (clock.forever() if not clock._passed else asyncio.sleep(0.01))

    async def hook(_wait: Wait) -> None:
        try:
            raise Reject("no", status_code=402)
        finally:
            await unheeding()

    assert outcome(awaiting(clock, "before", hook), how) == REFUSED


@pytest.mark.one_value
@pytest.mark.parametrize("how", ["sync", "trio"])
def test_a_hook_that_blocks_its_loop_refuses(how: str, clock: Clock) -> None:
    async def hook(_wait: Wait) -> None:
        try:
            raise Reject("no", status_code=402)
        finally:
            clock.blocked()

    assert outcome(awaiting(clock, "before", hook), how) == REFUSED


def agent(how: str) -> Callable[[], Any]:
    """An agent that raises an exception of its own because its tool was refused."""

    @spanhook.tool("pay")
    def pay() -> None:
        raise AssertionError

    def act() -> None:
        try:
            pay()
        except Reject as error:
            raise ValueError("the tool has failed") from error

    async def aact() -> None:
        act()

    if how == "sync":
        return spanhook.agent("a")(act)
    made = spanhook.agent("a")(aact)
    return (lambda: asyncio.run(made())) if how == "async" else (lambda: trio.run(made))


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_a_refusal_inside_of_the_call_is_not_the_hooks(how: str, clock: Clock) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def no(_op: Operation) -> None:
        raise Reject("no", status_code=402)

    @hooks.around("agent.invoke", timeout=LONG)
    async def around(_op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
        await asyncio.sleep(0)
        try:
            return await call_next()
        except ValueError:
            await clock.forever()

    with recorder(hooks) as seen, pytest.raises(ValueError, match="the tool has failed"):
        agent(how)()
    decisions = {op.kind: [one.decision for one in op.decisions] for op in seen.operations}
    assert decisions == {"tool.execute": ["reject"], "agent.invoke": ["timeout"]}


# --------------------------------------------------------------------------------------------- blocking hooks


def finally_blocked(wait: Callable[[], None]) -> None:
    try:
        raise Reject("no", status_code=402)
    finally:
        wait()


def except_blocked(wait: Callable[[], None]) -> None:
    try:
        raise Reject("no", status_code=402)
    except Reject as error:
        wait()
        raise PermissionError("no") from error


@contextmanager
def leaving(wait: Callable[[], None]) -> Generator[None, None, None]:
    try:
        yield
    finally:
        wait()


def with_blocked(wait: Callable[[], None]) -> None:
    with leaving(wait):
        raise Reject("no", status_code=402)


def blocked_beside_another_error(wait: Callable[[], None]) -> None:
    def log() -> None:
        try:
            raise ConnectionError("the audit log is down")
        except ConnectionError:
            wait()

    try:
        raise Reject("no", status_code=402)
    finally:
        log()


def group_blocked(wait: Callable[[], None]) -> None:
    try:
        raise ExceptionGroup("checks", [ValueError("x"), Reject("no", status_code=402)])
    finally:
        wait()


def caught_then_blocked(wait: Callable[[], None]) -> None:
    with suppress(Reject):
        raise Reject("no", status_code=402)
    wait()


BLOCKING = (finally_blocked, except_blocked, with_blocked, blocked_beside_another_error, group_blocked)


def blocking(clock: Clock, form: str, hook: Callable[[Callable[[], None]], None]) -> Hooks:
    hooks = Hooks()
    if form == "before":

        @hooks.before("tool.execute", priority=100, timeout=LONG, blocking=True)
        def before(_op: Operation) -> None:
            hook(clock.blocked)
    else:

        @hooks.around("tool.execute", priority=100, timeout=LONG, blocking=True)
        def around(_op: Operation) -> Generator[None, None, None]:
            hook(clock.blocked)
            yield

    return hooks


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("form", ["before", "around"])
@pytest.mark.parametrize("hook", BLOCKING, ids=lambda hook: hook.__name__)
def test_a_blocking_hook_refuses(hook: Any, form: str, how: str, clock: Clock) -> None:
    assert outcome(blocking(clock, form, hook), how) == REFUSED


@pytest.mark.parametrize("how", HOW)
def test_a_blocking_hook_does_not_refuse(how: str, clock: Clock) -> None:
    assert outcome(blocking(clock, "before", caught_then_blocked), how) == MADE
