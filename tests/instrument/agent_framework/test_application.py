"""A small agent with two tools and a sub-agent, over a scripted model and over HTTP: with spanhook and without."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    AGENT_WAYS,
    ASK,
    FOUND,
    Own,
    agent,
    framework,
    openai_agent,
    responses_agent,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

pytestmark = pytest.mark.anyio


class Application:
    """An agent that looks something up, adds, and asks another agent, whose model counts too."""

    def __init__(self) -> None:
        self.models, self.looked = Body(), Body()
        helper = agent(Own(self.models, "it is tea"), name="expert")

        @framework.tool(approval_mode="never_require")
        async def add(first: int, second: int) -> int:
            """Add two numbers."""
            return first + second

        asked = ("look_up", {"query": "tea"}), ("add", {"first": 2, "second": 3}), ("ask_expert", {"task": ASK})
        tools = tool(self.looked), add, helper.as_tool(name="ask_expert")
        self.agent = agent(Own(self.models, *[(one,) for one in asked], "all done"), *tools)

    async def run(self, *, stream: bool = False) -> list[Any]:
        """The conversation that comes of it."""
        session = self.agent.create_session()
        made = self.agent.run(ASK, stream=stream, session=session)
        made = await (made.get_final_response() if stream else made)
        kept = [(one.role, one.text) for one in session.state.get("in_memory", {}).get("messages", [])]
        said = [(one.type, one.text, one.name, one.result) for message in made.messages for one in message.contents]
        return [made.text, dict(made.usage_details), kept, *said]


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span of spanhook's, and of the operation that it is inside of."""
    own = [span for span in seen.spans if (span.attributes or {}).get("spanhook.kind")]
    names = {span.context.span_id: span.name for span in own if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in own]


@pytest.mark.parametrize("stream", [False, True])
async def test_what_comes_of_it_is_the_same_as_without(stream: bool) -> None:
    without = await Application().run(stream=stream)
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        assert await Application().run(stream=stream) == without
    assert without[0] == "all done"
    assert without[1]["input_token_count"] == 4 * Tokens().input


@pytest.mark.parametrize("stream", [False, True])
async def test_everything_is_one_operation_in_its_place_and_counted_once(stream: bool) -> None:
    made, totals, hooks = Application(), list[tuple[str | None, int, int]](), Hooks()

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append((op.name, op.usage.input_tokens, op.usage.output_tokens))

    with recorder(hooks) as seen:
        await made.run(stream=stream)
    assert nested(seen) == [
        ("chat own", "invoke_agent helper"),
        ("execute_tool look_up", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("execute_tool add", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("chat own", "invoke_agent expert"),
        ("invoke_agent expert", "execute_tool ask_expert"),
        ("execute_tool ask_expert", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("invoke_agent helper", ""),
    ]
    tokens = Tokens()
    assert (made.models.runs, made.models.tokens) == (5, 5 * tokens.total)
    assert totals == [("expert", tokens.input, tokens.output), ("helper", 5 * tokens.input, 5 * tokens.output)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tool", ["look_up", "add", "ask_expert"])
async def test_the_model_is_told_of_a_refused_tool_and_goes_on(tool: str, stream: bool) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("tool.execute", names={tool})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen:
        said = await made.run(stream=stream)
    assert said[0] == "all done"
    assert [result for kind, _, _, result in said[3:] if kind == "function_result"] == [
        "Error: not today" if name == tool else result
        for name, result in (("look_up", FOUND), ("add", "5"), ("ask_expert", "it is tea"))
    ]
    refused = [one.name for one in seen.spans if (one.attributes or {}).get("spanhook.status") == "rejected"]
    assert refused == [f"execute_tool {tool}"]
    assert made.looked.runs == (tool != "look_up")


async def test_a_refused_sub_agent_is_a_tool_that_fails() -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        said = await made.run()
    assert said[0] == "all done"
    assert ("function_result", None, None, "Error: Function failed.") in said
    assert made.models.runs == 4


@pytest.mark.parametrize("stream", [False, True])
async def test_a_rejection_of_the_run_ends_it_from_inside_of_a_sub_agent(stream: bool) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="enough"):
        await made.run(stream=stream)
    assert made.models.runs == 3


@pytest.mark.parametrize("way", AGENT_WAYS)
@pytest.mark.parametrize("reached", [1, 2, 3])
async def test_a_refused_model_call_is_raised_whichever_it_is(way: str, reached: int) -> None:
    body, calls, hooks = Body(), list[str | None](), Hooks()
    turns = *[(("look_up", {"query": str(turn)}),) for turn in range(2)], "done"

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        calls.append(op.name)
        if len(calls) == reached:
            raise Reject("not today")

    made = agent(Own(None, *turns), tool(body))
    with recorder(hooks) as seen, pytest.raises(Reject, match="not today"):
        await AGENT_WAYS[way](made)
    assert (len(calls), body.runs) == (reached, reached - 1)
    own = [one for one in seen.spans if (one.attributes or {}).get("spanhook.kind")]
    assert [(one.attributes or {})["spanhook.status"] for one in own if one.name == "chat own"][-1] == "rejected"
    assert (own[-1].name, (own[-1].attributes or {})["error.type"]) == ("invoke_agent helper", "spanhook.Reject")


@pytest.mark.parametrize("made", [openai_agent, responses_agent])
@pytest.mark.parametrize("stream", [False, True])
async def test_over_http_the_ledger_says_the_same(made: Any, stream: bool) -> None:
    body, totals, hooks = Body(), list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens + op.usage.output_tokens))
    asked = made(body)
    with recorder(hooks) as seen:
        run = asked.run(ASK, stream=stream)
        assert (await (run.get_final_response() if stream else run)).text == Reply.text
    assert nested(seen) == [("chat gpt-4o-mini", "invoke_agent helper"), ("invoke_agent helper", "")]
    assert (totals, body.runs) == ([body.tokens], 1)
