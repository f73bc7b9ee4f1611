"""Agents that have coworkers do something, or ask them: by tools, in crews with a manager or without."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.crewai_ways import INPUTS, Calling, Own, Using, agent, crewai, task
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.crewai.test_runs import nested

WORK, QUESTION = "delegate_work_to_coworker", "ask_question_to_coworker"


class Delegating(Using):
    """A model that delegates to the other agent and repeats what it is told."""

    tool: ClassVar[str] = WORK
    asked: ClassVar[str] = '{"task": "Find it.", "context": "tea", "coworker": "finder"}'

    def call(self, messages: Any, *args: Any, **given: Any) -> Any:
        said = super().call(messages, *args, **given)
        if isinstance(said, list):
            return [{**said[0], "function": {"name": self.tool, "arguments": self.asked}}]
        return f"Action: {self.tool}\nAction Input: {self.asked}" if said.startswith("Thought: I look") else said


class Asking(Delegating):
    tool: ClassVar[str] = QUESTION
    asked: ClassVar[str] = '{"question": "Where is it?", "context": "tea", "coworker": " Finder"}'


class NativelyDelegating(Delegating, Calling):
    """A model that does so in its provider's form."""


class Mistaken(Delegating):
    asked: ClassVar[str] = '{"task": "Find it.", "context": "tea", "coworker": "nobody"}'


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()


def finder(body: Body) -> Any:
    return crewai.Agent(role="finder", goal="Find.", backstory="x", llm=Own(body), max_retry_limit=2)


def flat(body: Body, llm: type[Own] = Delegating) -> Any:
    boss = agent(llm(), allow_delegation=True)
    return crewai.Crew(agents=[boss, finder(body)], tasks=[task(boss)])


def managed(body: Body, llm: type[Own] = Delegating) -> Any:
    found = finder(body)
    job = crewai.Task(description="Answer {topic}.", expected_output="An answer.")
    return crewai.Crew(
        agents=[found],
        tasks=[job],
        process=crewai.Process.hierarchical,
        manager_agent=agent(llm(), allow_delegation=True),
    )


Make = Callable[..., Any]
both = pytest.mark.parametrize("make", [flat, managed])
models = pytest.mark.parametrize("llm", [Delegating, Asking, NativelyDelegating])


@both
@models
def test_a_delegated_task_is_a_hand_off_with_a_run_inside(make: Make, llm: type[Delegating]) -> None:
    body = Body()
    seen_ops: list[Any] = []
    hooks = Hooks()
    hooks.after("agent.delegate", agents={"helper"})(
        lambda op: seen_ops.append((op.name, op.agent, op.request.inputs, op.response.text))
    )
    with recorder(hooks) as seen:
        assert make(body, llm).kickoff(INPUTS).raw.endswith(Reply.text)
    assert body.runs == 1
    inside = nested(seen)
    assert ("invoke_agent finder", "delegate_agent finder") in inside
    assert ("delegate_agent finder", f"execute_tool {llm.tool}") in inside
    assert (f"execute_tool {llm.tool}", "invoke_agent helper") in inside
    [(name, giver, asked, said)] = seen_ops
    assert (name, giver) == ("finder", "helper")
    assert asked in ("Find it.", "Where is it?")
    assert said.endswith(Reply.text)


@both
@models
def test_the_model_is_told_of_a_refused_hand_off(make: Make, llm: type[Delegating], hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("agent.delegate", names={"finder"})
    def look(op: Operation) -> None:
        asked.append(op.name)
        raise Reject("Not today")

    body = Body()
    spanhook.instrument(hooks)
    assert make(body, llm).kickoff(INPUTS).raw.endswith("Hand-off to finder rejected: Not today")
    assert asked == ["finder"]
    assert not body.runs


@models
def test_a_refused_hand_off_is_asked_for_again_by_the_next_task(llm: type[Delegating], hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("agent.delegate")
    def not_yet(op: Operation) -> None:
        asked.append(op.name)
        if len(asked) == 1:
            raise Reject("Not yet")

    body = Body()
    first, second = (
        crewai.Agent(role=role, goal="Answer.", backstory="x", llm=llm(), allow_delegation=True)
        for role in ("one", "other")
    )
    spanhook.instrument(hooks)
    made = crewai.Crew(agents=[first, second, finder(body)], tasks=[task(first), task(second)])
    told = [one.raw for one in made.kickoff(INPUTS).tasks_output]
    assert told[0].endswith("Hand-off to finder rejected: Not yet")
    assert told[1].endswith(Reply.text)
    assert (len(asked), body.runs) == (2, 1)


def test_a_hand_off_can_be_answered(hooks: Hooks) -> None:
    hooks.before("agent.delegate")(lambda op: op.respond("An answer."))
    body = Body()
    spanhook.instrument(hooks)
    assert flat(body).kickoff(INPUTS).raw.endswith("An answer.")
    assert not body.runs


def test_asking_nobody_is_no_hand_off() -> None:
    body = Body()
    with recorder() as seen:
        flat(body, Mistaken).kickoff(INPUTS)
    assert "agent.delegate" not in [op.kind for op in seen.operations]
    assert not body.runs


def test_a_run_that_a_hand_off_ends_is_over(hooks: Hooks) -> None:
    @hooks.before("agent.delegate")
    def end(_op: Operation) -> None:
        raise Reject("Not today", scope="run")

    body = Body()
    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        flat(body).kickoff(INPUTS)
    assert not body.runs


def test_a_refused_agent_is_told_to_the_one_that_delegates(hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("agent.invoke", names={"finder"})
    def look(op: Operation) -> None:
        asked.append(op.name)
        raise Reject("Not today")

    body = Body()
    spanhook.instrument(hooks)
    assert "Not today" in flat(body).kickoff(INPUTS).raw
    assert asked == ["finder"]
    assert not body.runs
