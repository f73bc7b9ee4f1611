"""A small agent with tools and a sub-agent: with spanhook and without."""

import asyncio
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    ASK,
    FOUND,
    RUN_WAYS,
    THREAD_WAYS,
    agent,
    asked,
    gemini_agent,
    own,
    runner,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.google_adk.made import nested

AgentTool: Any = import_module("google.adk.tools.agent_tool").AgentTool
WAYS = {**RUN_WAYS, **THREAD_WAYS}


class Application:
    """An agent that looks something up, adds, asks an agent that is a tool, and hands off to another, which answers."""

    def __init__(self) -> None:
        self.models, self.looked = Body(), list[str]()

        def look_up(query: str) -> str:
            """Look something up."""
            self.looked.append(query)
            return f"{query}: {FOUND}"

        async def add(first: int, second: int) -> int:
            """Add two numbers."""
            await asyncio.sleep(0)
            return first + second

        expert = agent(own(self.models, "it is tea"), name="expert")
        closing = agent(own(self.models, "all done"), name="closing")
        turns = (
            ("look_up", {"query": "tea"}),
            ("add", {"first": 2, "second": 3}),
            ("expert", {"request": ASK}),
            ("transfer_to_agent", {"agent_name": "closing"}),
            "done by myself",
        )
        given = look_up, add, AgentTool(expert)
        self.root = agent(own(self.models, *turns), *given, sub_agents=[closing])
        self.runner = runner(self.root)

    async def run(self) -> list[Any]:
        """What comes of it."""
        return [_told(one) async for one in self.runner.run_async(**asked())]


def _told(event: Any) -> Any:
    """An event, apart from what is different each time."""
    parts = [one.model_dump(exclude_none=True) for one in event.content.parts] if event.content else []
    for part in parts:
        for one in ("function_call", "function_response"):
            part.get(one, {}).pop("id", None)
    return event.author, event.partial, event.actions.transfer_to_agent, parts


def test_what_comes_of_it_is_the_same_as_without() -> None:
    without = asyncio.run(Application().run())
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    hooks.after("*")(lambda op: None)
    with recorder(hooks):
        assert asyncio.run(Application().run()) == without
    with recorder(Hooks()):
        assert asyncio.run(Application().run()) == without
    assert without[-1] == ("closing", False, None, [{"text": "all done"}])


def test_everything_is_one_operation_in_its_place_and_counted_once() -> None:
    made, totals, hooks = Application(), list[tuple[str | None, int, int]](), Hooks()

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append((op.name, op.usage.input_tokens, op.usage.output_tokens))

    with recorder(hooks) as seen:
        asyncio.run(made.run())
    assert nested(seen) == [
        ("chat own", "invoke_agent helper"),
        ("execute_tool look_up", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("execute_tool add", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("chat own", "invoke_agent expert"),
        ("invoke_agent expert", "execute_tool expert"),
        ("execute_tool expert", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("delegate_agent closing", "execute_tool transfer_to_agent"),
        ("execute_tool transfer_to_agent", "invoke_agent helper"),
        ("chat own", "invoke_agent closing"),
        ("invoke_agent closing", "invoke_agent helper"),
        ("invoke_agent helper", ""),
    ]
    tokens = Tokens()
    assert (made.models.runs, made.models.tokens) == (6, 6 * tokens.total)
    assert totals == [
        ("expert", tokens.input, tokens.output),
        ("closing", tokens.input, tokens.output),
        ("helper", 6 * tokens.input, 6 * tokens.output),
    ]


def told(events: list[Any], name: str) -> Any:
    """What the model was told of a tool."""
    responses = [part["function_response"] for *_, parts in events for part in parts if "function_response" in part]
    (found,) = [one["response"] for one in responses if one["name"] == name]
    return found


@pytest.mark.parametrize("tool", ["look_up", "add", "expert", "transfer_to_agent"])
def test_the_model_is_told_of_a_refused_tool_and_goes_on(tool: str) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("tool.execute", names={tool})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen:
        events = asyncio.run(made.run())
    assert told(events, tool) == {"error": "not today"}
    assert events[-1][3] == [{"text": "done by myself" if tool == "transfer_to_agent" else "all done"}]
    assert [one.name for one in seen.spans if (one.attributes or {})["spanhook.status"] == "rejected"] == [
        f"execute_tool {tool}"
    ]
    assert made.looked == ([] if tool == "look_up" else ["tea"])


def test_a_refused_hand_off_is_told_to_the_model_which_goes_on() -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("agent.delegate", names={"closing"}, agents={"helper"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        events = asyncio.run(made.run())
    assert told(events, "transfer_to_agent") == {"error": "Hand-off to closing rejected: not today"}
    assert events[-1] == ("helper", False, None, [{"text": "done by myself"}])


@pytest.mark.parametrize("name", ["expert", "closing"])
def test_a_refused_sub_agent_ends_the_run(name: str) -> None:
    made, hooks = Application(), Hooks()

    @hooks.before("agent.invoke", names={name})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(made.run())
    assert made.models.runs == (3 if name == "expert" else 5)


@pytest.mark.parametrize("kind", ["llm.call", "tool.execute"])
def test_a_rejection_of_the_run_ends_it_from_inside_of_a_sub_agent(kind: Any) -> None:
    made, hooks, count = Application(), Hooks(), list[str]()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        count.append(op.name or "")
        if op.agent == "expert" or op.name == "expert":
            raise Reject("enough", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="enough"):
        asyncio.run(made.run())
    assert (made.models.runs, len(count)) == ((3, 4) if kind == "llm.call" else (3, 3))


@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reached", [1, 2])
async def test_a_refused_model_call_is_raised_whichever_it_is(way: str, reached: int) -> None:
    calls, hooks = list[str | None](), Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        calls.append(op.name)
        if len(calls) == reached:
            raise Reject("not today")

    def look_up(query: str) -> str:
        """Look something up."""
        return query

    made = runner(agent(own(None, ("look_up", {"query": "tea"}), "done"), look_up))
    with recorder(hooks) as seen, pytest.raises(Reject, match="not today"):
        found = WAYS[way](made)
        if not isinstance(found, str):
            await found
    assert len(calls) == reached
    assert (seen.spans[-1].name, (seen.spans[-1].attributes or {})["error.type"]) == (
        "invoke_agent helper",
        "spanhook.Reject",
    )


@pytest.mark.parametrize("way", WAYS)
def test_over_http_the_ledger_says_the_same(way: str) -> None:
    body, totals, hooks = Body(), list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens + op.usage.output_tokens))
    with recorder(hooks) as seen:
        found = WAYS[way](gemini_agent(body))
        assert (found if isinstance(found, str) else asyncio.run(found)) == Reply.text
    assert nested(seen) == [("chat gemini-2.5-flash", "invoke_agent helper"), ("invoke_agent helper", "")]
    assert (totals, body.runs) == ([body.tokens], 1)
