"""Hand-offs between the agents of a workflow, and their refusals."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import ASK, Own, agent
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

orchestrations: Any = pytest.importorskip(
    "agent_framework_orchestrations", reason="hand-offs are tried with the newest version"
)
pytestmark = pytest.mark.anyio


def workflow(first: Body, second: Body) -> Any:
    """Two agents, of which the first hands off to the second."""
    kept: dict[str, Any] = {"require_per_service_call_history_persistence": True}
    asked = (("handoff_to_second", {}),)
    giving = agent(Own(first, asked, ""), name="first", **kept)
    taking = agent(Own(second, "second says"), name="second", **kept)
    return orchestrations.HandoffBuilder(participants=[giving, taking]).with_start_agent(giving).build()


async def said(made: Any, *, stream: bool) -> list[str]:
    run = made.run(ASK, stream=stream)
    result = await (run.get_final_response() if stream else run)
    return [one.text for one in result.get_outputs() if one.text]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_hand_off_is_one_operation(stream: bool) -> None:
    first, second, hooks, seen = Body(), Body(), Hooks(), list[Any]()

    @hooks.before("agent.delegate")
    def look(op: Operation) -> None:
        seen.append((op.name, op.identity.agent_id, op.parent.name if op.parent else None))

    with recorder(hooks) as recorded:
        text = "".join(await said(workflow(first, second), stream=stream))
    assert text == "second says"
    assert seen == [("second", "first", "first")]
    assert (first.runs, second.runs) == (1, 1)
    (delegation,) = [one for one in recorded.spans if (one.attributes or {}).get("spanhook.kind") == "agent.delegate"]
    attributes = delegation.attributes or {}
    assert (attributes["spanhook.delegating_agent.name"], attributes["spanhook.status"]) == ("first", "success")


@pytest.mark.parametrize("stream", [False, True])
async def test_the_model_is_told_of_a_refused_hand_off(stream: bool) -> None:
    first, second, hooks = Body(), Body(), Hooks()

    @hooks.before("agent.delegate", names={"second"}, agents={"first"})
    def refuse(op: Operation) -> None:
        raise Reject("stay here")

    with recorder(hooks):
        text = "".join(await said(workflow(first, second), stream=stream))
    assert text == "Error: stay here"
    assert (first.runs, second.runs) == (2, 0)


async def test_a_rejection_of_the_run_ends_it() -> None:
    first, second, hooks = Body(), Body(), Hooks()

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="enough"):
        await said(workflow(first, second), stream=False)
    assert (first.runs, second.runs) == (1, 0)


async def test_it_cannot_be_answered() -> None:
    first, second, hooks = Body(), Body(), Hooks()
    hooks.before("agent.delegate", name="odd")(lambda op: op.respond("second"))
    with recorder(hooks):
        text = "".join(await said(workflow(first, second), stream=False))
    assert "odd" in text
    assert second.runs == 0
