"""What agents are called, and whose runs they are."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypedDict
from uuid import UUID

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain import WAYS, consume
from spanhook.cli.conformance.libraries.langgraph import State
from spanhook.cli.conformance.subject import settle
from spanhook.model import Identity
from spanhook.testing import recorder
from tests.conformance.teams import Lines

GIVEN: Any = {"value": "x"}
CHAT: Any = {"messages": [("user", "hi")]}


def graph(node: Any = lambda state: state, name: str | None = None, *, called: str = "work", **options: Any) -> Any:
    """A graph of one node; without a name, LangGraph gives it that of all."""
    builder: Any = StateGraph(State, **options)
    builder.add_node(called, node)
    builder.add_edge(START, called)
    return builder.compile(name=name)


def names_in(use: Callable[[], Any]) -> list[str]:
    """The names of the agents that ran, in the order they ended, which all that is told of them agrees on."""
    hooks = Hooks()
    asked: list[str] = []

    @hooks.before("agent.invoke")
    def note(op: Operation) -> None:
        assert op.name == op.agent == op.identity.agent_id
        asked.append(op.name)

    with recorder(hooks) as seen:
        settle(use())
    agents = [op for op in seen.operations if op.kind == "agent.invoke"]
    names = [op.name for op in agents]
    assert sorted(asked) == sorted(names)
    spans = [span for span in seen.spans if span.name.startswith("invoke_agent")]
    assert [span.name for span in spans] == [f"invoke_agent {name}" for name in names]
    assert [(span.attributes or {})["gen_ai.agent.name"] for span in spans] == names
    measured = {told["gen_ai.agent.name"] for told, _ in seen.metrics()["gen_ai.invoke_agent.duration"]}
    assert measured == set(names)
    assert [event["attributes"]["gen_ai.agent.name"] for event in seen.events] == [
        op.name for op in agents if op.parent is None
    ]
    return names


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("way", WAYS)
def test_by_the_node_it_stands_in(way: str) -> None:
    assert names_in(lambda: consume(graph(graph(), called="research"), way, GIVEN)) == ["research", "LangGraph"]


@pytest.mark.parametrize("way", WAYS)
def test_by_its_own_name_before_that_of_the_node(way: str) -> None:
    outer = graph(graph(name="inner"), "outer", called="research")
    assert names_in(lambda: consume(outer, way, GIVEN)) == ["inner", "outer"]
    agent = create_agent(Lines(lines=["done"]), tools=[], name="writer")
    assert names_in(lambda: consume(agent, way, CHAT)) == ["writer"]


@pytest.mark.parametrize("with_config", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_by_the_node_that_calls_it(way: str, with_config: bool) -> None:
    inner = graph()

    def sync(state: Any, config: RunnableConfig) -> Any:
        return inner.invoke(state, config if with_config else None)

    async def not_sync(state: Any, config: RunnableConfig) -> Any:
        return await inner.ainvoke(state, config if with_config else None)

    is_async = way.startswith("a") or way == "events"
    outer = graph(not_sync if is_async else sync, called="research")
    assert names_in(lambda: consume(outer, way, GIVEN)) == ["research", "LangGraph"]


def test_by_the_nodes_at_every_depth() -> None:
    assert names_in(lambda: graph(graph(graph(), called="deep"), called="mid").invoke(GIVEN)) == [
        "deep",
        "mid",
        "LangGraph",
    ]


def test_a_thread_of_its_own_changes_nothing() -> None:
    def node(state: Any) -> Any:
        return graph().invoke(state, {"configurable": {"thread_id": "its own"}})

    assert names_in(lambda: graph(node, called="research").invoke(GIVEN)) == ["research", "LangGraph"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_by_the_tool_that_calls_it(way: str) -> None:
    """The node is "tools" for all of an agent's tools."""

    @tool
    def research() -> str:
        """Research."""
        return graph().invoke(GIVEN)["value"]

    agent = create_agent(Lines(lines=[["research"], "done"]), tools=[research])
    assert names_in(lambda: consume(agent, way, CHAT)) == ["research", "LangGraph"]
    named = create_agent(Lines(lines=["done"]), tools=[], name="expert")

    @tool
    def ask() -> str:
        """Ask."""
        return named.invoke(CHAT)["messages"][-1].text

    agent = create_agent(Lines(lines=[["ask"], "done"]), tools=[ask], name="chief")
    assert names_in(lambda: consume(agent, way, CHAT)) == ["expert", "chief"]


def test_by_the_name_bound_to_it_but_not_by_that_of_one_run() -> None:
    """What names a run may be another for each."""
    assert names_in(lambda: graph().with_config(run_name="research").invoke(GIVEN)) == ["research"]
    assert names_in(lambda: graph(name="own").with_config(run_name="research").invoke(GIVEN)) == ["own"]
    assert names_in(lambda: graph().invoke(GIVEN, {"run_name": "run 17"})) == ["LangGraph"]


def test_by_the_servers_name_for_the_graph() -> None:
    server: Any = {"configurable": {"graph_id": "support", "assistant_id": UUID(int=7)}}
    assert names_in(lambda: graph().invoke(GIVEN, server)) == ["support"]
    assert names_in(lambda: graph().invoke(GIVEN, {"metadata": {"graph_id": "support"}})) == ["support"]
    assert names_in(lambda: graph(graph(), called="research").invoke(GIVEN, server)) == ["research", "support"]
    with recorder() as seen:
        graph().invoke(GIVEN, server)
    assert dict(seen.spans[0].attributes or {})["gen_ai.agent.id"] == str(UUID(int=7))


def test_functional_workflows() -> None:
    @task
    def research(value: str) -> str:
        return graph().invoke({"value": value})["value"]

    @entrypoint()
    def flow(value: str) -> str:
        return research(value).result()

    assert names_in(lambda: flow.invoke("x")) == ["research", "LangGraph"]


def test_several_unnamed_agents_of_one_application_are_told_apart_by_hooks() -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke", names={"plan"})
    @hooks.before("workflow.step", agents={"write"})
    def refuse(op: Operation) -> None:
        raise Reject(f"not {op.agent}")

    builder: Any = StateGraph(State)
    for name in ("search", "plan", "write"):
        builder.add_node(name, graph())
    builder.add_edge(START, "search")
    builder.add_conditional_edges("search", lambda state: state["value"])
    for value in ("plan", "write"):
        with recorder(hooks), pytest.raises(Reject, match=f"not {value}"):
            builder.compile().invoke({"value": value})


# ------------------------------------------------------------------------------------------------ context=


class Typed(TypedDict, total=False):
    user_id: str
    tenant_id: str
    session_id: str


@dataclass
class Plain:
    user_id: str = "ann"
    tenant_id: str = "acme"
    session_id: str = "s1"


class Model(BaseModel):
    user_id: str = "ann"
    tenant_id: str = "acme"
    session_id: str = "s1"


class Whole:
    """As applications write them: ids are no strings, the user is an object of theirs."""

    tenant_id = 7
    thread_id = UUID(int=1)

    class user:
        identity = "ann"


FIELDS: Any = {"user_id": "ann", "tenant_id": "acme", "session_id": "s1"}
CONTEXTS: dict[str, tuple[Any, Any]] = {
    "dataclass": (Plain, Plain()),
    "dataclass from a dict": (Plain, FIELDS),
    "typed dict": (Typed, FIELDS),
    "model": (Model, Model()),
    "model from a dict": (Model, FIELDS),
    "dict": (None, FIELDS),
}


def identity_of(context: Any, schema: Any = None, config: Any = None, way: str = "invoke") -> Identity:
    made = graph(name="g", context_schema=schema)
    ways: dict[str, Callable[[], Any]] = {
        "invoke": lambda: made.invoke(GIVEN, config, context=context),
        "ainvoke": lambda: made.ainvoke(GIVEN, config, context=context),
        "stream": lambda: list(made.stream(GIVEN, config, context=context)),
        "astream": lambda: _all(made.astream(GIVEN, config, context=context)),
        "events": lambda: _all(made.astream_events(GIVEN, config, version="v2", context=context)),
        "batch": lambda: made.batch([GIVEN], config, context=context),
    }
    with recorder() as seen:
        settle(ways[way]())
    return seen.operations[-1].identity


async def _all(stream: Any) -> list[Any]:
    return [one async for one in stream]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream", "events", "batch"])
@pytest.mark.parametrize("sort", CONTEXTS)
def test_a_context_tells_whose_run_it_is(sort: str, way: str) -> None:
    schema, context = CONTEXTS[sort]
    found = identity_of(context, schema, way=way)
    assert (found.user_id, found.tenant_id, found.session_id) == ("ann", "acme", "s1")


def test_ids_of_other_types_and_a_user_object() -> None:
    found = identity_of(Whole())
    assert (found.user_id, found.tenant_id, found.session_id) == ("ann", "7", str(UUID(int=1)))
    assert identity_of({"user": {"identity": "ann"}}).user_id == "ann"


def test_everything_inside_is_for_them_too() -> None:
    with recorder() as seen:
        graph(graph(), "outer", called="inner").invoke(GIVEN, context={"user_id": "ann"})
    assert [op.identity.user_id for op in seen.operations] == ["ann", "ann"]


def test_what_comes_before_what() -> None:
    context = {"user_id": "context", "tenant_id": "context", "session_id": "context"}
    both: Any = {"metadata": {"user_id": "metadata", "tenant_id": "metadata", "thread_id": "metadata"}}
    assert identity_of(context, config=both)[:3] == ("context", "context", "context")
    both["configurable"] = {"user_id": "config", "tenant_id": "config", "thread_id": "config"}
    assert identity_of(context, config=both)[:3] == ("config", "config", "config")
    both["configurable"]["langgraph_auth_user"] = {"identity": "signed in"}
    assert identity_of(context, config=both).user_id == "signed in"
    both["configurable"]["langgraph_auth_user_id"] = "signed in by id"
    assert identity_of(context, config=both).user_id == "signed in by id"
    with spanhook.context(user_id="said", tenant_id="said", session_id="said"):
        assert identity_of(context, config=both)[:3] == ("said", "said", "said")


def test_a_context_is_not_taken_for_what_the_server_has_checked() -> None:
    claimed = {"langgraph_auth_user_id": "admin", "langgraph_auth_user": {"identity": "admin"}, "user_id": "ann"}
    assert identity_of(claimed).user_id == "ann"


class Raising:
    """Every field raises something."""

    tenant_id = "acme"

    @property
    def user_id(self) -> NoReturn:
        raise RuntimeError("no session")

    @property
    def user(self) -> NoReturn:
        raise LookupError("no request")


class Anything:
    """Has every field there is, as doubles in tests do."""

    def __getattr__(self, name: str) -> Any:
        return self


class Unprintable:
    def __str__(self) -> str:
        raise AssertionError("it was made a string")

    __repr__ = __str__


def test_odd_contexts_break_no_call() -> None:
    assert identity_of(Raising()).tenant_id == "acme"
    for odd in (
        Anything(),
        {"user_id": Unprintable(), "tenant_id": [Unprintable()] * 10_000, "session_id": b"bytes"},
        {"user_id": None, "tenant_id": "", "session_id": True},
        "ann",
        7,
        object(),
        {},
        None,
    ):
        assert identity_of(odd)[:3] == ("", "", "")


def test_a_gate_on_the_user_of_a_context() -> None:
    hooks = Hooks()

    @hooks.before("*")
    def known(op: Operation) -> None:
        if op.identity.user_id != "ann":
            raise Reject("who are you?", status_code=401)

    made = graph(name="g", context_schema=Plain)
    with recorder(hooks):
        assert made.invoke(GIVEN, context=Plain()) == GIVEN
        assert asyncio.run(made.ainvoke(GIVEN, context=Plain())) == GIVEN
        with pytest.raises(Reject, match="who are you"):
            made.invoke(GIVEN, context=Plain(user_id="bob"))
