"""The cache of nodes, which keeps nothing of a run in which hooks have changed something."""

import asyncio
import gc
import threading
from typing import Any, NotRequired, TypedDict

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy

from spanhook import Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from spanhook.concurrency import reaper
from spanhook.instrument.langgraph import caching
from spanhook.testing import recorder


class State(TypedDict):
    value: str
    other: NotRequired[str]


def graph(body: Body, cache: Any) -> Any:
    """A node that asks a model, beside another, so that both run in threads."""

    def think(state: State) -> dict[str, str]:
        try:
            return {"value": str(ScriptedChat(body=body).invoke(state["value"]).content)}
        except Reject:
            return {"value": "[refused]"}

    made: Any = StateGraph(State)
    made.add_node("think", think, cache_policy=CachePolicy())
    made.add_node("beside", lambda _state: {"other": "x"})
    for name in ("think", "beside"):
        made.add_edge(START, name)
        made.add_edge(name, END)
    return made.compile(cache=cache)


def functional(body: Body, cache: Any) -> Any:
    """The same without a graph."""

    @task(cache_policy=CachePolicy())
    def think(text: str) -> str:
        try:
            return str(ScriptedChat(body=body).invoke(text).content)
        except Reject:
            return "[refused]"

    @entrypoint(cache=cache)
    def run(state: State) -> State:
        return {"value": think(state["value"]).result()}

    return run


def ask(way: str, made: Any) -> str:
    async def later() -> Any:
        if way == "ainvoke":
            return await made.ainvoke({"value": "hi"})
        return [part async for part in made.astream({"value": "hi"}, stream_mode="values")][-1]

    if way.startswith("a"):
        return asyncio.run(later())["value"]
    if way == "invoke":
        return made.invoke({"value": "hi"})["value"]
    return list(made.stream({"value": "hi"}, stream_mode="values"))[-1]["value"]


def deciding(does: str) -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        if does == "refuses":
            raise Reject("Not this")
        if does == "rewrites":
            op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "ho"}]}])

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        if does == "replaces":
            op.respond("[hidden]")

    @hooks.before("workflow.step", names={"think"})
    def step(op: Operation) -> None:
        if does == "changes the step":
            op.replace(inputs={"value": "hey"})

    return hooks


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
@pytest.mark.parametrize("make", [graph, functional])
@pytest.mark.parametrize("does", ["replaces", "refuses", "rewrites", "looks"])
def test_a_node_whose_answers_hooks_have_changed_is_not_kept(way: str, make: Any, does: str) -> None:
    cache, body = InMemoryCache[Any](), Body()
    with recorder(deciding(does)):
        first = ask(way, make(body, cache))
        assert len(cache._cache) == (1 if does == "looks" else 0)
        assert ask(way, make(body, cache)) == first
    assert body.runs == {"looks": 1, "refuses": 0}.get(does, 2)


def test_a_step_whose_input_hooks_have_changed_is_not_kept() -> None:
    cache, body = InMemoryCache[Any](), Body()
    with recorder(deciding("changes the step")):
        for _ in range(2):
            ask("invoke", graph(body, cache))
    assert not cache._cache
    assert [one.content for (one,) in body.seen] == ["hey", "hey"]


def test_a_hit_asks_no_hook() -> None:
    cache, body = InMemoryCache[Any](), Body()
    with recorder(deciding("looks")):
        kept = ask("invoke", graph(body, cache))
    with recorder(deciding("refuses")):
        assert ask("invoke", graph(body, cache)) == kept


def test_an_application_may_ask_a_cache_of_its_own_for_what_can_be_read_only_once() -> None:
    cache, key = InMemoryCache[Any](), (("mine",), "k")
    cache.set({key: (1, None)})
    keys: Any = iter([key])
    with recorder(Hooks()), operation("agent.invoke", "a"):
        assert cache.get(keys) == {key: 1}


def test_of_a_graph_that_has_run_nothing_is_kept_although_what_encloses_it_goes_on() -> None:
    cache, before = InMemoryCache[Any](), set(caching._requested)
    with recorder(deciding("looks")) as seen, operation("job", "many"):
        for _ in range(3):
            ask("invoke", graph(Body(), cache))
            seen.operations.clear()
        gc.collect()
        assert before.issuperset(caching._requested)
    assert len(cache._cache) == 1


@pytest.mark.parametrize("does", ["replaces", "refuses"])
def test_a_run_that_hooks_have_changed_keeps_no_other_from_the_cache_once_it_has_ended(does: str) -> None:
    cache = InMemoryCache[Any]()
    with recorder(deciding(does)) as changed:
        ask("invoke", graph(Body(), cache))
    with recorder(deciding("looks")):
        ask("invoke", graph(Body(), cache))
    assert len(cache._cache) == 1
    assert changed.operations  # which are there


@pytest.mark.parametrize("hooked", [True, False])
def test_what_goes_on_after_a_stream_was_dropped_is_not_kept_if_there_are_hooks(hooked: bool) -> None:
    cache, dropped = InMemoryCache[Any](), threading.Event()

    def late(_state: State) -> dict[str, str]:
        assert dropped.wait(60)
        return {"value": str(ScriptedChat(body=Body()).invoke("hi").content)}

    made: Any = StateGraph(State)
    made.add_node("late", late, cache_policy=CachePolicy())
    made.add_node("beside", lambda _state: {"other": "x"})
    for name in ("late", "beside"):
        made.add_edge(START, name)
        made.add_edge(name, END)
    with recorder(deciding("replaces") if hooked else None):
        stream = made.compile(cache=cache).stream({"value": "hi"}, stream_mode="updates")
        assert next(stream) == {"beside": {"other": "x"}}
        threading.Timer(0.05, dropped.set).start()
        del stream
        gc.collect()
        assert reaper.drain(60.0)
    assert len(cache._cache) == (0 if hooked else 1)
