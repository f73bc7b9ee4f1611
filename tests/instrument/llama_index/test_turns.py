"""Agents that hand over to each other: hand-offs, the turns of each, and what is done for them in between."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.llama_index_ways import ASK, AgentWorkflow, agent, own, result, tool
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

OVER = ("handoff", {"to_agent": "second", "reason": ASK})


class Team:
    """Two agents, of which the first hands over to the second, which uses a tool."""

    def __init__(self, *turns: Any, **given: Any) -> None:
        self.models, self.tools = Body(), Body()
        first = agent(own(self.models, OVER, "alone"), tool(self.tools), name="first")
        second = agent(
            own(self.models, *(turns or (("look_up", {"query": "tea"}), "done"))), tool(self.tools), name="second"
        )
        self.workflow = AgentWorkflow(agents=[first, second], root_agent="first", **given)

    def run(self) -> str:
        return asyncio.run(asyncio.wait_for(result(self.workflow), 20))


def nested(seen: Recorder) -> list[tuple[str, str]]:
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]


def test_everything_is_in_its_place_and_counted_once() -> None:
    made, totals, hooks = Team(), list[Any](), Hooks()

    @hooks.after("agent.invoke")
    @hooks.after("run")
    def total(op: Operation) -> None:
        totals.append((op.name, op.usage.input_tokens))

    with recorder(hooks) as seen:
        assert made.run() == "done"
    assert nested(seen) == [
        ("chat own", "invoke_agent first"),
        ("delegate_agent second", "invoke_agent first"),
        ("invoke_agent first", "invoke_workflow AgentWorkflow"),
        ("chat own", "invoke_agent second"),
        ("execute_tool look_up", "invoke_agent second"),
        ("chat own", "invoke_agent second"),
        ("invoke_agent second", "invoke_workflow AgentWorkflow"),
        ("invoke_workflow AgentWorkflow", ""),
    ]
    one = Tokens().input
    assert totals == [("first", one), ("second", 2 * one), ("AgentWorkflow", 3 * one)]
    assert made.models.tokens == 3 * Tokens().total


def test_what_a_hook_sees_of_a_hand_off() -> None:
    seen, hooks = list[Any](), Hooks()
    hooks.before("agent.delegate")(lambda op: seen.append((op.name, op.request.arguments)))
    with recorder(hooks) as recorded:
        Team().run()
    assert seen == [("second", {"to_agent": "second", "reason": ASK})]
    (span,) = [one for one in recorded.spans if one.name.startswith("delegate_agent")]
    assert "first" in (span.attributes or {}).values()


def test_a_refused_hand_off_is_told_to_the_model_whose_agent_goes_on() -> None:
    made, hooks = Team(), Hooks()

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        assert made.run() == "alone"
    assert made.tools.runs == 0
    assert made.models.seen[-1][-1] == "not today"


@pytest.mark.parametrize("kind", ["llm.call", "tool.execute"])
def test_hooks_of_the_second_agent_are_asked_about_what_is_done_for_it(kind: Any) -> None:
    hooks, made = Hooks(), Team()

    @hooks.before(kind, agents={"second"})
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        made.run()
    assert (made.models.runs, made.tools.runs) == ((1, 0) if kind == "llm.call" else (2, 0))


def test_the_second_agent_can_be_refused() -> None:
    hooks, made = Hooks(), Team()

    @hooks.before("agent.invoke", names={"second"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        made.run()
    assert made.models.runs == 1


def test_the_second_agent_can_be_answered() -> None:
    hooks, made = Hooks(), Team()

    @hooks.before("agent.invoke", names={"second"})
    def answer(op: Operation) -> None:
        op.respond("an answer")

    with recorder(hooks):
        assert made.run() == "an answer"
    assert made.models.runs == 1


class Name(BaseModel):
    """A name."""

    name: str


def test_what_an_answer_is_put_into_form_with_belongs_to_its_agent() -> None:
    asked, hooks = list[Any](), Hooks()
    hooks.before("llm.call", agents={"second"})(lambda op: asked.append(op.name))
    made = Team("done", ("Name", {"name": "Assam"}), output_cls=Name)
    with recorder(hooks):
        made.run()
    assert len(asked) == 2


def test_several_hand_offs_and_back() -> None:
    body = Body()
    back = ("handoff", {"to_agent": "first", "reason": ASK})
    first = agent(own(body, OVER, "done"), name="first")
    second = agent(own(body, back), name="second")
    with recorder(Hooks()) as seen:
        said = asyncio.run(result(AgentWorkflow(agents=[first, second], root_agent="first")))
    assert said == "done"
    names = [one.name for one in seen.spans if one.name.startswith(("invoke_agent", "delegate"))]
    assert names == [
        "delegate_agent second",
        "invoke_agent first",
        "delegate_agent first",
        "invoke_agent second",
        "invoke_agent first",
    ]


def test_a_team_as_a_tool_of_an_agent() -> None:
    made = Team()

    async def ask(query: str) -> str:
        """Ask a team."""
        return str(await made.workflow.run(user_msg=query))

    with recorder(Hooks()) as seen:
        assert asyncio.run(result(agent(own(None, ("ask", {"query": "tea"}), ""), ask))) == "done"
    assert ("invoke_workflow AgentWorkflow", "execute_tool ask") in nested(seen)


@pytest.mark.parametrize("scope", ["operation", "run"])
@pytest.mark.parametrize("kind", ["run", "agent.invoke", "llm.call", "tool.execute"])
def test_the_events_of_a_refused_run_end_once(kind: Any, scope: Any) -> None:
    hooks, made = Hooks(), Team()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope=scope)

    async def events() -> tuple[list[str], int]:
        handler = made.workflow.run(user_msg=ASK)
        found = [type(one).__name__ async for one in handler.stream_events()]
        await asyncio.wait([asyncio.ensure_future(handler)])
        return found, handler._external_adapter._queues.publish_queue.qsize()

    with recorder(hooks):
        found, left = asyncio.run(asyncio.wait_for(events(), 20))
    assert (found[-1], left) == (
        "StopEvent" if (kind, scope) == ("tool.execute", "operation") else "WorkflowFailedEvent",
        0,
    )


def test_tools_that_are_called_at_once_are_the_agent_s() -> None:
    asked, hooks = list[Any](), Hooks()
    hooks.before("tool.execute", agents={"second"})(lambda op: asked.append(op.request.arguments["query"]))
    made = Team([("look_up", {"query": one}) for one in "abc"], "done")
    with recorder(hooks) as seen:
        assert made.run() == "done"
    assert sorted(asked) == ["a", "b", "c"]
    assert [one for one in nested(seen) if one[0] == "execute_tool look_up"] == [
        ("execute_tool look_up", "invoke_agent second")
    ] * 3
