"""Hand-offs: who hands over to whom, what comes after, and what a refused one leaves."""

from typing import Any

from agents import Agent, RunContextWrapper, handoff
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, go, outputs, scripted, told

HAND_OVER: Any = ([("transfer_to_billing", "{}")], "I do it myself.")


@both_ways
def test_the_other_agent_runs_inside_the_run(way: Way) -> None:
    first, second = Body(), Body()
    billing = Agent(name="billing", model=scripted(second, "Paid."))
    agent = Agent(name="triage", model=scripted(first, *HAND_OVER), handoffs=[billing])
    with recorder() as seen:
        result = go(way, agent)
    assert result.last_agent is billing
    assert told(seen) == [
        ("llm.call", "gpt-4o-mini", "success"),
        ("agent.delegate", "billing", "success"),
        ("llm.call", "gpt-4o-mini", "success"),
        ("agent.invoke", "billing", "success"),
        ("agent.invoke", "triage", "success"),
    ]
    triage, delegated, _, inside, whole = (op.agent for op in seen.operations)
    assert (triage, delegated, inside, whole) == ("triage", "triage", "billing", "triage")
    assert seen.operations[2].agent == "billing"
    assert seen.operations[3].usage.total_tokens == second.tokens
    assert seen.operations[4].usage.total_tokens == first.tokens + second.tokens
    assert seen.operations[4].response.text == seen.operations[3].response.text == "Paid."


@both_ways
def test_there_and_back(way: Way) -> None:
    body = Body()
    billing = Agent(name="billing")
    triage = Agent(name="triage", handoffs=[billing])
    billing.handoffs = [triage]
    turns = ([("transfer_to_billing", "{}")], [("transfer_to_triage", "{}")], "Back again.")
    billing.model = triage.model = scripted(body, *turns)
    with recorder() as seen:
        go(way, triage)
    kinds = [(op.kind, op.name, op.agent) for op in seen.operations if op.kind != "llm.call"]
    assert kinds == [
        ("agent.delegate", "billing", "triage"),
        ("agent.delegate", "triage", "billing"),
        ("agent.invoke", "billing", "billing"),
        ("agent.invoke", "triage", "triage"),
    ]
    assert seen.operations[-1].usage.total_tokens == body.tokens


@both_ways
def test_a_refused_one_is_told_to_the_model(way: Way) -> None:
    hooks, first, second = Hooks(), Body(), Body()
    called: list[Any] = []

    @hooks.before("agent.delegate", names={"billing"})
    def refuse(op: Operation) -> None:
        raise Reject("no refunds")

    billing = Agent(name="billing", model=scripted(second))
    over = handoff(billing, on_handoff=lambda context: called.append(context))
    agent = Agent(name="triage", model=scripted(first, *HAND_OVER), handoffs=[over])
    with recorder(hooks) as seen:
        result = go(way, agent)
    assert result.final_output == "I do it myself."
    assert result.last_agent is agent
    assert outputs(first) == ["Hand-off to billing rejected: no refunds"]
    assert called == []
    assert second.runs == 0
    assert ("agent.delegate", "billing", "rejected") in told(seen)


@both_ways
def test_of_several_only_the_first_is_made_or_refused(way: Way) -> None:
    hooks, first = Hooks(), Body()

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    others = [Agent(name=name, model=scripted()) for name in ("billing", "sales")]
    turn = [("transfer_to_billing", "{}"), ("transfer_to_sales", "{}")]
    agent = Agent(name="triage", model=scripted(first, turn, "Neither.", "Neither."), handoffs=[*others])
    with recorder(hooks) as seen:
        go(way, agent)
    assert [name for kind, name, _ in told(seen) if kind == "agent.delegate"] == ["billing"]
    assert outputs(first)[0] == "Hand-off to billing rejected: no"
    assert len(outputs(first)) == 2


class Reason(BaseModel):
    reason: str


@both_ways
def test_hooks_see_what_the_model_hands_over(way: Way) -> None:
    hooks = Hooks()
    found: list[Any] = []

    @hooks.before("agent.delegate")
    def look(op: Operation) -> None:
        found.append((op.agent, op.name, dict(op.request.arguments)))

    given: list[str] = []

    def on_handoff(_context: RunContextWrapper[Any], reason: Reason) -> None:
        given.append(reason.reason)

    billing = Agent(name="billing", model=scripted(None, "Paid."))
    over = handoff(billing, on_handoff=on_handoff, input_type=Reason)
    turn = [("transfer_to_billing", '{"reason": "too dear"}')]
    agent = Agent(name="triage", model=scripted(None, turn, "no"), handoffs=[over])
    with recorder(hooks):
        go(way, agent)
    assert given == ["too dear"]
    assert found[0] == ("triage", "billing", {"reason": "too dear"})
