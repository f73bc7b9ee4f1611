"""Managed agents: what hooks see, rewrite and answer, and who delegates."""

from typing import Any

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.smolagents_ways import (
    ANSWERS,
    ASK,
    FOUND,
    CodeAgent,
    Own,
    agent,
    code,
    managing,
)
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder


def test_what_a_hook_sees_of_a_delegation() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("agent.delegate")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.arguments))

    with recorder(hooks) as recorded:
        managing(Body()).run(ASK)
    assert seen == [("expert", {"task": ASK, "additional_args": {}})]
    (span,) = [one for one in recorded.spans if one.name == "delegate_agent expert"]
    assert (span.attributes or {})["spanhook.delegating_agent.name"] == "helper"


def test_the_task_is_rewritten_in_the_run_inside() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("agent.invoke", names={"expert"})(lambda op: op.replace(inputs="Greet me."))
    with recorder(hooks):
        managing(body).run(ASK)
    assert "Greet me." in str(body.seen[0])
    assert ASK not in str(body.seen[0][1:])


def test_an_answer_is_what_the_model_is_told() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("agent.delegate")(lambda op: op.respond("coffee"))
    with recorder(hooks):
        assert "coffee" in managing(body).run(ASK)
    assert body.runs == 0


def test_a_refused_model_of_a_managed_agent_is_told_to_the_agent_that_asked() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call", agents={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = managing(body)
    with recorder(hooks):
        assert "not today" in made.run(ASK)
    assert type(made.memory.steps[1].error).__name__ == "AgentToolExecutionError"
    assert body.runs == 0


def test_agents_within_agents_are_each_inside_of_the_one_that_asked() -> None:
    expert = agent(Own(None, code(f"final_answer({FOUND!r})")), name="expert", kind=CodeAgent)
    asked: Any = [("expert", {"task": ASK, "additional_args": {}})]
    middle = agent(Own(None, asked, ANSWERS), name="middle", managed_agents=[expert])
    made = agent(Own(None, code(f"final_answer(middle(task={ASK!r}))")), kind=CodeAgent, managed_agents=[middle])
    chain, hooks = list[tuple[str | None, str | None]](), Hooks()
    hooks.before("agent.invoke")(lambda op: chain.append((op.name, op.parent.name if op.parent else None)))
    with recorder(hooks):
        made.run(ASK)
    assert chain == [("helper", None), ("middle", "middle"), ("expert", "expert")]
