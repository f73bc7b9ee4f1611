"""Hand-offs: a success of whatever they leave, and an operation of their own that hooks may refuse."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import ParentCommand
from langgraph.types import Command, RetryPolicy, interrupt

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.langchain import WAYS, consume
from spanhook.cli.conformance.subject import settle
from spanhook.testing import Recorder, is_gated, recorder
from tests.conformance.teams import asker, asking_swarm, hands_off, member, swarm, team, transfer_to
from tests.thinning import a_fifth

GIVEN: Any = {"messages": [("user", "hi")]}
TEAMS = {"tool": swarm, "node": asking_swarm}
EVERY = [(make, way) for make in TEAMS for way in WAYS]


def refusing(**settings: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before("agent.delegate", **settings)
    def refuse(op: Operation) -> None:
        raise Reject("not to him")

    return hooks


def told(seen: Recorder, *kinds: str) -> list[tuple[str, str, str, str]]:
    """Operations of these kinds as they ended: kind, name, agent, status."""
    return [(op.kind, op.name, op.agent, op.status) for op in seen.operations if op.kind in kinds]


def said(result: Any) -> list[str]:
    return [str(message.text) for message in result["messages"] if isinstance(message, BaseMessage)]


# ------------------------------------------------------------------------------------------------ they succeed


@pytest.mark.parametrize(("make", "way"), a_fifth(pytest.param(*case) for case in EVERY))
def test_a_handoff_is_a_success_of_all_that_it_leaves(make: str, way: str) -> None:
    with recorder(settings=Settings(steps=True)) as seen:
        settle(consume(TEAMS[make](), way, GIVEN))
    assert {op.status for op in seen.operations} == {"success"}
    assert {span.status.status_code.name for span in seen.spans} == {"UNSET"}
    assert told(seen, "agent.delegate", "agent.invoke") == [
        ("agent.delegate", "bob", "alice", "success"),
        ("agent.invoke", "alice", "alice", "success"),
        ("agent.invoke", "bob", "bob", "success"),
        ("agent.invoke", "team", "team", "success"),
    ]
    # no run of its own, and no invocation of an agent
    assert [event["attributes"]["spanhook.target"] for event in seen.events] == ["team"]
    invoked = seen.metrics()["gen_ai.invoke_agent.duration"]
    assert Counter(attributes["gen_ai.agent.name"] for attributes, _ in invoked) == {"alice": 1, "bob": 1, "team": 1}
    assert {attributes["spanhook.status"] for attributes, _ in invoked} == {"success"}
    assert all(count == 1 for _, (_, count) in invoked)


def test_its_span() -> None:
    with recorder() as seen:
        swarm().invoke(GIVEN)

    def brief(node: dict[str, Any]) -> Any:
        return {node["name"]: [brief(child) for child in node["children"]]} if node["children"] else node["name"]

    (root,) = seen.tree()
    assert brief(root) == snapshot(
        {
            "invoke_agent team": [
                {
                    "invoke_agent alice": [
                        "chat",
                        {"execute_tool transfer_to_bob": ["delegate_agent bob"]},
                    ]
                },
                {"invoke_agent bob": ["chat"]},
            ]
        }
    )
    handoff = root["children"][0]["children"][1]["children"][0]
    assert handoff["attributes"] == snapshot(
        {
            "gen_ai.provider.name": "langgraph",
            "gen_ai.agent.name": "bob",
            "spanhook.delegating_agent.name": "alice",
            "gen_ai.tool.call.id": "call transfer_to_bob",
            "spanhook.kind": "agent.delegate",
            "spanhook.status": "success",
            "spanhook.run.id": "00000000000000000000000000000001",
        }
    )


def test_what_hooks_see_of_it() -> None:
    hooks = Hooks()
    seen_by: list[Any] = []

    @hooks.around("agent.delegate", names={"bob"}, agents={"alice"})
    async def look(op: Operation, call_next: Any) -> None:
        seen_by.append((op.name, op.agent, op.request.inputs, op.request.messages[-1]["parts"][0]["content"]))
        await call_next()
        seen_by.append(op.status)

    hooks.after("agent.delegate")(lambda op: seen_by.append(op.event))
    with recorder(hooks):
        asking_swarm().invoke(GIVEN)
        asyncio.run(asking_swarm().ainvoke(GIVEN))
    inputs = {"messages": [("user", "over to you")]}
    assert seen_by == [("bob", "alice", inputs, "over to you"), "success", "agent.delegate.post"] * 2


@pytest.mark.parametrize("make", TEAMS)
def test_what_hooks_do_to_what_they_read_changes_nothing(make: str) -> None:
    plain = said(TEAMS[make]().invoke(GIVEN))
    hooks = Hooks()

    @hooks.before("agent.delegate")
    def spoil(op: Operation) -> None:
        op.request.inputs["messages"].clear()
        op.request.messages.clear()

    with recorder(hooks):
        assert said(TEAMS[make]().invoke(GIVEN)) == plain


def test_a_graph_is_told_by_its_own_name_and_by_its_node() -> None:
    hooks = Hooks()
    asked: list[str] = []
    for name in ("Robert", "bob"):
        hooks.before("agent.delegate", names={name}, name=name)(lambda op, name=name: asked.append(name))
    nodes = {"alice": member("alice", [["transfer_to_bob"]], [transfer_to("bob")]), "bob": member("Robert", ["hi"])}
    with recorder(hooks) as seen:
        team(nodes).invoke(GIVEN)
    assert asked == ["Robert", "bob"]
    assert told(seen, "agent.delegate") == [("agent.delegate", "Robert", "alice", "success")]


# ------------------------------------------------------------------------------------------------ they are refused


@pytest.mark.parametrize("way", WAYS)
def test_a_model_is_told_that_its_handoff_was_refused_and_goes_on(way: str) -> None:
    assert is_gated("agent.delegate", lambda: consume(swarm(), way, GIVEN))
    with recorder(refusing(names={"bob"}, agents={"alice"})) as seen:
        result = settle(consume(swarm(), way, GIVEN))
    assert told(seen, "agent.delegate", "agent.invoke", "tool.execute") == [
        ("agent.delegate", "bob", "alice", "rejected"),
        ("tool.execute", "transfer_to_bob", "alice", "success"),
        ("agent.invoke", "alice", "alice", "success"),
        ("agent.invoke", "team", "team", "success"),
    ]
    if way in ("invoke", "ainvoke"):
        assert said(result) == ["hi", "", "Hand-off to bob rejected: not to him", "I go on"]
    decided = [span.name for span in seen.spans if "spanhook.decision" in (span.attributes or {})]
    assert decided == ["delegate_agent bob"]
    (decision,) = [event["attributes"] for event in seen.events if event["name"] == "spanhook.decision"]
    assert decision["spanhook.kind"] == "agent.delegate"
    assert (decision["gen_ai.agent.name"], decision["spanhook.target"]) == ("alice", "bob")


@pytest.mark.parametrize("way", WAYS)
def test_a_handoff_without_a_tool_is_refused_by_raising(way: str) -> None:
    assert is_gated("agent.delegate", lambda: consume(asking_swarm(), way, GIVEN))
    with recorder(refusing()) as seen, pytest.raises(Reject, match="not to him"):
        settle(consume(asking_swarm(), way, GIVEN))
    assert told(seen, "agent.delegate", "agent.invoke") == [
        ("agent.delegate", "bob", "alice", "rejected"),
        ("agent.invoke", "alice", "alice", "rejected"),
        ("agent.invoke", "team", "team", "rejected"),
    ]
    decided = [span.name for span in seen.spans if "spanhook.decision" in (span.attributes or {})]
    assert decided == ["delegate_agent bob"]


@pytest.mark.parametrize(("make", "way"), a_fifth(pytest.param(*case) for case in EVERY))
def test_a_refusal_of_the_run_ends_it(make: str, way: str) -> None:
    hooks = Hooks()

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        raise Reject("stop", scope="run")

    with recorder(hooks) as seen, pytest.raises(Reject, match="stop"):
        settle(consume(TEAMS[make](retry_policy=RetryPolicy(max_attempts=3)), way, GIVEN))
    assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", "rejected")]
    assert told(seen, "agent.invoke")[-1] == ("agent.invoke", "team", "team", "rejected")


@pytest.mark.parametrize("form", ["async", "blocking", "around", "fails"])
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_every_form_of_hook_may_refuse(form: str, way: str) -> None:
    hooks = Hooks()
    if form == "async":

        @hooks.before("agent.delegate")
        async def later(op: Operation) -> None:
            await asyncio.sleep(0)
            raise Reject("no")

    elif form == "around":

        @hooks.around("agent.delegate")
        async def before_it(op: Operation, call_next: Any) -> None:
            raise Reject("no")

    else:

        @hooks.before("agent.delegate", blocking=form == "blocking")
        def now(op: Operation) -> None:
            raise Reject("no") if form == "blocking" else KeyError("no")

    for make in TEAMS.values():
        with recorder(hooks) as seen:
            outcome = Reject if make is asking_swarm else None
            if outcome is None:
                settle(consume(make(), way, GIVEN))
            else:
                with pytest.raises(outcome):
                    settle(consume(make(), way, GIVEN))
        assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", "rejected")]
        assert "bob" not in {op.name for op in seen.operations if op.kind == "agent.invoke"}


def test_handoffs_cannot_be_rewritten_or_answered() -> None:
    hooks = Hooks()
    hooks.before("agent.delegate")(lambda op: op.replace(inputs={"messages": []}))
    with recorder(hooks) as seen:
        swarm().invoke(GIVEN)
    assert "HookError" in seen.operations[1].decisions[0].reason
    hooks = Hooks()
    hooks.before("agent.delegate")(lambda op: op.respond("no"))
    with recorder(hooks) as seen:
        swarm().invoke(GIVEN)
    assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", "rejected")]


def test_a_hook_that_answers_a_tool_with_a_handoff_is_not_beyond_the_gates() -> None:
    hooks = refusing()
    command: Any = Command(graph=Command.PARENT, goto="bob")
    hooks.before("tool.execute")(lambda op: op.respond(command))
    with recorder(hooks) as seen:
        swarm().invoke(GIVEN)
    assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", "rejected")]


def test_a_handoff_that_an_after_hook_makes_is_refused_where_it_leaves() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "nothing"

    nodes = {"alice": member("alice", [["look"]], [look]), "bob": member("bob", ["Bob here"])}
    hooks = refusing()
    command: Any = Command(graph=Command.PARENT, goto="bob")
    hooks.after("tool.execute", priority=60)(lambda op: op.respond(command))
    with recorder(hooks) as seen, pytest.raises(Reject, match="not to him"):
        team(nodes).invoke(GIVEN)
    assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", "rejected")]


# ------------------------------------------------------------------------------------------------ each once


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("refused", [False, True])
def test_handoffs_in_parallel(refused: bool, way: str) -> None:
    tools = [transfer_to(name, with_send=True) for name in ("bob", "carol", "dave")]
    lines = [["transfer_to_bob", "transfer_to_carol", "transfer_to_dave"], "I go on"]
    nodes = {"alice": member("alice", lines, tools), **{n: member(n, ["here"]) for n in ("bob", "carol", "dave")}}
    with recorder(refusing(names={"carol"}) if refused else None) as seen:
        settle(consume(team(nodes), way, GIVEN))
    assert Counter((op.name, op.status) for op in seen.operations if op.kind == "agent.delegate") == {
        ("bob", "success"): 1,
        ("carol", "rejected" if refused else "success"): 1,
        ("dave", "success"): 1,
    }
    invoked = {op.name for op in seen.operations if op.kind == "agent.invoke"}
    assert "carol" not in invoked or not refused


@pytest.mark.parametrize("refused", [None, "bob", "carol"])
def test_one_command_for_several_is_one_handoff(refused: str | None) -> None:
    def both(_state: Any) -> Command[str]:
        return Command(graph=Command.PARENT, goto=["bob", "carol"])

    nodes = {"alice": asker(both, "alice"), "bob": member("bob", ["here"]), "carol": member("carol", ["here"])}
    with recorder(refusing(names={refused}) if refused else None) as seen:
        try:
            team(nodes).invoke(GIVEN)
        except Reject:
            assert refused
    status = "rejected" if refused else "success"
    assert told(seen, "agent.delegate") == [("agent.delegate", "bob,carol", "alice", status)]


@pytest.mark.parametrize("way", WAYS)
def test_out_of_two_graphs_one_after_the_other(way: str) -> None:
    """Alice hands off within her team, and the node that she hands off to out of it."""
    nodes = {"alice": member("alice", [["transfer_to_out"]], [transfer_to("out")]), "out": hands_off}
    inner = team(nodes, name="inner")
    outer = team({"inner": inner, "bob": member("bob", ["Bob here"])}, name="outer")
    with recorder() as seen:
        settle(consume(outer, way, GIVEN))
    assert told(seen, "agent.delegate", "agent.invoke") == [
        ("agent.delegate", "out", "alice", "success"),
        ("agent.invoke", "alice", "alice", "success"),
        ("agent.delegate", "bob", "inner", "success"),
        ("agent.invoke", "inner", "inner", "success"),
        ("agent.invoke", "bob", "bob", "success"),
        ("agent.invoke", "outer", "outer", "success"),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_out_of_two_graphs_at_once(way: str) -> None:
    """A command may name the node of a graph further out; it is one hand-off all the same."""

    def far(_state: Any) -> Any:
        raise ParentCommand(Command(graph="inner", goto="bob"))

    inner = team({"alice": asker(far, "alice")}, name="middle")
    outer = team({"inner": inner, "bob": member("bob", ["Bob here"])}, name="outer")
    with recorder() as seen:
        settle(consume(outer, way, GIVEN))
    assert told(seen, "agent.delegate", "agent.invoke") == [
        ("agent.delegate", "bob", "alice", "success"),
        ("agent.invoke", "alice", "alice", "success"),
        ("agent.invoke", "middle", "middle", "success"),
        ("agent.invoke", "bob", "bob", "success"),
        ("agent.invoke", "outer", "outer", "success"),
    ]


@pytest.mark.parametrize("is_async", [False, True])
def test_from_a_graph_that_a_node_calls_itself(is_async: bool) -> None:
    inner = member("alice", [["transfer_to_bob"]], [transfer_to("bob")])

    def node(state: Any) -> Any:
        return inner.invoke(state)

    async def anode(state: Any) -> Any:
        return await inner.ainvoke(state)

    graph = team({"caller": anode if is_async else node, "bob": member("bob", ["Bob here"])})
    with recorder() as seen:
        asyncio.run(graph.ainvoke(GIVEN)) if is_async else graph.invoke(GIVEN)
    assert told(seen, "agent.delegate", "agent.invoke") == [
        ("agent.delegate", "bob", "alice", "success"),
        ("agent.invoke", "alice", "alice", "success"),
        ("agent.invoke", "bob", "bob", "success"),
        ("agent.invoke", "team", "team", "success"),
    ]


@pytest.mark.parametrize("is_async", [False, True])
def test_streaming_with_subgraphs(is_async: bool) -> None:
    def names(chunks: list[Any]) -> list[str]:
        return [next(iter(chunk)) for _, chunk in chunks]

    async def astream() -> list[Any]:
        return [chunk async for chunk in swarm().astream(GIVEN, subgraphs=True)]

    def stream() -> list[str]:
        return names(asyncio.run(astream()) if is_async else list(swarm().stream(GIVEN, subgraphs=True)))

    plain = stream()
    with recorder() as seen:
        assert stream() == plain
    assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", "success")]
    with recorder(refusing()) as seen:
        assert stream() == ["model", "tools", "model", "alice"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_thread_that_is_resumed_hands_off_once(is_async: bool) -> None:
    """The one handed to asks a person; so does a tool of the one who hands off, before."""

    @tool
    def ask() -> str:
        """Ask a person."""
        return interrupt("sure?")

    nodes = {
        "alice": member("alice", [["ask"], ["transfer_to_bob"]], [ask, transfer_to("bob")]),
        "bob": member("bob", [["ask"], "Bob here"], [ask]),
    }
    graph = team(nodes, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1"}}

    def go(given: Any) -> Any:
        return asyncio.run(graph.ainvoke(given, config)) if is_async else graph.invoke(given, config)

    statuses: list[str] = []
    handoffs: list[int] = []
    for given in (GIVEN, Command(resume="yes"), Command(resume="yes")):
        with recorder() as seen:
            result = go(given)
        statuses.append(seen.operations[-1].status)
        handoffs.append(len(told(seen, "agent.delegate")))
    assert statuses == ["interrupted", "interrupted", "success"]
    assert handoffs == [0, 1, 0]
    assert said(result)[-1] == "Bob here"


@pytest.mark.parametrize("make", TEAMS)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_hook_may_ask_a_person_first(make: str, answer: str) -> None:
    hooks = Hooks()

    @hooks.before("agent.delegate", timeout=None)
    def approval(op: Operation) -> None:
        if interrupt(f"hand off to {op.name}?") != "yes":
            raise Reject("not approved")

    graph = TEAMS[make](checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t1"}}
    with recorder(hooks) as seen:
        asked = graph.invoke(GIVEN, config)
        assert [one.value for one in asked["__interrupt__"]] == ["hand off to bob?"]
        assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", "interrupted")]
        assert seen.operations[-1].status == "interrupted"
        try:
            graph.invoke(Command(resume=answer), config)
        except Reject:
            assert (make, answer) == ("node", "no")
    assert told(seen, "agent.delegate")[1:] == [
        ("agent.delegate", "bob", "alice", "success" if answer == "yes" else "rejected")
    ]
    assert ("bob" in {op.name for op in seen.operations if op.kind == "agent.invoke"}) == (answer == "yes")


@pytest.mark.parametrize("is_async", [False, True])
def test_within_a_retry_policy(is_async: bool) -> None:
    """What succeeded is not tried again; neither is what a tool was refused."""
    retried = RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False)
    for hooks, status in ((None, "success"), (refusing(), "rejected")):
        graph = swarm(retry_policy=retried)
        with recorder(hooks) as seen:
            asyncio.run(graph.ainvoke(GIVEN)) if is_async else graph.invoke(GIVEN)
        assert told(seen, "agent.delegate") == [("agent.delegate", "bob", "alice", status)]


# ------------------------------------------------------------------------------------------------ what is none


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_to_the_end_of_the_graph_around_nobody_is_handed_to(way: str) -> None:
    def done(_state: Any) -> Command[str]:
        return Command(graph=Command.PARENT, goto="__end__", update={"messages": [("ai", "done")]})

    with recorder() as seen:
        settle(consume(team({"alice": asker(done, "alice")}), way, GIVEN))
    assert [(op.name, op.status) for op in seen.operations] == [("alice", "success"), ("team", "success")]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize("by_tool", [False, True])
def test_out_of_a_graph_with_none_around_it_is_an_error(by_tool: bool, way: str) -> None:
    graph = member("alice", [["transfer_to_bob"]], [transfer_to("bob")]) if by_tool else asker(hands_off, "alice")
    with recorder(refusing()) as seen, pytest.raises(ParentCommand):
        settle(consume(graph, way, GIVEN))
    assert told(seen, "agent.delegate") == []
    assert told(seen, "agent.invoke") == [("agent.invoke", "alice", "alice", "error")]


def test_within_one_graph_it_is_no_handoff() -> None:
    def node(_state: Any) -> Command[str]:
        return Command(goto="bob")

    with recorder(refusing()) as seen:
        team({"first": node, "bob": member("bob", ["Bob here"])}).invoke(GIVEN)
    assert told(seen, "agent.delegate") == []


def test_a_tool_that_is_called_by_itself_hands_off_to_nobody() -> None:
    call = {"type": "tool_call", "id": "1", "name": "transfer_to_bob", "args": {"state": {"messages": []}}}
    with recorder(refusing()) as seen:
        assert transfer_to("bob").invoke(call).goto == "bob"
    assert [op.kind for op in seen.operations] == ["tool.execute"]
