"""Tasks that a model gives to other agents, from version 2 on; hand-offs by tools are among the application's tests."""

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import agent, last, own, runner
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.google_adk.made import events_of, told

pytestmark = pytest.mark.skipif(
    find_spec("google.adk.workflow") is None, reason="older versions have no workflows and no tasks"
)


def giving(body: Body) -> Any:
    """An agent that gives another a task, which says when it is done."""
    turns = ("finish_task", {"result": "it is tea"}), "it is tea"
    second = agent(own(body, *turns), name="second", mode="task")
    return runner(agent(own(None, ("second", {"request": "Find tea."}), "done"), name="first", sub_agents=[second]))


def test_a_task_is_a_delegation_around_the_run_of_its_agent() -> None:
    seen, hooks, body = list[Any](), Hooks(), Body()
    hooks.before("*")(lambda op: seen.append((op.kind, op.name)))

    @hooks.before("agent.delegate", agents={"first"})
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)

    with recorder(hooks) as recorded:
        events = asyncio.run(events_of(giving(body)))
    assert last(events) == "done"
    assert seen[:6] == [
        ("agent.invoke", "first"),
        ("llm.call", "own"),
        ("agent.delegate", "second"),
        {"request": "Find tea."},
        ("agent.invoke", "second"),
        ("llm.call", "own"),
    ]
    names = [one.name for one in recorded.spans]
    assert names.index("invoke_agent second") < names.index("delegate_agent second") < names.index("invoke_agent first")
    assert "execute_tool finish_task" not in names


def test_the_model_is_told_of_a_refused_task_and_goes_on() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.delegate", names={"second"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        events = asyncio.run(events_of(giving(body)))
    assert told(events, "second") == [{"error": "Hand-off to second rejected: not today"}]
    assert (last(events), body.runs) == ("done", 0)


def test_an_answer_is_the_result_of_the_task() -> None:
    hooks, body = Hooks(), Body()
    hooks.before("agent.delegate")(lambda op: op.respond("it is milk"))
    with recorder(hooks):
        events = asyncio.run(events_of(giving(body)))
    assert (list(told(events, "second")[0].values()), body.runs) == (["it is milk"], 0)
