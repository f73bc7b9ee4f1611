"""Runs of agents: their spans and usage, refused and rewritten ones, interrupted, cancelled and unfinished ones."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from agents import Agent, MaxTurnsExceeded, RunConfig, Runner, SQLiteSession, function_tool
from inline_snapshot import snapshot

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_agents_ways import ASK, close_loop
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder
from tests.instrument.openai_agents.scripted import (
    Way,
    both_ways,
    go,
    hanging_up,
    run,
    scripted,
    streamed,
    told,
)


@function_tool
def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


ADDING: Any = ([("add", '{"a": 1, "b": 2}')], "It is 3.")


def spans_of(seen: Recorder) -> list[dict[str, Any]]:
    """The spans, without ports and without events, of which there are none."""
    roots = seen.tree()
    nodes = list(roots)
    for node in nodes:
        nodes += node["children"]
        node["attributes"].pop("server.port", None)
        assert node.pop("events") == []
    return roots


def raw_call(way: Way, agent: Any, **more: Any) -> Any:
    """Run it, and return what is raised."""
    with pytest.raises(Exception) as raised:
        go(way, agent, **more)
    return raised.value


# ------------------------------------------------------------------------------------------------ spans


def test_one_agent_and_its_tool() -> None:
    agent = Agent(name="helper", instructions="Be brief.", model=scripted(None, *ADDING), tools=[add])
    with recorder() as seen:
        assert go(run, agent).final_output == "It is 3."
    assert spans_of(seen) == snapshot(
        [
            {
                "name": "invoke_agent helper",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "openai_agents",
                    "gen_ai.agent.name": "helper",
                    "gen_ai.operation.name": "invoke_agent",
                    "spanhook.kind": "agent.invoke",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "spanhook.usage.input_tokens": 40,
                    "spanhook.usage.output_tokens": 16,
                    "spanhook.llm_calls": 2,
                    "spanhook.tool_calls": 1,
                    "spanhook.cost.usd": 1.56e-05,
                },
                "children": [
                    {
                        "name": "chat gpt-4o-mini",
                        "status": "UNSET",
                        "attributes": {
                            "gen_ai.operation.name": "chat",
                            "server.address": "127.0.0.1",
                            "gen_ai.provider.name": "openai",
                            "gen_ai.request.model": "gpt-4o-mini",
                            "spanhook.kind": "llm.call",
                            "spanhook.status": "success",
                            "spanhook.run.id": "00000000000000000000000000000001",
                            "openai.api.type": "responses",
                            "gen_ai.response.id": "resp_1",
                            "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                            "openai.response.service_tier": "default",
                            "gen_ai.response.finish_reasons": ("tool_calls",),
                            "gen_ai.usage.input_tokens": 20,
                            "gen_ai.usage.output_tokens": 8,
                            "spanhook.cost.usd": 7.8e-06,
                        },
                        "children": [],
                    },
                    {
                        "name": "execute_tool add",
                        "status": "UNSET",
                        "attributes": {
                            "gen_ai.tool.name": "add",
                            "gen_ai.tool.type": "function",
                            "gen_ai.tool.call.id": "call_0_0",
                            "gen_ai.tool.description": "Add numbers.",
                            "gen_ai.operation.name": "execute_tool",
                            "spanhook.kind": "tool.execute",
                            "spanhook.status": "success",
                            "spanhook.run.id": "00000000000000000000000000000001",
                            "gen_ai.agent.name": "helper",
                        },
                        "children": [],
                    },
                    {
                        "name": "chat gpt-4o-mini",
                        "status": "UNSET",
                        "attributes": {
                            "gen_ai.operation.name": "chat",
                            "server.address": "127.0.0.1",
                            "gen_ai.provider.name": "openai",
                            "gen_ai.request.model": "gpt-4o-mini",
                            "spanhook.kind": "llm.call",
                            "spanhook.status": "success",
                            "spanhook.run.id": "00000000000000000000000000000001",
                            "openai.api.type": "responses",
                            "gen_ai.response.id": "resp_1",
                            "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                            "openai.response.service_tier": "default",
                            "gen_ai.response.finish_reasons": ("stop",),
                            "gen_ai.usage.input_tokens": 20,
                            "gen_ai.usage.output_tokens": 8,
                            "spanhook.cost.usd": 7.8e-06,
                        },
                        "children": [],
                    },
                ],
            }
        ]
    )


def test_a_streamed_one_is_told_in_the_same_way() -> None:
    def tree(way: Way) -> Any:
        agent = Agent(name="helper", instructions="Be brief.", model=scripted(None, *ADDING), tools=[add])
        with recorder() as seen:
            go(way, agent)
        roots = spans_of(seen)
        for node in roots[0]["children"]:
            node["attributes"].pop("gen_ai.request.stream", None)
            node["attributes"].pop("gen_ai.response.time_to_first_chunk", None)
            node["attributes"].pop("gen_ai.response.id", None)
        return roots

    assert tree(run) == tree(streamed)


@both_ways
def test_usage_is_what_the_server_reports(way: Way) -> None:
    body = Body()
    agent = Agent(name="helper", model=scripted(body, *ADDING), tools=[add])
    with recorder() as seen:
        go(way, agent)
    *_, whole = seen.operations
    assert body.runs == whole.usage.llm_calls == 2
    assert whole.usage.total_tokens == body.tokens > 0
    assert whole.usage.tool_calls == 1
    measured = sum(value for name, (value, _) in seen.metrics()["gen_ai.client.token.usage"] if "agent" not in name)
    assert measured == body.tokens


# ------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize("scope", ["operation", "run"])
@both_ways
def test_a_refused_one_sends_nothing(way: Way, scope: Any) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope=scope)

    session = SQLiteSession("conversation")
    with recorder(hooks) as seen:
        error = raw_call(way, Agent(name="helper", model=scripted(body)), session=session)
    assert isinstance(error, Reject)
    assert error.reason == "not today"
    assert body.runs == 0
    assert told(seen) == [("agent.invoke", "helper", "rejected")]
    assert asyncio.run(session.get_items()) in ([], [{"role": "user", "content": ASK}])
    session.close()


def test_a_refused_one_without_a_loop() -> None:
    hooks, body = Hooks(), Body()
    raised: list[BaseException] = []

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    def work() -> None:
        try:
            Runner.run_sync(Agent(name="helper", model=scripted(body)), ASK)
        except Reject as error:
            raised.append(error)
        finally:
            close_loop()

    with recorder(hooks):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert [str(error) for error in raised] == ["not today"]
    assert body.runs == 0


@both_ways
def test_a_refused_result_leaves_nothing(way: Way) -> None:
    hooks = Hooks()

    @hooks.after("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    with recorder(hooks) as seen:
        error = raw_call(way, Agent(name="helper", model=scripted(None, "the secret")))
    assert isinstance(error, Reject)
    assert told(seen)[-1] == ("agent.invoke", "helper", "rejected")


@pytest.mark.parametrize("kind", ["llm.call", "tool.execute", "agent.delegate"])
@both_ways
def test_a_refusal_of_the_run_ends_it(way: Way, kind: Any) -> None:
    hooks, body = Hooks(), Body()
    turns: Any = ([("transfer_to_other", "{}")], "no") if kind == "agent.delegate" else ADDING
    other = Agent(name="other", model=scripted(body, "other"))
    agent = Agent(name="helper", model=scripted(body, *turns), tools=[add], handoffs=[other])

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with recorder(hooks) as seen:
        error = raw_call(way, agent)
    assert type(error) is Reject
    assert error.reason == "enough"
    assert body.runs == (0 if kind == "llm.call" else 1)
    assert seen.operations[-1].kind == "agent.invoke"
    assert seen.operations[-1].status == "rejected"


# ------------------------------------------------------------------------------------------------ rewritten


@pytest.mark.parametrize("given", [ASK, [{"role": "user", "content": ASK}]])
@both_ways
def test_rewritten_inputs_are_all_that_is_sent_and_kept(way: Way, given: Any) -> None:
    hooks, body = Hooks(), Body()
    session = SQLiteSession("conversation")

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "Wave."}]}])

    config = RunConfig(session_input_callback=lambda kept, new: [*kept, *new])
    with recorder(hooks):
        result = go(way, Agent(name="helper", model=scripted(body)), given, session=session, run_config=config)
    kept = asyncio.run(session.get_items())
    session.close()
    for place in (body.seen[0].body, result.input, result.to_input_list(), kept):
        assert "Wave." in str(place)
        assert ASK not in str(place)


def test_a_run_cannot_be_answered(caplog: pytest.LogCaptureFixture) -> None:
    hooks, body = Hooks(), Body()

    @hooks.around("agent.invoke")
    async def answer(op: Operation, call: Any) -> Any:
        return "something"

    with recorder(hooks), pytest.raises(Reject):
        go(run, Agent(name="helper", model=scripted(body)))
    assert "a run of an agent cannot be answered" in caplog.text
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ who it is for


@dataclass
class Context:
    user_id: Any
    tenant_id: str = "acme"


@both_ways
@pytest.mark.parametrize("user", ["ann", 7, UUID(int=7)])
def test_identity_is_of_the_context_the_session_and_the_trace(way: Way, user: Any) -> None:
    hooks = Hooks()
    found: list[Any] = []

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        found.append((op.identity.user_id, op.identity.tenant_id, op.identity.session_id, op.identity.agent_id))

    session = SQLiteSession("conversation 7")
    agent: Any = Agent(name="helper", model=scripted())
    with recorder(hooks):
        go(way, agent, context=Context(user), session=session)
        go(way, agent, run_config=RunConfig(trace_metadata={"user_id": "bob"}, group_id="chat 9"))
    session.close()
    assert found == [(str(user), "acme", "conversation 7", "helper"), ("bob", "", "chat 9", "helper")]


# ------------------------------------------------------------------------------------------------ without an end


@both_ways
def test_too_many_turns(way: Way) -> None:
    agent = Agent(name="helper", model=scripted(None, [("add", '{"a": 1, "b": 2}')]), tools=[add])
    with recorder() as seen:
        assert isinstance(raw_call(way, agent, max_turns=1), MaxTurnsExceeded)
    assert told(seen)[-1] == ("agent.invoke", "helper", "error")


@pytest.mark.parametrize("mode", ["immediate", "after_turn"])
def test_cancelled_by_who_reads_it(mode: Any) -> None:
    body = Body()
    agent = Agent(name="helper", model=scripted(body, *ADDING), tools=[add])

    async def leave() -> Any:
        result = Runner.run_streamed(agent, ASK)
        async for event in result.stream_events():
            if event.type == "run_item_stream_event" and event.name in ("tool_called", "tool_output"):
                result.cancel(mode)
        return result

    with recorder() as seen:
        asyncio.run(hanging_up(leave()))
    assert body.runs == 1
    assert told(seen)[-1][::2] == ("agent.invoke", "cancelled" if mode == "immediate" else "abandoned")


def test_cancelled_from_outside() -> None:
    body = Body(hold=threading.Event())

    async def stop() -> None:
        task = asyncio.create_task(run(Agent(name="helper", model=scripted(body))))
        await asyncio.to_thread(body.started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder() as seen:
        asyncio.run(hanging_up(stop()))
        assert body.hold is not None
        body.hold.set()
    assert told(seen) == [("llm.call", "gpt-4o-mini", "cancelled"), ("agent.invoke", "helper", "cancelled")]


# ------------------------------------------------------------------------------------------------ side by side


@both_ways
def test_many_at_once_are_counted_apart(way: Way) -> None:
    bodies = [Body() for _ in range(20)]

    async def together() -> None:
        agents = [
            Agent(name=f"helper {number}", model=scripted(body, *ADDING), tools=[add])
            for number, body in enumerate(bodies)
        ]
        await asyncio.gather(*(way(agent) for agent in agents))

    with recorder() as seen:
        asyncio.run(hanging_up(together()))
    runs = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert sorted(op.name for op in runs) == sorted(f"helper {number}" for number in range(20))
    assert [(op.usage.total_tokens, op.usage.llm_calls, op.usage.tool_calls) for op in runs] == [
        (bodies[0].tokens, 2, 1)
    ] * 20
    for op in seen.operations:
        assert op.parent is None or op.agent == op.parent.agent
