"""Our event loops behave as asyncio's, and tasks that have begun as any other task."""

import asyncio
import contextvars
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from spanhook.concurrency import event_loops
from spanhook.concurrency.event_loops import EventLoop, begun, new_event_loop

linux = pytest.mark.skipif(sys.platform != "linux", reason="event descriptors are Linux's")


@pytest.fixture(params=[new_event_loop, asyncio.new_event_loop], ids=["ours", "asyncio's"])
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    made: asyncio.AbstractEventLoop = request.param()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join(60.0)
    made.close()


def on(loop: asyncio.AbstractEventLoop, function: Callable[[], Any]) -> Any:
    """What a callback on the loop returns or raises."""
    given: Future[Any] = Future()

    def call() -> None:
        try:
            given.set_result(function())
        except BaseException as error:
            given.set_exception(error)

    loop.call_soon_threadsafe(call)
    return given.result(60.0)


# ------------------------------------------------------------------------------------------------ loops


@linux
def test_ours_is_taken_where_asyncios_own_would_be() -> None:
    made = new_event_loop()
    assert isinstance(made, EventLoop)
    made.close()


@linux
def test_the_applications_own_kind_of_loop_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(asyncio.SelectorEventLoop):
        pass

    monkeypatch.setattr(asyncio, "new_event_loop", Own)
    made = new_event_loop()
    assert type(made) is Own
    made.close()


@linux
def test_without_a_descriptor_asyncios_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: int) -> int:
        raise OSError("Too many open files")

    monkeypatch.setattr(os, "eventfd", full)
    made = new_event_loop()
    assert type(made) is asyncio.SelectorEventLoop
    made.run_until_complete(asyncio.sleep(0))
    made.close()


@linux
def test_a_loop_closes_its_files() -> None:
    before = set(os.listdir("/proc/self/fd"))
    made = new_event_loop()
    made.run_until_complete(asyncio.sleep(0))
    made.close()
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(RuntimeError, match="closed"):
        made.call_soon_threadsafe(int)


def test_callbacks_of_many_threads_run_once_each_and_in_order(loop: asyncio.AbstractEventLoop) -> None:
    """A wake-up that got lost would leave the last callbacks waiting for ever."""
    count, threads = 2_000, 8
    ran: list[tuple[int, int]] = []
    ended = threading.Semaphore(0)

    def ask(number: int) -> None:
        for index in range(count):
            loop.call_soon_threadsafe(ran.append, (number, index))
        loop.call_soon_threadsafe(ended.release)

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for one in asking:
        one.start()
    for _ in asking:
        assert ended.acquire(timeout=60.0)
    for number in range(threads):
        assert [index for whose, index in ran if whose == number] == list(range(count))


def test_each_of_many_callbacks_wakes_a_loop_that_sleeps(loop: asyncio.AbstractEventLoop) -> None:
    for number in range(2_000):
        assert on(loop, lambda number=number: number) == number


@linux
def test_a_loop_that_was_woken_sleeps_again(loop: asyncio.AbstractEventLoop) -> None:
    """The descriptor is never read, so it must not wake the loop more than once."""
    looked: list[Any] = []
    selector: Any = vars(loop)["_selector"]
    select = selector.select

    def counted(timeout: float | None) -> Any:
        looked.append(timeout)
        return select(timeout)

    on(loop, lambda: setattr(selector, "select", counted))
    for _ in range(100):
        on(loop, int)
    assert len(looked) <= 102


def test_a_loop_watches_files_as_before(loop: asyncio.AbstractEventLoop) -> None:
    async def talk() -> bytes:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            for _ in range(20):
                writer.write(b"question\n")
                assert await reader.readline() == b"answer\n"
            writer.close()
            await writer.wait_closed()
        return b"done"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            writer.write(b"answer\n")
        writer.close()

    assert asyncio.run_coroutine_threadsafe(talk(), loop).result(60.0) == b"done"


def test_signals_are_refused_as_by_asyncio(loop: asyncio.AbstractEventLoop) -> None:
    with pytest.raises(RuntimeError, match="main thread"):
        on(loop, lambda: loop.add_signal_handler(signal.SIGUSR1, int))


# ------------------------------------------------------------------------------------------------ tasks


NAME = contextvars.ContextVar("NAME", default="nobody")


def test_a_task_has_taken_its_first_step(loop: asyncio.AbstractEventLoop) -> None:
    steps: list[Any] = []

    async def work() -> str:
        steps.append((asyncio.get_running_loop(), asyncio.current_task(), NAME.get()))
        NAME.set("changed")
        return "result"

    def begin() -> asyncio.Task[Any]:
        NAME.set("somebody")
        task = begun(work(), loop)
        assert task.done() or (sys.version_info < (3, 12) and type(loop) is not EventLoop)
        assert NAME.get() == "somebody"
        assert asyncio.current_task() is None
        return task

    task = on(loop, begin)
    assert asyncio.run_coroutine_threadsafe(asyncio.wait_for(task, 60.0), loop).result(60.0) == "result"
    assert steps == [(loop, task, "somebody")]


def test_a_task_that_waits_goes_on(loop: asyncio.AbstractEventLoop) -> None:
    async def work() -> list[Any]:
        NAME.set("inside")
        task = asyncio.current_task()
        found: list[Any] = []
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            found.append("timed out")
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))
        assert task in asyncio.all_tasks()
        return [*found, NAME.get(), asyncio.current_task() is task]

    task = on(loop, lambda: begun(work(), loop))
    waited = asyncio.run_coroutine_threadsafe(asyncio.wait_for(task, 60.0), loop)
    assert waited.result(60.0) == ["timed out", "inside", True]


def test_a_task_may_be_cancelled_and_may_cancel_itself(loop: asyncio.AbstractEventLoop) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async def ended(task: asyncio.Task[Any]) -> bool:
        await asyncio.wait([task])
        return task.cancelled()

    waiting = on(loop, lambda: begun(forever(), loop))
    loop.call_soon_threadsafe(waiting.cancel)
    for task in (waiting, on(loop, lambda: begun(itself(), loop))):
        assert asyncio.run_coroutine_threadsafe(ended(task), loop).result(60.0)


def test_what_is_called_while_a_task_is_made_is_called_all_the_same(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finalizer may run anywhere."""
    order: list[str] = []

    class Task(asyncio.Task[Any]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            loop.call_soon(order.append, "finalizer")
            super().__init__(*args, **kwargs)

    async def work() -> None:
        order.append("step")

    def begin() -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(event_loops.asyncio, "Task", Task)
            return begun(work(), loop)

    async def ended(task: asyncio.Task[Any]) -> None:
        await task

    asyncio.run_coroutine_threadsafe(ended(on(loop, begin)), loop).result(60.0)
    assert sorted(order) == ["finalizer", "step"]
