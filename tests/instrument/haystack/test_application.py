"""A small agent with two tools and a sub-agent, over a scripted model and over HTTP: with spanhook and without."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.haystack_ways import (
    ASK,
    FOUND,
    IS_2,
    Pipeline,
    agent,
    idle,
    made_of,
    messages,
    openai_agent,
    own,
    tools,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

Run = Callable[[Any], Any]


def run(made: Any) -> Any:
    return made.run(messages=messages())


def run_async(made: Any) -> Any:
    return asyncio.run(made.run_async(messages=messages()))


def in_pipeline(made: Any) -> Any:
    pipeline = Pipeline()
    pipeline.add_component("helper", made)
    return asyncio.run(pipeline.run_async({"helper": {"messages": messages()}}))["helper"]


WAYS = pytest.mark.parametrize("way", [run, run_async, in_pipeline])


class Application:
    """An agent that looks something up, shouts, and asks another agent, whose model counts too."""

    def __init__(self) -> None:
        self.models, self.threads = Body(), list[int]()

        def look_up(query: str) -> str:
            self.threads.append(threading.get_ident())
            return f"{query}: {FOUND}"

        def shout(query: str) -> str:
            return query.upper()

        expert = agent(own(self.models, "it is tea"), made_of(look_up))
        about: dict[str, Any] = {"type": "object", "properties": {"messages": {"type": "array"}}}
        told = {"source": "last_message", "handler": lambda message: message.text}
        asking = tools.ComponentTool(
            component=expert, name="expert", description="Ask.", parameters=about, outputs_to_string=told
        )
        asked = [{"role": "user", "content": [{"text": ASK}]}] if IS_2 else [{"role": "user", "content": ASK}]
        turns = ("look_up", {"query": "tea"}), ("shout", {"query": "tea"}), ("expert", {"messages": asked})
        self.agent = agent(own(self.models, *turns, "all done"), made_of(look_up), made_of(shout), asking)


def told(result: Any) -> list[tuple[str, Any, bool]]:
    """What the model was told of tools: the tool, what of it, and whether that is an error."""
    results = [one.tool_call_result for one in result["messages"] if one.tool_call_result is not None]
    return [(one.origin.tool_name, one.result, one.error) for one in results]


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]


@WAYS
def test_what_comes_of_it_is_the_same_as_without(way: Run) -> None:
    without = way(Application().agent)
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        result = way(Application().agent)
    assert result == without
    assert result["last_message"].text == "all done"
    assert told(result) == [
        ("look_up", f"tea: {FOUND}", False),
        ("shout", "TEA", False),
        ("expert", "it is tea", False),
    ]


@WAYS
def test_everything_is_one_operation_in_its_place_and_counted_once(way: Run) -> None:
    made, totals, hooks = Application(), list[tuple[str | None, int, int]](), Hooks()

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append((op.name, op.usage.input_tokens, op.usage.output_tokens))

    with recorder(hooks) as seen:
        way(made.agent)
    name = "helper" if way is in_pipeline else "Agent"
    around = f"invoke_agent {name}"
    outer = [(around, "invoke_workflow AsyncPipeline" if IS_2 else "invoke_workflow Pipeline")]
    assert nested(seen)[:10] == [
        ("chat own", around),
        ("execute_tool look_up", around),
        ("chat own", around),
        ("execute_tool shout", around),
        ("chat own", around),
        ("chat own", "invoke_agent expert"),
        ("invoke_agent expert", "execute_tool expert"),
        ("execute_tool expert", around),
        ("chat own", around),
        *(outer if way is in_pipeline else [(around, "")]),
    ]
    tokens = Tokens()
    assert (made.models.runs, made.models.tokens) == (5, 5 * tokens.total)
    assert totals == [("expert", tokens.input, tokens.output), (name, 5 * tokens.input, 5 * tokens.output)]
    assert made.threads != [threading.get_ident()]


@WAYS
@pytest.mark.parametrize("tool", ["look_up", "shout", "expert"])
def test_the_model_is_told_of_a_refused_tool_and_goes_on(tool: str, way: Run) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("tool.execute", names={tool})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen:
        result = way(made.agent)
    assert result["last_message"].text == "all done"
    (refused,) = [one for one in told(result) if one[0] == tool]
    assert "not today" in refused[1]
    assert refused[2]
    statuses = {one.name: (one.attributes or {})["spanhook.status"] for one in seen.spans}
    assert statuses[f"execute_tool {tool}"] == "rejected"
    assert made.models.runs == (4 if tool == "expert" else 5)


def test_the_model_is_told_of_a_refused_sub_agent() -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        result = run(Application().agent)
    (refused,) = [one for one in told(result) if one[0] == "expert"]
    assert "not today" in refused[1]
    assert refused[2]


@WAYS
def test_a_refusal_of_the_whole_run_ends_it(way: Run) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("tool.execute", names={"shout"})
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        way(made.agent)
    assert made.models.runs == 2


@WAYS
@pytest.mark.parametrize("kind", ["agent.invoke", "llm.call"])
def test_a_refused_model_or_agent_is_raised_through_pipelines(kind: Any, way: Run) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        way(agent(own(body), made_of(idle)))
    assert body.runs == 0


@WAYS
def test_over_http(way: Run) -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    body, used, hooks = Body(), list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: used.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        assert way(openai_agent(body))["last_message"].text == Reply.text
    assert (body.runs, used) == (1, [body.tokens])
    assert [one.name for one in seen.spans][:2] == [
        "chat gpt-4o-mini",
        "invoke_agent helper" if way is in_pipeline else "invoke_agent Agent",
    ]
    assert (seen.spans[0].attributes or {})["gen_ai.provider.name"] == "openai"
