"""Graphs, swarms, hand-offs: what is inside of what, and what becomes of a refusal."""

from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.strands_ways import ASK, graph_of, swarm_handing_off, swarm_of
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder
from tests.overriding import REFUSED, refusing_milk

Status: Any = import_module("strands.multiagent.base").Status


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]


def test_a_graph_is_a_run_of_agents() -> None:
    body, totals, hooks = Body(), list[int](), Hooks()
    hooks.after("run")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        graph_of(body)(ASK)
    assert nested(seen) == [
        ("chat own", "invoke_agent helper"),
        ("invoke_agent helper", "invoke_workflow default_graph"),
        ("invoke_workflow default_graph", ""),
    ]
    assert totals == [body.tokens] == [Tokens().total]


def test_a_hand_off_in_a_swarm() -> None:
    body, seen_by, hooks = Body(), list[Any](), Hooks()

    @hooks.before("agent.delegate")
    def look(op: Operation) -> None:
        seen_by.append((op.name, op.request.arguments))

    with recorder(hooks) as seen:
        result = swarm_handing_off(body)(ASK)
    assert [one.node_id for one in result.node_history] == ["first", "second"]
    assert seen_by == [("second", {"message": ASK, "context": {}})]
    assert ("delegate_agent second", "execute_tool handoff_to_agent") in nested(seen)
    assert ("invoke_agent second", "invoke_workflow default_swarm") in nested(seen)


def test_the_model_is_told_of_a_refused_hand_off() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = swarm_handing_off(body)
    with recorder(hooks):
        result = made(ASK)
    assert [one.node_id for one in result.node_history] == ["first"]
    assert body.runs == 0
    told = [block for one in made.nodes["first"].executor.messages for block in one["content"] if "toolResult" in block]
    assert [one["toolResult"]["content"] for one in told] == [[{"text": "Error in handoff: not today"}]]


def test_a_refused_graph_calls_nobody() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("run")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        graph_of(body)(ASK)
    assert body.runs == 0


@pytest.mark.parametrize("kind", ["agent.invoke", "llm.call"])
@pytest.mark.parametrize(("make", "raises"), [(graph_of, True), (swarm_of, False)])
def test_an_agent_that_is_refused_ends_a_graph_and_fails_a_swarm(kind: Any, make: Any, raises: bool) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = make(body)
    with recorder(hooks) as seen:
        if raises:
            with pytest.raises(Reject, match="not today"):
                made(ASK)
        else:
            assert made(ASK).status is Status.FAILED
    assert body.runs == 0
    assert (seen.spans[-1].attributes or {})["error.type"] == ("spanhook.Reject" if raises else "failed")


@pytest.mark.parametrize("kind", ["agent.invoke", "llm.call"])
@pytest.mark.parametrize("make", [graph_of, swarm_of])
def test_a_rejection_of_the_run_is_raised_out_of_a_graph_and_a_swarm(kind: Any, make: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        make(body)(ASK)
    assert body.runs == 0


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("make", [graph_of, swarm_of])
def test_an_override_of_a_team_that_asks_for_something_else_is_asked_about_again(make: Any, in_place: bool) -> None:
    body = Body()
    made = make(body)
    base: Any = type(made)

    class Editing(base):
        async def stream_async(self, task: Any, *args: Any, **given: Any) -> Any:
            if in_place:
                task[0]["text"] = "milk"
            async for event in super().stream_async(task if in_place else "milk", *args, **given):
                yield event

    made.__class__ = Editing
    hooks, asked = refusing_milk("run")
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        made([{"text": ASK}])
    assert (asked, body.runs) == ([False, True], 0)
