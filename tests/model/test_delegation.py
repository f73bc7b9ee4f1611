"""Delegations: an agent run by another, and hand-offs, each told of once, with parent and child."""

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.types import Command, Send

import spanhook
from spanhook import Event, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain import WAYS, consume
from spanhook.cli.conformance.subject import settle
from spanhook.testing import recorder
from tests.conformance.teams import asker, asking_swarm, member, swarm, team, transfer_to

GIVEN: Any = {"messages": [("user", "hi")]}
STARTS_AND_ENDS = "delegate:start", "delegate:end"


def boss(*lines: Any) -> Any:
    """An agent that asks another one, in a tool."""

    @tool
    async def aresearch() -> str:
        """Research."""
        result = await member("researcher", ["found"]).ainvoke({"messages": [("user", "what is it?")]})
        return result["messages"][-1].text

    @tool
    def research() -> str:
        """Research."""
        return member("researcher", ["found"]).invoke({"messages": [("user", "what is it?")]})["messages"][-1].text

    both = tool("research")(research.func)  # type: ignore[attr-defined]
    both.coroutine = aresearch.coroutine  # type: ignore[attr-defined]
    return member("boss", lines or (["research"], "done"), [both])


def listening(*events: str, **settings: Any) -> tuple[Hooks, list[Event]]:
    hooks, heard = Hooks(), list[Event]()
    for event in events:
        hooks.on(event, heard.append, **settings)
    return hooks, heard


def told(heard: list[Event]) -> list[tuple[str, str, str]]:
    """Short name, parent and child of each."""
    return [(one.alias, one.payload()["parent_agent"], one.payload()["child_agent"]) for one in heard]


@pytest.mark.parametrize("way", WAYS)
def test_a_sub_agent_in_a_tool_is_a_delegation(way: str) -> None:
    hooks, heard = listening("agent.delegate")
    with recorder(hooks) as seen:
        settle(consume(boss(), way, GIVEN))
        assert hooks.flush()
        start, end = (one.payload() for one in heard)
    assert told(heard) == [(name, "boss", "researcher") for name in STARTS_AND_ENDS]
    assert (start["type"], end["type"]) == ("agent.delegate.pre", "agent.delegate.post")
    assert (start["input"], end["input"], end["output"]) == ("what is it?", "what is it?", "found")
    assert (end["agent_name"], end["status"]) == ("boss", "success")
    assert end["duration_ms"] > 0
    assert start["run_id"] == end["run_id"] != ""
    assert "agent.delegate" not in [op.kind for op in seen.operations]
    assert len([span for span in seen.spans if "delegate" in span.name]) == 0


@pytest.mark.parametrize("make", [swarm, asking_swarm])
@pytest.mark.parametrize("way", WAYS)
def test_a_hand_off_is_a_delegation_once(make: Any, way: str) -> None:
    """And the first agent of a team is delegated to by the team; the one handed off to is not, once more."""
    hooks, heard = listening("agent.delegate")
    with recorder(hooks):
        settle(consume(make(), way, GIVEN))
        assert hooks.flush()
    assert told(heard) == [
        ("delegate:start", "team", "alice"),
        ("delegate:start", "alice", "bob"),
        ("delegate:end", "alice", "bob"),
        ("delegate:end", "team", "alice"),
    ]


def test_a_handoff_back_is_one_more_and_so_is_a_call_after_it() -> None:
    nodes = {
        "alice": member("alice", [["transfer_to_bob"], "bye"], [transfer_to("bob")]),
        "bob": member("bob", [["transfer_to_alice"]], [transfer_to("alice", with_send=True)]),
    }
    hooks, heard = listening("delegate:start")
    with recorder(hooks):
        team(nodes).invoke(GIVEN)
        assert hooks.flush()
    assert [one[1:] for one in told(heard)] == [("team", "alice"), ("alice", "bob"), ("bob", "alice")]


def test_a_handoff_that_is_refused_is_an_end_alone() -> None:
    hooks, heard = listening("agent.delegate", names={"bob"})

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        raise Reject("not to him")

    with recorder(hooks):
        swarm([["transfer_to_bob"], "then not"]).invoke(GIVEN)
        assert hooks.flush()
    assert [(one.alias, one.status, one.payload()["error"]) for one in heard] == [
        ("delegate:end", "rejected", "not to him")
    ]


def test_a_sub_agent_that_is_refused_is_an_end_alone() -> None:
    hooks, heard = listening("agent.delegate")

    @hooks.before("agent.invoke", names={"researcher"})
    def refuse(op: Operation) -> None:
        raise Reject("busy")

    with recorder(hooks):
        with pytest.raises(Reject):
            boss().invoke(GIVEN)
        assert hooks.flush()
    assert [(one.alias, one.status) for one in heard] == [("delegate:end", "rejected")]


def test_a_sub_agent_that_fails_ends_the_delegation_with_its_error() -> None:
    hooks, heard = listening("agent.delegate")

    @spanhook.agent("child")
    def child() -> None:
        raise KeyError("x")

    @spanhook.agent("parent")
    def parent() -> str:
        try:
            child()
        except KeyError:
            return "never mind"
        return ""

    with recorder(hooks):
        parent()
        assert hooks.flush()
    assert told(heard) == [(name, "parent", "child") for name in STARTS_AND_ENDS]
    assert (heard[1].type, heard[1].status, heard[1].payload()["error_type"]) == (
        "agent.delegate.error",
        "error",
        "KeyError",
    )


def test_a_sub_agent_that_is_cancelled_ends_the_delegation() -> None:
    hooks, heard = listening("agent.delegate")

    @spanhook.agent("child")
    async def child() -> None:
        await asyncio.Event().wait()

    @spanhook.agent("parent")
    async def parent() -> None:
        async with asyncio.timeout(0):
            await child()

    with recorder(hooks):
        with pytest.raises(TimeoutError):
            asyncio.run(parent())
        assert hooks.flush()
    assert [(one.alias, one.status) for one in heard] == [("delegate:start", ""), ("delegate:end", "cancelled")]


def test_each_is_told_of_the_agent_that_called_it() -> None:
    """The nearest: a child of a child was not delegated to by the first."""
    hooks, heard = listening("delegate:end")

    @spanhook.agent("c")
    def c() -> str:
        return "c"

    @spanhook.agent("b")
    def b() -> str:
        with spanhook.operation("workflow.step", "one"):
            return c()

    @spanhook.agent("a")
    def a() -> str:
        return b()

    with recorder(hooks):
        a()
        assert hooks.flush()
    assert told(heard) == [("delegate:end", "b", "c"), ("delegate:end", "a", "b")]


def test_it_nests_around_the_agents_own_events() -> None:
    hooks = Hooks(level="trace")
    heard: list[str] = []
    hooks.on("*", lambda event: heard.append(f"{event.alias} {event.name}"), agents={"boss", "researcher"})
    with recorder(hooks):
        boss().invoke(GIVEN)
        assert hooks.flush()
    named = [one for one in heard if one.startswith(("agent", "delegate"))]
    assert named == [
        "agent:start boss",
        "delegate:start researcher",
        "agent:start researcher",
        "agent:end researcher",
        "delegate:end researcher",
        "agent:end boss",
    ]


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"names": {"researcher"}}, 2),
        ({"names": {"boss"}}, 0),
        ({"agents": {"boss"}}, 2),
        ({"agents": {"researcher"}}, 0),
        ({"tenant_id": "acme"}, 2),
        ({"tenant_id": "other"}, 0),
        ({"when": lambda op: op.kind == "agent.delegate" and op.agent == "boss"}, 2),
        ({"when": lambda op: op.kind == "agent.invoke"}, 0),
    ],
)
def test_filters_are_for_the_delegation(settings: dict[str, Any], count: int) -> None:
    hooks, heard = listening(*STARTS_AND_ENDS, **settings)
    with recorder(hooks), spanhook.context(tenant_id="acme"):
        boss().invoke(GIVEN)
        assert hooks.flush()
    assert len(heard) == count


def test_decisions_are_counted_as_the_delegations() -> None:
    hooks, _ = listening("delegate:end", name="ear")
    with recorder(hooks) as seen:
        boss().invoke(GIVEN)
        assert hooks.flush()
        counted = {point["spanhook.event"] for point, _ in seen.metrics()["spanhook.hook.decisions"]}
    assert counted == {"agent.delegate.post"}


def test_the_beginning_and_the_end_are_of_one_operation() -> None:
    hooks, heard = listening("agent.delegate")
    with recorder(hooks):
        boss().invoke(GIVEN)
        assert hooks.flush()
    start, end = heard
    assert start == end
    assert end.parent is not None
    assert (end.parent.kind, end.parent.name) == ("tool.execute", "research")


def test_hand_offs_in_parallel_are_told_apart() -> None:
    """A command that goes to two agents at once is one hand-off to both."""

    def both(_state: Any) -> Command[str]:
        return Command(graph=Command.PARENT, goto=[Send("bob", GIVEN), Send("carol", GIVEN)])

    nodes = {
        "alice": asker(both, name="alice"),
        "bob": member("bob", ["Bob"]),
        "carol": member("carol", ["Carol"]),
    }
    hooks, heard = listening("delegate:start")
    with recorder(hooks):
        team(nodes).invoke(GIVEN)
        assert hooks.flush()
    assert [one[1:] for one in told(heard)] == [("team", "alice"), ("alice", "bob,carol")]


def test_threads_have_delegations_of_their_own() -> None:
    hooks, heard = listening("delegate:end")

    @spanhook.agent("child")
    def child(index: int) -> int:
        return index

    def run(index: int) -> None:
        with spanhook.operation("agent.invoke", f"parent {index}"):
            child(index)

    with recorder(hooks):
        threads = [threading.Thread(target=run, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert hooks.flush()
    assert sorted(one.agent for one in heard) == [f"parent {index}" for index in range(8)]
    assert all(one.agent == f"parent {one.output}" for one in heard)


def test_nobody_listens_and_nothing_is_made() -> None:
    hooks, _ = listening("agent.invoke")
    with recorder(hooks) as seen:
        boss().invoke(GIVEN)
    assert not any("delegations" in op._record.__dict__ for op in seen.operations)
