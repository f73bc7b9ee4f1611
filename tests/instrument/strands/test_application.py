"""A small agent with two tools and a sub-agent, over a scripted model and over HTTP: with spanhook and without."""

import threading
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.strands_ways import (
    AGENT_WAYS,
    ASK,
    FOUND,
    Own,
    agent,
    openai_agent,
    strands,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

EventLoopException: Any = import_module("strands.types.exceptions").EventLoopException


class Application:
    """An agent that looks something up, adds, and asks another agent, whose model counts too."""

    def __init__(self) -> None:
        self.models, self.threads = Body(), list[int]()
        helper = agent(Own(self.models, "it is tea"), name="expert")

        @strands.tool
        def look_up(query: str) -> str:
            """Look something up."""
            self.threads.append(threading.get_ident())
            return f"{query}: {FOUND}"

        @strands.tool
        async def add(first: int, second: int) -> int:
            """Add two numbers."""
            return first + second

        @strands.tool
        def ask_expert(question: str) -> str:
            """Ask an expert."""
            return str(helper(question)).strip()

        turns = ("look_up", {"query": "tea"}), ("add", {"first": 2, "second": 3}), ("ask_expert", {"question": ASK})
        self.agent = agent(Own(self.models, *turns, "all done"), look_up, add, ask_expert)

    def run(self) -> list[Any]:
        """The conversation that comes of it."""
        said = str(self.agent(ASK)).strip()
        return [said, *[(one["role"], one["content"]) for one in self.agent.messages]]


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]


def test_what_comes_of_it_is_the_same_as_without() -> None:
    without = Application().run()
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        assert Application().run() == without
    assert without[0] == "all done"


def test_everything_is_one_operation_in_its_place_and_counted_once() -> None:
    made, totals, hooks = Application(), list[tuple[str | None, int, int]](), Hooks()

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append((op.name, op.usage.input_tokens, op.usage.output_tokens))

    with recorder(hooks) as seen:
        made.run()
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
    assert made.models.runs == 5
    assert made.models.tokens == 5 * tokens.total
    assert totals == [("expert", tokens.input, tokens.output), ("helper", 5 * tokens.input, 5 * tokens.output)]
    assert made.threads != [threading.get_ident()]


def told(made: Application, name: str) -> Any:
    """What the model was told of a tool."""
    results = [block["toolResult"] for one in made.agent.messages for block in one["content"] if "toolResult" in block]
    (found,) = [one for one in results if one["toolUseId"] == f"call_{name}"]
    return found["status"], found["content"]


@pytest.mark.parametrize("tool", ["look_up", "add", "ask_expert"])
def test_the_model_is_told_of_a_refused_tool_and_goes_on(tool: str) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("tool.execute", names={tool})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen:
        assert made.run()[0] == "all done"
    assert told(made, tool) == ("error", [{"text": "Error: not today"}])
    assert [one.name for one in seen.spans if (one.attributes or {})["spanhook.status"] == "rejected"] == [
        f"execute_tool {tool}"
    ]
    assert bool(made.threads) is (tool != "look_up")


def test_the_model_is_told_of_a_refused_sub_agent() -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        assert made.run()[0] == "all done"
    status, (block,) = told(made, "ask_expert")
    assert status == "error"
    assert "not today" in block["text"]
    assert made.models.runs == 4


def test_a_rejection_of_the_run_ends_it_from_inside_of_a_tools_thread() -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("agent.invoke", names={"expert"})
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="enough"):
        made.run()
    assert made.models.runs == 3


@pytest.mark.anyio
@pytest.mark.parametrize("way", AGENT_WAYS)
@pytest.mark.parametrize("reached", [1, 2, 3])
async def test_a_refused_model_call_is_raised_whichever_it_is(way: str, reached: int) -> None:
    body, calls, hooks = Body(), list[str | None](), Hooks()
    turns = *[("look_up", {"query": str(turn)}) for turn in range(2)], "done"

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        calls.append(op.name)
        if len(calls) == reached:
            raise Reject("not today")

    made = agent(Own(None, *turns), tool(body))
    with recorder(hooks) as seen, pytest.raises(Reject, match="not today") as raised:
        found = AGENT_WAYS[way](made)
        if not isinstance(found, str):
            await found
    assert (len(calls), body.runs) == (reached, reached - 1)
    assert isinstance(raised.value, EventLoopException) is (reached > 1)
    assert [(one.attributes or {})["spanhook.status"] for one in seen.spans if one.name == "chat own"][-1] == "rejected"
    assert (seen.spans[-1].name, (seen.spans[-1].attributes or {})["error.type"]) == (
        "invoke_agent helper",
        "spanhook.Reject",
    )


def test_over_http_the_ledger_says_the_same() -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    body, totals, hooks = Body(), list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens + op.usage.output_tokens))
    with recorder(hooks) as seen:
        assert str(openai_agent(body)(ASK)).strip() == Reply.text
    assert nested(seen) == [("chat gpt-4o-mini", "invoke_agent helper"), ("invoke_agent helper", "")]
    assert (totals, body.runs) == ([body.tokens], 1)
