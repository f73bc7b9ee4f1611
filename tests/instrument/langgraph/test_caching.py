"""The cache of nodes, which keeps nothing of a run in which hooks have changed something."""

import asyncio
from typing import Any, NotRequired, TypedDict

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy

from spanhook import Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
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
