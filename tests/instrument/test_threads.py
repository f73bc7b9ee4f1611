"""Threads that hooks start: what they call is the hook's own, so hooks are off there. All others are gated."""

import _thread
import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langchain_core.tools import tool

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.instrument.instrumentor import Bindings
from spanhook.model import Adapter, Attributes, Point
from spanhook.testing import recorder
from tests.stub import MODES, Library, stubbed, use

Ask = Callable[[], Any]
LONG = 30.0


def in_a_thread(ask: Ask) -> None:
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()


def in_its_own_class(ask: Ask) -> None:
    class Own(threading.Thread):
        def run(self) -> None:
            assert "run" not in vars(self)
            ask()

    thread = Own()
    thread.start()
    thread.join()


def with_a_run_of_its_own(ask: Ask) -> None:
    thread = threading.Thread()
    thread.run = ask
    thread.start()
    thread.join()
    assert thread.run is ask


def in_a_thread_of_a_thread(ask: Ask) -> None:
    in_a_thread(lambda: in_a_thread(ask))


def with_a_timer(ask: Ask) -> None:
    timer = threading.Timer(0.0, ask)
    timer.start()
    timer.join()


def the_old_way(ask: Ask) -> None:
    done = threading.Event()

    def run(given: Ask, *, last: threading.Event) -> None:
        given()
        last.set()

    _thread.start_new_thread(run, (ask,), {"last": done})
    assert done.wait(LONG)


def in_a_pool(ask: Ask) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ask).result()
        list(pool.map(lambda _: None, [1]))


def in_langchains_pool(ask: Ask) -> None:
    with ContextThreadPoolExecutor(1) as pool:
        run: Any = pool.submit
        run(ask).result()


def in_the_other_pool(ask: Ask) -> None:
    with ThreadPool(1) as pool:
        pool.apply(ask)


def with_arguments(ask: Ask) -> None:
    with ThreadPoolExecutor(1) as pool:
        run: Any = pool.submit
        assert run(lambda *args, **kwargs: (args, kwargs), 1, 2, fn=3).result() == ((1, 2), {"fn": 3})
        pool.submit(ask).result()


PLAIN: dict[str, Callable[[Ask], None]] = {
    one.__name__: one
    for one in (
        in_a_thread,
        in_its_own_class,
        with_a_run_of_its_own,
        in_a_thread_of_a_thread,
        with_a_timer,
        the_old_way,
        in_a_pool,
        in_langchains_pool,
        in_the_other_pool,
        with_arguments,
    )
}


async def to_thread(ask: Ask) -> None:
    await asyncio.to_thread(ask)


async def in_the_default_executor(ask: Ask) -> None:
    await asyncio.get_running_loop().run_in_executor(None, ask)


async def in_an_executor(ask: Ask) -> None:
    with ThreadPoolExecutor(1) as pool:
        await asyncio.get_running_loop().run_in_executor(pool, ask)


async def called_later(ask: Ask) -> None:
    done = asyncio.Event()

    def run() -> None:
        in_a_thread(ask)
        done.set()

    asyncio.get_running_loop().call_later(0.0, run)
    await done.wait()


ASYNC: dict[str, Callable[[Ask], Any]] = {
    one.__name__: one for one in (to_thread, in_the_default_executor, in_an_executor, called_later)
}


class Judged:
    """A library whose calls are judged by a hook that asks the library itself, in another thread."""

    def __init__(self, start: Callable[[Ask], Any], form: str) -> None:
        self.hooks, self.gated = Hooks(), list[Any]()
        self.library: Any = None

        def ask() -> None:
            assert self.library.work("judge") == "judge"

        def before(op: Operation) -> Any:
            self.gated.append(op.request.inputs)
            return start(ask)

        async def abefore(op: Operation) -> None:
            made = before(op)
            if made is not None:
                await made

        def around(op: Operation) -> Iterator[None]:
            yield
            before(op)

        hooks = self.hooks
        if form == "on":
            hooks.on("llm.call.post", before)
        elif form == "around":
            hooks.around("llm.call", timeout=LONG)(around)
        else:
            hook: Any = abefore if form == "async" else before
            hooks.before("llm.call", timeout=LONG, blocking=form == "blocking")(hook)

    def expect_one(self, mode: str) -> None:
        with stubbed(self.hooks) as (library, seen):
            self.library = library
            assert use(library, mode, "x") == "x"
            self.hooks.flush()
        assert self.gated == ["x"]
        assert sorted((op.request.inputs, op.in_hook) for op in seen.operations) == [("judge", True), ("x", False)]


@pytest.mark.every_value
@pytest.mark.parametrize("form", ["def", "async", "blocking", "around", "on"])
@pytest.mark.parametrize("start", PLAIN)
def test_hooks_are_off_in_threads_that_a_hook_starts(start: str, form: str) -> None:
    Judged(PLAIN[start], form).expect_one("sync")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("start", ASYNC)
def test_hooks_are_off_in_what_an_async_hook_hands_over(start: str, mode: str) -> None:
    Judged(ASYNC[start], "async").expect_one(mode)


@pytest.mark.every_value
@pytest.mark.parametrize("start", [*PLAIN, *ASYNC])
def test_threads_of_the_application_are_gated(start: str) -> None:
    """Also those that it starts while an operation of its own is under way."""
    hooks, gated = Hooks(), list[Any]()
    hooks.before("llm.call")(lambda op: gated.append(op.request.inputs))

    with stubbed(hooks) as (library, _):
        ask = partial(library.work, "asked")

        def work() -> Any:
            if start in ASYNC:
                asyncio.run(ASYNC[start](ask))
            else:
                PLAIN[start](ask)

        work()
        library.work(work)
    assert [one for one in gated if one == "asked"] == ["asked", "asked"]


def test_hooks_are_off_in_what_a_tool_that_a_hook_calls_starts() -> None:
    hooks, gated = Hooks(), list[Any]()
    library = Library()

    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        in_a_thread(partial(library.work, query))
        in_a_pool(partial(library.work, query))
        return query

    @hooks.before("*", timeout=LONG)
    def gate(op: Operation) -> None:
        gated.append(op.kind)
        look_up.invoke({"query": "x"})

    with stubbed(hooks), recorder(hooks):
        library.work("asked")
    assert gated == ["llm.call"]
    assert library.calls == ["x", "x", "asked"]


@pytest.mark.parametrize("made", ["before", "by the hook"])
def test_a_pool_is_not_the_hooks_whoever_made_it_start_its_threads(made: str) -> None:
    hooks, gated = Hooks(), list[Any]()
    pools: list[ThreadPoolExecutor] = []

    with stubbed(hooks) as (library, seen):

        @hooks.before("llm.call", timeout=LONG)
        def gate(op: Operation) -> None:
            gated.append(op.request.inputs)
            if not pools:
                pools.append(ThreadPoolExecutor(1))
            pools[0].submit(library.work, "judge").result()

        if made == "before":
            pools.append(ThreadPoolExecutor(1))
        library.work("x")  # it has its first thread by now
        hooks.remove(next(iter(hooks)))
        hooks.before("llm.call")(lambda op: gated.append(op.request.inputs))
        pools[0].submit(library.work, "y").result()
        pools[0].shutdown()
    assert gated == ["x", "y"]
    assert [op.in_hook for op in seen.operations] == [True, False, False]


def test_a_thread_that_was_there_before_stays_the_applications() -> None:
    hooks, gated = Hooks(), list[Any]()
    ask, done = threading.Event(), threading.Event()

    with stubbed(hooks) as (library, _):

        def work() -> None:
            assert ask.wait(LONG)
            library.work("background")
            done.set()

        @hooks.before("llm.call", timeout=LONG)
        def gate(op: Operation) -> None:
            gated.append(op.request.inputs)
            ask.set()

        thread = threading.Thread(target=work)
        thread.start()
        library.work("x")
        assert done.wait(LONG)
        thread.join()
    assert sorted(gated) == ["background", "x"]


def test_a_thread_that_is_started_twice_is_refused_as_ever() -> None:
    hooks = Hooks()
    refused: list[str] = []

    @hooks.before("llm.call", timeout=LONG)
    def gate(op: Operation) -> None:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="once"):
            thread.start()
        assert "run" not in vars(thread)
        refused.append(thread.name)

    with stubbed(hooks) as (library, _):
        library.work("x")
    assert len(refused) == 1


def test_nothing_is_left_when_it_is_taken_off() -> None:
    before = threading.Thread.start, ThreadPoolExecutor.submit, _thread.start_new_thread
    code = threading.Thread.start.__code__
    with recorder(Hooks()):
        assert threading.Thread.start is not before[0]
    assert before == (threading.Thread.start, ThreadPoolExecutor.submit, _thread.start_new_thread)
    assert threading.Thread.start.__code__ is code


class Pooling:
    """A library that runs parts of its calls in a pool, without their context."""

    def work(self, pool: ThreadPoolExecutor, ask: Ask) -> Any:
        return pool.submit(ask).result()


def _pooling(*_call: Any) -> Attributes:
    return {semconv.GEN_AI_AGENT_NAME: "pooling"}


POOLING = Adapter(
    kind="agent.invoke",
    layer="pooling",
    start=_pooling,
    traits=frozenset(("pools",)),
)


def test_parts_of_a_call_that_run_in_a_pool_are_inside_of_it() -> None:
    hooks, gated = Hooks(), list[tuple[Any, str]]()
    hooks.before("llm.call")(lambda op: gated.append((op.request.inputs, op.agent or "")))
    bindings = Bindings([Point(module=__name__, name="Pooling.work", adapter=f"{__name__}:POOLING")])
    with stubbed(hooks) as (library, seen), ThreadPoolExecutor(1) as pool:
        bindings.bind()
        try:
            assert Pooling().work(pool, partial(library.work, "inside")) == "inside"
            assert pool.submit(partial(library.work, "outside")).result() == "outside"
        finally:
            bindings.restore()
    assert gated == [("inside", "pooling"), ("outside", "")]
    inside, around, outside = seen.spans
    assert inside.parent is not None
    assert inside.parent == around.context
    assert outside.parent is None


def test_a_rejection_of_the_run_leaves_a_pool_as_it_came() -> None:
    hooks, gated = Hooks(), list[str]()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        gated.append(op.request.inputs)
        raise Reject("enough", scope="run")

    def twice() -> None:
        for given in ("first", "second"):
            try:
                library.work(given)
            except Exception as error:
                raise AssertionError("a library that goes on after errors would have gone on") from error

    bindings = Bindings([Point(module=__name__, name="Pooling.work", adapter=f"{__name__}:POOLING")])
    with stubbed(hooks) as (library, _), ThreadPoolExecutor(1) as pool:
        bindings.bind()
        try:
            with pytest.raises(Reject, match="enough"):
                Pooling().work(pool, twice)
        finally:
            bindings.restore()
    assert gated == ["first"]
