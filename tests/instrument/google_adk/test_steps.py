"""Workflows, from version 2 on: runs, their nodes on demand, tools and agents as nodes."""

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.google_adk_ways import (
    FOUND,
    agent,
    function_tool,
    own,
    runner,
)
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.google_adk.made import events_of

pytestmark = pytest.mark.skipif(
    find_spec("google.adk.workflow") is None, reason="older versions have no workflows and no tasks"
)


def workflow(*nodes: Any) -> Any:
    """A runner of a workflow whose nodes run one after the other."""
    module: Any = import_module("google.adk.workflow")
    edges = [("START", *nodes)]
    return runner(None, node=module.Workflow(name="flow", edges=edges))


def asking(node_input: Any) -> dict[str, str]:
    """What the tool is asked."""
    del node_input
    return {"query": "tea"}


def outputs(events: list[Any]) -> list[Any]:
    return [one.output for one in events if one.output is not None]


def test_a_workflow_is_a_run_and_its_nodes_are_operations_if_they_are_hooked() -> None:
    asked_of, hooks = list[Any](), Hooks()
    hooks.before("*")(lambda op: asked_of.append((op.kind, op.name)))
    with recorder(hooks):
        events = asyncio.run(events_of(workflow(asking, function_tool(Body()))))
    assert FOUND in str(outputs(events))
    assert asked_of == [
        ("run", "flow"),
        ("workflow.step", "asking"),
        ("workflow.step", "look_up"),
        ("tool.execute", "look_up"),
    ]


def test_nodes_are_no_operations_unless_they_are_asked_for() -> None:
    made = asking, function_tool(Body())
    with recorder(Hooks()) as seen:
        asyncio.run(events_of(workflow(*made)))
    assert [one.name for one in seen.spans] == ["execute_tool look_up", "invoke_workflow flow"]
    with recorder(Hooks(), settings=Settings(steps=True)) as seen:
        asyncio.run(events_of(workflow(*made)))
    assert "workflow_step asking" in [one.name for one in seen.spans]


@pytest.mark.parametrize(("kind", "name"), [("workflow.step", "look_up"), ("tool.execute", "look_up"), ("run", "flow")])
def test_a_refusal_is_raised_because_no_model_has_asked(kind: Any, name: str) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before(kind, names={name})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(events_of(workflow(asking, function_tool(body))))
    assert body.runs == 0


def test_what_hooks_rewrite_and_answer() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("workflow.step", names={"look_up"})
    def rewrite(op: Operation) -> None:
        op.replace(inputs={"query": "milk"})

    with recorder(hooks):
        asyncio.run(events_of(workflow(asking, function_tool(body))))
    assert body.seen == ["milk"]
    hooks = Hooks()
    hooks.before("workflow.step", names={"asking"})(lambda op: op.respond({"query": "coffee"}))
    with recorder(hooks):
        asyncio.run(events_of(workflow(asking, function_tool(body))))
    assert body.seen == ["milk", "coffee"]


def test_an_agent_is_a_node_whose_run_is_counted_once() -> None:
    totals, asked_of, hooks = list[int](), list[Any](), Hooks()
    hooks.before("*")(lambda op: asked_of.append((op.kind, op.name)))
    hooks.after("run")(lambda op: totals.append(op.usage.input_tokens))
    with recorder(hooks):
        asyncio.run(events_of(workflow(agent(own(Body())))))
    assert asked_of == [("run", "flow"), ("agent.invoke", "helper"), ("llm.call", "own")]
    assert totals == [Tokens().input]


def test_a_rejection_is_not_tried_again() -> None:
    module: Any = import_module("google.adk.workflow")
    tries, failures, hooks = list[str](), list[str](), Hooks()

    def fragile(node_input: Any) -> str:
        """Fail the first time."""
        failures.append("failed")
        if len(failures) == 1:
            raise ValueError("once")
        return "done"

    @hooks.before("workflow.step", names={"fragile"})
    def refuse(op: Operation) -> None:
        tries.append("asked")
        if len(tries) == 2:
            raise Reject("not today", status_code=503)

    again = module.RetryConfig(max_attempts=5, initial_delay=0.0, jitter=0.0)
    node = import_module("google.adk.workflow._function_node").FunctionNode(func=fragile, retry_config=again)
    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(events_of(workflow(node)))
    assert (len(tries), len(failures)) == (2, 1)
