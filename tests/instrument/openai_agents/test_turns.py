"""The turns of an agent that was handed over to are one run of it, however they end."""

import pytest
from agents import Agent, MaxTurnsExceeded, function_tool

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, go, scripted, told

OVER = [("transfer_to_billing", "{}")]
PAY = [("pay", "{}")]


def team(body: Body, *turns: object, **options: object) -> Agent[None]:
    """Hands over to an agent with a tool that counts into the body."""

    def pay() -> str:
        body.run("paid")
        return "paid"

    made = function_tool(pay, **options)  # type: ignore[call-overload]
    billing = Agent(name="billing", model=scripted(None, "no", *turns), tools=[made])
    return Agent(name="triage", model=scripted(None, OVER, "no"), handoffs=[billing])


@both_ways
def test_all_of_them_are_one(way: Way) -> None:
    body = Body()
    with recorder() as seen:
        go(way, team(body, PAY, "Paid."))
    runs = [(op.name, op.usage.llm_calls, op.usage.tool_calls) for op in seen.operations if op.kind == "agent.invoke"]
    assert runs == [("billing", 2, 1), ("triage", 3, 1)]


@both_ways
def test_it_may_be_refused(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.invoke", names={"billing"})
    def refuse(op: Operation) -> None:
        raise Reject("closed")

    with recorder(hooks) as seen, pytest.raises(Reject, match="closed"):
        go(way, team(body, PAY, "Paid."))
    assert body.runs == 0
    assert told(seen)[-2:] == [("agent.invoke", "billing", "rejected"), ("agent.invoke", "triage", "rejected")]


@both_ways
def test_it_ends_with_the_run_that_has_too_many_turns(way: Way) -> None:
    with recorder() as seen, pytest.raises(MaxTurnsExceeded):
        go(way, team(Body(), PAY, PAY, PAY), max_turns=3)
    assert [name for kind, name, _ in told(seen) if kind == "agent.invoke"] == ["billing", "triage"]
    assert told(seen)[-1] == ("agent.invoke", "triage", "error")


@both_ways
def test_it_waits_for_a_person_and_goes_on(way: Way) -> None:
    body = Body()
    agent = team(body, PAY, "Paid.", needs_approval=True)
    with recorder() as seen:
        result = go(way, agent)
        assert told(seen)[-2:] == [
            ("agent.invoke", "billing", "interrupted"),
            ("agent.invoke", "triage", "interrupted"),
        ]
        state = result.to_state()
        for one in result.interruptions:
            state.approve(one)
        assert go(way, agent, state).final_output == "Paid."
    assert body.runs == 1
    assert told(seen)[-1] == ("agent.invoke", "billing", "success")  # where the run goes on
