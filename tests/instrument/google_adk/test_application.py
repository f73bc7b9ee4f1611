"""A small agent with tools and a sub-agent: with spanhook and without."""

import asyncio
from importlib import import_module, metadata
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    ASK,
    FOUND,
    RUN_WAYS,
    SESSION,
    TELLS,
    THREAD_WAYS,
    USER,
    agent,
    agents,
    asked,
    content,
    gemini_agent,
    last,
    own,
    runner,
    said,
    streaming,
    tools,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

VERSION = tuple(map(int, metadata.version("google-adk").split(".")[:2]))
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


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]


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


# ------------------------------------------------------------------------------------------------- runs


def test_what_a_hook_sees_of_a_run() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("agent.invoke")
    def look(op: Operation) -> None:
        seen.append((op.name, op.identity.user_id, op.identity.session_id, op.identity.tenant_id, op.request.messages))

    with recorder(hooks):
        made = runner(agent(own(), name="asked"))
        asyncio.run(_drained(made.run_async(**asked(state_delta={"tenant_id": "acme"}))))
    message = {"role": "user", "parts": [{"type": "text", "content": ASK}]}
    assert seen == [("asked", USER, SESSION, "acme", [message])]


async def _drained(made: Any) -> list[Any]:
    return [one async for one in made]


def test_a_rewritten_message_is_what_the_session_has() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "content": "something else"}])

    made, given = runner(agent(own(body))), asked()
    with recorder(hooks):
        asyncio.run(_drained(made.run_async(**given)))
    session = asyncio.run(made.session_service.get_session(app_name="app", user_id=USER, session_id=SESSION))
    assert [said(one) for one in session.events] == ["something else", Reply.text]
    assert [one.parts[0].text for one in body.seen[0]] == ["something else"]
    assert given["new_message"] == content(ASK)


def test_a_refused_run_leaves_nothing_in_the_session() -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = runner(agent(own()))
    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(_drained(made.run_async(**asked())))
    sessions = asyncio.run(made.session_service.list_sessions(app_name="app", user_id=USER))
    assert sessions.sessions == []


@pytest.mark.parametrize(("words", "status"), [(1, "abandoned"), (4, "success")])
def test_a_run_that_is_left_before_a_final_response_is_abandoned(words: int, status: str) -> None:
    async def leave() -> None:
        made = runner(agent(own(None, "one two three"))).run_async(**asked(run_config=streaming()))
        for _ in range(words):
            await anext(made)
        await made.aclose()

    with recorder(Hooks()) as seen:
        asyncio.run(leave())
    assert (seen.spans[-1].name, (seen.spans[-1].attributes or {})["spanhook.status"]) == ("invoke_agent helper", status)


def test_a_run_that_waits_for_somebody_is_interrupted() -> None:
    def ask_somebody() -> None:
        """Ask somebody."""

    slow = tools.LongRunningFunctionTool(ask_somebody)
    made = runner(agent(own(None, ("ask_somebody", {}), "done"), slow))
    with recorder(Hooks()) as seen:
        asyncio.run(_drained(made.run_async(**asked())))
    assert (seen.spans[-1].attributes or {})["spanhook.status"] == "interrupted"


@pytest.mark.parametrize("refused", ["first", "second"])
def test_agents_at_the_same_time_are_gated_each(refused: str) -> None:
    hooks, bodies = Hooks(), {"first": Body(), "second": Body()}

    @hooks.before("agent.invoke", names={refused})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = agents.ParallelAgent(
        name="both", sub_agents=[agent(own(body, "said"), name=name) for name, body in bodies.items()]
    )
    with recorder(hooks) as seen, pytest.raises((Reject, ExceptionGroup)) as raised:
        asyncio.run(_drained(runner(made).run_async(**asked())))
    error = raised.value  # older versions raise a group
    assert str(error.exceptions[0] if isinstance(error, ExceptionGroup) else error) == "not today"
    assert bodies[refused].runs == 0
    assert ("invoke_agent first", "invoke_agent both") in nested(seen)
    assert ("invoke_agent second", "invoke_agent both") in nested(seen)


def test_an_agent_of_ones_own_is_gated_and_one_that_overrides_is_one_operation() -> None:
    asks, hooks = list[str | None](), Hooks()
    hooks.before("agent.invoke")(lambda op: asks.append(op.name))

    class Passing(agents.LlmAgent):
        async def run_async(self, parent_context: Any) -> Any:
            async for event in super().run_async(parent_context):
                yield event

    class Around(agents.BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            for one in self.sub_agents:
                async for event in one.run_async(ctx):
                    yield event

    with recorder(hooks):
        inner = Passing(name="inner", model=own())
        made = runner(Around(name="outer", sub_agents=[inner]))
        assert last(asyncio.run(_drained(made.run_async(**asked())))) == Reply.text
    assert asks == ["outer", "inner"]


def test_runs_at_the_same_time_are_counted_apart() -> None:
    totals, hooks = list[tuple[str | None, int]](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append((op.identity.session_id, op.usage.input_tokens)))
    made = runner(agent(own(Body())))

    async def both() -> None:
        runs = [_drained(made.run_async(**asked() | {"session_id": name})) for name in ("one", "two")]
        await asyncio.gather(*runs)

    with recorder(hooks):
        asyncio.run(both())
    assert sorted(totals) == [("one", Tokens().input), ("two", Tokens().input)]


def test_the_newest_version_tells_what_a_thread_has_raised() -> None:
    assert TELLS or VERSION < (2, 13)


def test_a_run_in_a_thread_is_refused_even_where_the_library_does_not_say_so() -> None:
    if TELLS:
        pytest.skip("newer versions raise what the thread has raised")
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        assert last(runner(agent(own(body))).run(**asked())) == ""
    assert body.runs == 0


def test_a_reference_taken_before_is_gated() -> None:
    from google.adk.runners import Runner

    run, hooks = Runner.run_async, Hooks()
    made = runner(agent(own()))
    bound = made.run_async

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        for way in (lambda: bound(**asked()), lambda: run(made, **asked())):
            with pytest.raises(Reject, match="not today"):
                asyncio.run(_drained(way()))
