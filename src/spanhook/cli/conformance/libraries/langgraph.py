"""What is gated in LangGraph, and every way of calling it. Each subject counts the runs of its body."""

from collections.abc import Callable, Iterable
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from spanhook.cli.conformance.libraries.runnables import V3, collect, lacks_v3, later, more_ways, opened, then, v3_ways
from spanhook.cli.conformance.subject import Body, Subject, Ungated, Use


class State(TypedDict, total=False):
    value: str


def make_graph(body: Body) -> Any:
    """A graph with one node."""

    def work(state: State) -> State:
        body.run(state)
        return {"value": "done"}

    builder: Any = StateGraph(State)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    return builder.compile(name="worker")


def make_handoff(body: Body) -> Any:
    """A graph with a subgraph that hands off to the other node."""

    def hand_off(_state: State) -> Command[str]:
        return Command(graph=Command.PARENT, goto="other", update={"value": "handed over"})

    def other(state: State) -> State:
        body.run(state)
        return {"value": "done"}

    inner: Any = StateGraph(State)
    inner.add_node("hand off", hand_off)
    inner.add_edge(START, "hand off")
    outer: Any = StateGraph(State)
    outer.add_node("one", inner.compile(name="one"))
    outer.add_node("other", other)
    outer.add_edge(START, "one")
    return outer.compile(name="both")


class CountingStore(InMemoryStore):
    """An inner store, which counts writes."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body = body

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.body.run(ops)
        return super().batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        self.body.run(ops)
        return await super().abatch(ops)


class OuterStore(BaseStore):
    """A store that delegates to another."""

    def __init__(self, inner: BaseStore) -> None:
        self.inner = inner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.inner.abatch(ops)


def _store(body: Body) -> BaseStore:
    return OuterStore(CountingStore(body))


_VALUE = {"what": "tea"}
STORE_WAYS: dict[str, Use] = {
    "put": lambda store: store.put(("notes",), "k", _VALUE),
    "aput": lambda store: store.aput(("notes",), "k", _VALUE),
    "delete": lambda store: store.delete(("notes",), "k"),
    "adelete": lambda store: store.adelete(("notes",), "k"),
    "batch of writes": lambda store: store.batch([PutOp(("notes",), "k", _VALUE)]),
    "abatch of writes": lambda store: store.abatch([PutOp(("notes",), "k", _VALUE)]),
}
STORE_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "put": lambda store: later(store.put, ("notes",), "k", _VALUE),
    "abatch of writes": lambda store: later(store.abatch, [PutOp(("notes",), "k", _VALUE)]),
}

GIVEN: State = {"value": "x"}
GRAPH_WAYS: dict[str, Use] = {
    "invoke": lambda graph: graph.invoke(GIVEN),
    "ainvoke": lambda graph: graph.ainvoke(GIVEN),
    "stream": lambda graph: list(graph.stream(GIVEN)),
    "astream": lambda graph: collect(graph.astream(GIVEN)),
    "stream values": lambda graph: list(graph.stream(GIVEN, stream_mode="values")),
    "stream many": lambda graph: list(graph.stream(GIVEN, stream_mode=["values", "updates", "messages"])),
    "batch": lambda graph: graph.batch([GIVEN, GIVEN]),
    "abatch": lambda graph: graph.abatch([GIVEN, GIVEN]),
    "events": lambda graph: collect(graph.astream_events(GIVEN, version="v2")),
    **more_ways(GIVEN, GIVEN),
    **v3_ways(CompiledStateGraph, GIVEN),
}
GRAPH_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "invoke": lambda graph: later(graph.invoke, GIVEN),
    "ainvoke": lambda graph: later(graph.ainvoke, GIVEN),
    "stream": lambda graph: then(list, graph.stream, GIVEN),
    "astream": lambda graph: then(collect, graph.astream, GIVEN),
}


_LACKING = V3 if lacks_v3(CompiledStateGraph) else ()

SUBJECTS: tuple[Subject, ...] = (
    Subject("handoff", "agent.delegate", make_handoff, GRAPH_WAYS, GRAPH_BIND, lacking=_LACKING, faults=()),
    Subject("store", "memory.store", _store, STORE_WAYS, STORE_BIND),
    Subject(
        "graph",
        "agent.invoke",
        make_graph,
        GRAPH_WAYS,
        GRAPH_BIND,
        lacking=_LACKING,
        opened=opened(GIVEN),
        answer={"value": "instead"},
    ),
)

UNGATED = (
    Ungated("reading from a store", _store, lambda store: store.get(("notes",), "k")),
    Ungated("a graph behind RemoteGraph"),
)
