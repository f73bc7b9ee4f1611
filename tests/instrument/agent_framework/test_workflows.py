"""Workflows: one run with those of its agents inside, refusals of all of them, what waits."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    ASK,
    FOUND,
    WORKFLOW_WAYS,
    Own,
    agent,
    framework,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


def pipeline(body: Body) -> Any:
    """Two agents, the second of which gets what the first says."""
    first, second = agent(Own(body, "tea"), name="first"), agent(Own(body, "leaves"), name="second")
    return framework.WorkflowBuilder(start_executor=first, name="pipeline").add_edge(first, second).build()


@pytest.mark.parametrize("stream", [False, True])
async def test_its_agents_are_inside_of_it(stream: bool) -> None:
    body, totals, hooks = Body(), list[Any](), Hooks()
    hooks.after("run")(lambda op: totals.append((op.name, op.usage.total_tokens)))
    with recorder(hooks) as seen:
        run = pipeline(body).run(ASK, stream=stream)
        result = await (run.get_final_response() if stream else run)
    assert type(result) is framework.WorkflowRunResult
    assert str(result.get_final_state()).endswith("IDLE")
    assert totals == [("pipeline", 2 * Tokens().total)]
    own = [one for one in seen.spans if (one.attributes or {}).get("spanhook.kind")]
    names = {one.context.span_id: one.name for one in own if one.context is not None}
    inside = {one.name: names[one.parent.span_id] if one.parent else "" for one in own if "chat" not in one.name}
    assert inside == {
        "invoke_agent first": "invoke_workflow pipeline",
        "invoke_agent second": "invoke_workflow pipeline",
        "invoke_workflow pipeline": "",
    }


@pytest.mark.parametrize("stream", [False, True])
async def test_what_comes_of_it_is_the_same_as_without(stream: bool) -> None:
    async def events() -> list[str]:
        run = pipeline(Body()).run(ASK, stream=stream)
        result = await (run.get_final_response() if stream else run)
        return [one.type for one in [*result, *result.status_timeline()]]

    without = await events()
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        assert await events() == without


@pytest.mark.parametrize("way", WORKFLOW_WAYS)
@pytest.mark.parametrize(("kind", "name"), [("agent.invoke", "second"), ("llm.call", "own"), ("run", "pipeline")])
async def test_refusals_are_raised_out_of_it(kind: Any, name: str, way: str) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before(kind, names={name})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        await WORKFLOW_WAYS[way](pipeline(body))
    assert body.runs == (name == "second")


async def test_one_that_waits_for_a_person_is_interrupted() -> None:
    looked = Body()

    @framework.tool(approval_mode="always_require")
    def look_up(query: str) -> str:
        """Look something up."""
        looked.run(query)
        return FOUND

    made = framework.WorkflowBuilder(
        start_executor=agent(Own(None, (("look_up", {"query": "tea"}),), "done"), look_up)
    ).build()
    with recorder(Hooks()) as seen:
        (request,) = (await made.run(ASK)).get_request_info_events()
        assert looked.runs == 0
        approved = request.data.to_function_approval_response(True)
        result = await made.run(responses={request.request_id: approved})
    assert [one.text for one in result.get_outputs()] == ["done"]
    assert looked.runs == 1
    runs = [one for one in seen.spans if (one.attributes or {}).get("spanhook.kind") == "run"]
    assert [(one.attributes or {})["spanhook.status"] for one in runs] == ["interrupted", "success"]


async def test_it_cannot_be_answered_but_with_a_result_of_its_own() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("run", name="odd")(lambda op: op.respond("tea"))
    with recorder(hooks), pytest.raises(Reject, match="odd"):
        await pipeline(body).run(ASK)
    with recorder(Hooks()):
        given = await pipeline(Body()).run(ASK)
    hooks = Hooks()
    hooks.before("run")(lambda op: op.respond(given))
    for way in ("run", "stream"):
        with recorder(hooks):
            said = await WORKFLOW_WAYS[way](pipeline(body))
        assert said == ["leaves"] or said == ["tea", "leaves"]
    assert body.runs == 0


async def test_a_workflow_in_a_workflow_is_a_run_inside_of_it() -> None:
    inner = pipeline(Body())
    executor = framework.WorkflowExecutor(inner, id="inner")
    outer = framework.WorkflowBuilder(start_executor=executor, name="outer").build()
    hooks, seen = Hooks(), list[Any]()
    hooks.before("run")(lambda op: seen.append((op.name, op.parent.name if op.parent else None)))
    with recorder(hooks):
        await outer.run([framework.Message("user", [ASK])])
    assert seen == [("outer", None), ("pipeline", "outer")]


async def test_functions_as_workflows() -> None:
    define: Any = getattr(framework, "workflow", None)
    if define is None:
        pytest.skip("this version has no functions as workflows")
    body, hooks, seen = Body(), Hooks(), list[Any]()

    @define(name="greeting")
    async def greeting(asked: str) -> str:
        return (await agent(Own(body)).run(asked)).text

    hooks.before("*")(lambda op: seen.append((op.kind, op.name)))
    for stream in (False, True):
        with recorder(hooks):
            run = built(greeting).run(ASK, stream=stream)
            result = await (run.get_final_response() if stream else run)
        assert result.get_outputs() == [Reply.text]
    assert seen == [("run", "greeting"), ("agent.invoke", "helper"), ("llm.call", "own")] * 2
    refusal = Hooks()

    @refusal.before("run")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(refusal), pytest.raises(Reject, match="not today"):
        await built(greeting).run(ASK)
    assert body.runs == 2


def built(definition: Any) -> Any:
    """A workflow of a function; in some versions, that is what the function was made."""
    return definition.build() if hasattr(definition, "build") else definition
