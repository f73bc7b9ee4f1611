"""A small agent with two tools and a sub-agent, over a scripted model and over HTTP: with spanhook and without."""

import asyncio
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.llama_index_hearing import listening
from spanhook.cli.conformance.libraries.llama_index_ways import (
    ASK,
    FOUND,
    AgentWorkflow,
    FunctionTool,
    agent,
    openai_agent,
    own,
    result,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

KINDS = pytest.mark.parametrize("streams", [True, False], ids=["streaming", "not streaming"])


class Application:
    """An agent that looks something up, shouts, and asks another agent, whose model counts too."""

    def __init__(self, *, streams: bool = True, within: bool = False) -> None:
        self.models = Body()

        def look_up(query: str) -> str:
            """Look something up."""
            return f"{query}: {FOUND}"

        async def shout(query: str) -> str:
            """Say it loudly."""
            return query.upper()

        expert = agent(own(self.models, "it is tea"), look_up, name="expert", streaming=streams)

        async def ask_expert(query: str) -> str:
            """Ask somebody who knows."""
            return str(await expert.run(user_msg=query))

        turns = ("look_up", {"query": "tea"}), ("shout", {"query": "tea"}), ("ask_expert", {"query": ASK})
        asking = FunctionTool.from_defaults(async_fn=ask_expert)
        made = agent(own(self.models, *turns, "all done"), look_up, shout, asking, streaming=streams)
        self.agent = AgentWorkflow(agents=[made]) if within else made

    def run(self) -> tuple[str, list[Any]]:
        """What it says, and its events."""
        return asyncio.run(self._run())

    async def _run(self) -> tuple[str, list[Any]]:
        handler = self.agent.run(user_msg=ASK)
        events = [one async for one in handler.stream_events()]
        return str(await handler), events


def told(events: list[Any]) -> list[tuple[str, str, bool]]:
    """What the model was told of tools: the tool, what of it, and whether that is an error."""
    found = [one for one in events if type(one).__name__ == "ToolCallResult"]
    return [(one.tool_name, one.tool_output.content, one.tool_output.is_error) for one in found]


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]


def statuses(seen: Recorder) -> dict[str, Any]:
    return {one.name: (one.attributes or {})["spanhook.status"] for one in seen.spans}


@pytest.mark.parametrize("within", [False, True], ids=["alone", "in a workflow"])
@KINDS
def test_what_comes_of_it_is_the_same_as_without(streams: bool, within: bool) -> None:
    with listening() as before:
        said, events = Application(streams=streams, within=within).run()
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks), listening() as heard:
        now, others = Application(streams=streams, within=within).run()
    assert now == said == "all done"
    assert [type(one) for one in others] == [type(one) for one in events]
    assert (
        told(others)
        == told(events)
        == [
            ("look_up", f"tea: {FOUND}", False),
            ("shout", "TEA", False),
            ("ask_expert", "it is tea", False),
        ]
    )
    assert sorted(heard.names) == sorted(before.names)


@KINDS
def test_everything_is_one_operation_in_its_place_and_counted_once(streams: bool) -> None:
    made, totals, hooks = Application(streams=streams), list[tuple[str | None, int, int]](), Hooks()

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append((op.name, op.usage.input_tokens, op.usage.output_tokens))

    with recorder(hooks) as seen:
        made.run()
    around = "invoke_agent helper"
    assert nested(seen) == [
        ("chat own", around),
        ("execute_tool look_up", around),
        ("chat own", around),
        ("execute_tool shout", around),
        ("chat own", around),
        ("chat own", "invoke_agent expert"),
        ("invoke_agent expert", "execute_tool ask_expert"),
        ("execute_tool ask_expert", around),
        ("chat own", around),
        (around, ""),
    ]
    tokens = Tokens()
    assert (made.models.runs, made.models.tokens) == (5, 5 * tokens.total)
    assert totals == [("expert", tokens.input, tokens.output), ("helper", 5 * tokens.input, 5 * tokens.output)]


@pytest.mark.parametrize("tool", ["look_up", "shout", "ask_expert"])
def test_the_model_is_told_of_a_refused_tool_and_goes_on(tool: str) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("tool.execute", names={tool})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen:
        said, events = made.run()
    assert said == "all done"
    assert (tool, "not today", True) in told(events)
    assert statuses(seen)[f"execute_tool {tool}"] == "rejected"
    assert made.models.runs == (4 if tool == "ask_expert" else 5)


def test_the_model_is_told_of_a_refused_sub_agent() -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        said, events = Application().run()
    assert said == "all done"
    assert ("ask_expert", "not today", True) in told(events)


def test_a_refusal_of_the_whole_run_ends_it_and_its_events() -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("tool.execute", names={"shout"})
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope="run")

    with recorder(hooks) as seen, pytest.raises(Reject, match="not today"):
        made.run()
    assert made.models.runs == 2
    assert statuses(seen)["invoke_agent helper"] == "rejected"


@pytest.mark.parametrize("kind", ["agent.invoke", "llm.call"])
def test_a_refused_model_or_agent_is_raised(kind: Any) -> None:
    hooks, made = Hooks(), Application()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        made.run()
    assert made.models.runs == 0


@KINDS
def test_over_http(streams: bool) -> None:
    pytest.importorskip("llama_index.llms.openai", reason="a client that the library works with")
    body, used, hooks, asked = Body(), list[int](), Hooks(), list[str]()
    hooks.after("agent.invoke")(lambda op: used.append(op.usage.total_tokens))
    hooks.before("llm.call")(lambda op: asked.append(op.request.messages[-1]["parts"][0]["content"]))
    made = openai_agent(body)
    made.streaming = streams
    with recorder(hooks, settings=Settings(stream_usage=True)) as seen:
        assert asyncio.run(result(made)) == Reply.text
    assert (body.runs, used, asked) == (1, [body.tokens], [ASK])
    assert [one.name for one in seen.spans] == ["chat gpt-4o-mini", "invoke_agent helper"]
    attributes = seen.spans[0].attributes or {}
    assert attributes["gen_ai.provider.name"] == "openai"
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
