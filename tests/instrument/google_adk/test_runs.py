"""Runs: what hooks see and rewrite, how runs end, agents at the same time, threads, earlier references."""

import asyncio
from functools import partial
from importlib import metadata
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    ASK,
    SESSION,
    TELLS,
    USER,
    Runner,
    agent,
    agents,
    asked,
    content,
    last,
    own,
    runner,
    said,
    streaming,
    tools,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.google_adk.made import events_of, nested
from tests.overriding import REFUSED, refusing_milk

VERSION = tuple(map(int, metadata.version("google-adk").split(".")[:2]))

# ------------------------------------------------------------------------------------------------- runs


def test_what_a_hook_sees_of_a_run() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("agent.invoke")
    def look(op: Operation) -> None:
        seen.append((op.name, op.identity.user_id, op.identity.session_id, op.identity.tenant_id, op.request.messages))

    with recorder(hooks):
        made = runner(agent(own(), name="asked"))
        asyncio.run(events_of(made, state_delta={"tenant_id": "acme"}))
    message = {"role": "user", "parts": [{"type": "text", "content": ASK}]}
    assert seen == [("asked", USER, SESSION, "acme", [message])]


def test_a_rewritten_message_is_what_the_session_has() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "content": "something else"}])

    made, given = runner(agent(own(body))), asked()
    with recorder(hooks):
        asyncio.run(events_of(made, **given))
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
        asyncio.run(events_of(made))
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
    assert (seen.spans[-1].name, (seen.spans[-1].attributes or {})["spanhook.status"]) == (
        "invoke_agent helper",
        status,
    )


def test_a_run_that_waits_for_somebody_is_interrupted() -> None:
    def ask_somebody() -> None:
        """Ask somebody."""

    slow = tools.LongRunningFunctionTool(ask_somebody)
    made = runner(agent(own(None, ("ask_somebody", {}), "done"), slow))
    with recorder(Hooks()) as seen:
        asyncio.run(events_of(made))
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
        asyncio.run(events_of(runner(made)))
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
        assert last(asyncio.run(events_of(made))) == Reply.text
    assert asks == ["outer", "inner"]


def test_an_agent_with_the_name_of_the_one_that_runs_it_is_gated() -> None:
    hooks, body = Hooks(), Body()
    runs = list[str | None]()

    @hooks.before("agent.invoke")
    def refuse_the_second(op: Operation) -> None:
        runs.append(op.name)
        if len(runs) > 1:
            raise Reject("not today")

    class Around(agents.BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            async for event in agent(own(body), name="helper").run_async(ctx):
                yield event

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(events_of(runner(Around(name="helper"))))
    assert (runs, body.runs) == (["helper", "helper"], 0)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_runner_that_overrides_another_is_asked_anew_if_it_asks_for_something_else(in_place: bool) -> None:
    class Other(Runner):
        async def run_async(self, **given: Any) -> Any:
            if in_place:
                given["new_message"].parts[0].text = "milk"
            else:
                given["new_message"] = content("milk")
            async for event in super().run_async(**given):
                yield event

    body = Body()
    made = runner(agent(own(body)))
    made.__class__ = Other
    with recorder(refusing_milk("agent.invoke")[0]), pytest.raises(Reject, match=REFUSED):
        asyncio.run(events_of(made))
    assert body.runs == 0


def test_an_agent_that_overrides_another_is_asked_anew_if_it_asks_for_something_else() -> None:
    ran = list[Any]()

    class Editing(agents.BaseAgent):
        async def run_async(self, parent_context: Any) -> Any:
            parent_context.user_content.parts[0].text = "milk"
            async for event in super().run_async(parent_context):
                yield event

        async def _run_async_impl(self, ctx: Any) -> Any:
            ran.append(ctx)
            yield

    class Around(agents.BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            async for event in self.sub_agents[0].run_async(ctx):
                yield event

    made = runner(Around(name="outer", sub_agents=[Editing(name="inner")]))
    with recorder(refusing_milk("agent.invoke")[0]), pytest.raises(Reject, match=REFUSED):
        asyncio.run(events_of(made))
    assert not ran


def test_a_run_of_the_same_runner_inside_of_its_run_is_one_of_its_own() -> None:
    held, inner = list[Any](), list[Any]()

    class Again(agents.BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            if ctx.user_content.parts[0].text == "milk":
                inner.append(ctx)
            async for event in held[0].run_async(**asked(new_message=content("milk"))):
                yield event

    held.append(runner(Again(name="again")))
    with recorder(refusing_milk("agent.invoke")[0]), pytest.raises(Reject, match=REFUSED):
        asyncio.run(events_of(held[0]))
    assert not inner


def test_runs_at_the_same_time_are_counted_apart() -> None:
    totals, hooks = list[tuple[str | None, int]](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append((op.identity.session_id, op.usage.input_tokens)))
    made = runner(agent(own(Body())))

    async def both() -> None:
        runs = [events_of(made, session_id=name) for name in ("one", "two")]
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
    run, hooks = Runner.run_async, Hooks()
    made = runner(agent(own()))
    bound = made.run_async

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        for way in (bound, partial(run, made)):
            with pytest.raises(Reject, match="not today"):
                asyncio.run(anext(way(**asked())))
