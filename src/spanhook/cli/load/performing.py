"""Runs the script: real graphs over real models and tools, many at once."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import islice
from typing import Any, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

import spanhook
from spanhook.cli.load.elsewhere import call_elsewhere
from spanhook.cli.load.models import OBJECTS, to_cancel
from spanhook.cli.load.scenarios import Job, Run
from spanhook.cli.load.steps import RESEARCHER, Ask, Foreign, HandOff, Recall, Step, Use
from spanhook.cli.load.tools import CUSTOMERS, POLICIES, TOOLS, Delegate, delegate
from spanhook.cli.load.tricks import TRICKS

Call = tuple[Callable[[], Any], Callable[[], Awaitable[Any]]]
"""One call, from sync and from async code."""

acting: ContextVar[tuple[Step, ...]] = ContextVar("spanhook.cli.load.acting")
"""The steps of the enclosing agent."""
of_load: ContextVar[str] = ContextVar("spanhook.cli.load.of_load")
"""An id of the load, as approvals are remembered from one load to the next."""
SAVER = InMemorySaver()


class State(TypedDict):
    """The graphs' state, which is trivial."""

    done: bool


# ----------------------------------------------------------------------------------------------- agents


@cache
def graph(name: str, *, remembers: bool) -> Any:
    """An agent that takes the steps in ``acting``, and then one more that does nothing."""
    made: Any = StateGraph(State)
    made.add_node("act", RunnableLambda(_act, _aact))
    made.add_node("finish", RunnableLambda(_finish))
    made.add_edge(START, "act")
    made.add_edge("act", "finish")
    made.add_edge("finish", END)
    return made.compile(SAVER if remembers else None, name=name)


def _act(_state: State) -> State:
    for step in acting.get():
        for call, _ in _calls(step):
            call()
    return {"done": True}


async def _aact(_state: State) -> State:
    for step in acting.get():
        for _, call in _calls(step):
            await call()
    return {"done": True}


def _finish(_state: State) -> State:
    return {"done": True}


def _calls(step: Step) -> Iterator[Call]:
    if isinstance(step, Ask):
        yield _asking(step)
    elif isinstance(step, Use):
        if step.inside is not None:
            delegate.set(_delegating(step.inside))
        yield _using(step)
    elif isinstance(step, Recall):
        yield (lambda: POLICIES.invoke("returns"), lambda: POLICIES.ainvoke("returns"))
        put = ("customers",), "ann", {"likes": "tea", "writes from": "ann@example.com"}
        yield (lambda: CUSTOMERS.put(*put), lambda: CUSTOMERS.aput(*put))
    elif isinstance(step, HandOff):
        yield (lambda: _hand_off(step), lambda: asyncio.sleep(0, _hand_off(step)))
    elif isinstance(step, Foreign):
        yield (lambda: call_elsewhere(step), lambda: asyncio.sleep(0, call_elsewhere(step)))


def _hand_off(step: HandOff) -> None:
    with spanhook.operation("agent.delegate", step.to):
        pass


def _asking(step: Ask) -> Call:
    asked, model = "what is to be done?", OBJECTS[step.model]
    if step.how in ("stream", "stop", "break"):
        # Directly from the model: the wrapper that `bind` adds leaves closing a stream to the garbage collector.
        chunks = 1 if step.how == "stop" else None
        return (
            lambda: _read(model.stream(asked, reply=step), chunks),
            lambda: _aread(model.astream(asked, reply=step), chunks),
        )
    bound: Any = model.bind(reply=step)
    if step.otherwise is not None:
        bound = bound.with_fallbacks([OBJECTS[step.otherwise.model].bind(reply=step.otherwise)])
    return (lambda: bound.invoke(asked), lambda: bound.ainvoke(asked))


def _using(step: Use) -> Call:
    trick = TRICKS[step.trick]
    tool = TOOLS[trick.tool]
    asked: Any = {"type": "tool_call", "id": "call_1", "name": trick.tool, "args": {"about": trick.about}}
    return (lambda: tool.invoke(asked), lambda: tool.ainvoke(asked))


def _delegating(step: Ask) -> Delegate:
    other = graph(RESEARCHER, remembers=False)

    def run() -> None:
        acting.set((step,))
        other.invoke({"done": False})

    async def arun() -> None:
        acting.set((step,))
        await other.ainvoke({"done": False})

    return Delegate(run, arun)


def _read(stream: Iterator[Any], chunks: int | None) -> None:
    for _ in islice(stream, chunks):
        pass
    if chunks is not None:
        stream.close()  # type: ignore[attr-defined]


async def _aread(stream: AsyncIterator[Any], chunks: int | None) -> None:
    async for _ in stream:
        if chunks is not None:
            break
    if chunks is not None:
        await stream.aclose()  # type: ignore[attr-defined]


# ----------------------------------------------------------------------------------------------- runs


def _asked(run: Run) -> tuple[Any, Any, Any]:
    """The agent of a run, its input and its configuration."""
    acting.set(run.steps)
    agent = graph(run.agent, remembers=bool(run.thread))
    config: Any = {"configurable": {"thread_id": _thread(run)}} if run.thread else None
    return agent, _answering(agent, config, run.answer) if run.answer else {"done": False}, config


def _thread(run: Run) -> str:
    return f"{of_load.get()}-{run.thread}"


def _answering(agent: Any, config: Any, answer: str) -> Any:
    """What resumes a run with an answer to the question that has interrupted it."""
    [question] = agent.get_state(config).interrupts
    return Command(resume={"decision": answer, "approval_id": question.value["approval_id"], "by": "team-lead"})


def _perform(run: Run) -> None:
    agent, given, config = _asked(run)
    with spanhook.context(tenant_id=run.tenant, user_id=run.user), suppress(Exception):
        if run.closed:
            _read(agent.stream(given, config, stream_mode="updates"), 1)
        else:
            agent.invoke(given, config)


async def _aperform(run: Run) -> None:
    agent, given, config = _asked(run)
    if run.ending[0] == "cancelled":
        to_cancel.set(asyncio.current_task())
    with spanhook.context(tenant_id=run.tenant, user_id=run.user), suppress(Exception):
        if run.closed:
            await _aread(agent.astream(given, config, stream_mode="updates"), 1)
        else:
            await agent.ainvoke(given, config)


def _in_context(run: Run) -> Callable[[], None]:
    """To be called in a thread, which would otherwise keep its context from one run to the next."""
    context = copy_context()
    return lambda: context.run(_perform, run)


async def _work(jobs: Iterator[Job], threads: ThreadPoolExecutor, done: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for job in jobs:
        for run in job:
            if run.is_async:
                await asyncio.wait([loop.create_task(_aperform(run))])
            else:
                await loop.run_in_executor(threads, _in_context(run))
            done()
        if job[0].thread:
            SAVER.delete_thread(_thread(job[0]))


def perform(jobs: Iterable[Job], concurrency: int, done: Callable[[], None]) -> None:
    """Make every run of the script, ``concurrency`` at a time: async ones on one event loop, sync ones in threads.

    Args:
        jobs: The script.
        concurrency: How many runs are active at any time.
        done: Called after each run.
    """

    async def main() -> None:
        of_load.set(uuid.uuid4().hex)
        shared = iter(jobs)
        with ThreadPoolExecutor(concurrency, "spanhook-load") as threads:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(_work(shared, threads, done))

    asyncio.run(main())
