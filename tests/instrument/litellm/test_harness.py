"""Turns of LiteLLM's harnesses: its own loop, with functions as tools."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.litellm_ways import litellm
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply
from spanhook.testing import recorder
from tests.instrument.litellm.harnesses import ASK, Run, every, whole
from tests.instrument.litellm.parts import nested, told

if not hasattr(litellm, "agent"):
    pytest.skip("this version has no loops, harnesses or A2A", allow_module_level=True)


class Tools:
    """Functions of the application, and what they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def all(self) -> list[Callable[..., Any]]:
        def find(what: str) -> str:
            """Find something."""
            self.asked.append(what)
            return "Found."

        async def seek(what: str) -> str:
            """Seek something."""
            self.asked.append(what)
            return "Sought."

        return [find, seek]


@pytest.fixture(autouse=True)
def script(server: OpenAIServer) -> None:
    """The model asks for a tool first."""
    server.script(Reply(calls=(Call("find", {"what": "tea"}),)), Reply(text="Done."))


def loop(run: Run, given: dict[str, Any], tools: Tools) -> Any:
    return run(litellm.Harness.TOOL_LOOP, {**given, "tools": tools.all})


@every
def test_a_turn_is_an_agent_with_its_models_and_tools(run: Run, given: dict[str, Any]) -> None:
    tools, totals = Tools(), list[Any]()
    hooks = Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append((op.usage.total_tokens, op.response.text)))
    with recorder(hooks) as seen:
        result = loop(run, given, tools)
    assert (result.text, result.stop_reason, result.usage.total_tokens) == ("Done.", "done", 2 * 28)
    assert nested(seen) == [
        ("chat gpt-4o-mini", "invoke_agent tool_loop"),
        ("chat gpt-4o-mini", "invoke_agent tool_loop"),
        ("execute_tool find", "invoke_agent tool_loop"),
        ("invoke_agent tool_loop", ""),
    ]
    assert (tools.asked, totals) == (["tea"], [(2 * 28, "Done.")])


@every
def test_the_model_is_told_of_a_refused_tool(run: Run, given: dict[str, Any], server: OpenAIServer) -> None:
    tools, hooks = Tools(), Hooks()

    @hooks.before("tool.execute", names={"find"})
    def refuse(op: Operation) -> None:
        assert op.request.arguments == {"what": "tea"}
        raise Reject("Not today")

    with recorder(hooks):
        assert loop(run, given, tools).text == "Done."
    assert tools.asked == []
    assert "Not today" in told(server)


@every
def test_a_turn_can_be_refused(run: Run, given: dict[str, Any], server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke", names={"tool_loop"})
    def refuse(op: Operation) -> None:
        assert op.request.inputs == ASK
        raise Reject("Not today")

    with recorder(hooks), pytest.raises(Reject, match="Not today"):
        loop(run, given, Tools())
    assert not server.requests


@every
def test_a_turn_can_be_answered(run: Run, given: dict[str, Any], server: OpenAIServer) -> None:
    hooks = Hooks()
    hooks.before("agent.invoke")(lambda op: op.respond("An answer."))
    with recorder(hooks):
        result = loop(run, given, Tools())
    assert (result.text, result.stop_reason) == ("An answer.", "done")
    assert not server.requests


@every
def test_a_run_that_is_stopped_in_a_tool_ends(run: Run, given: dict[str, Any], server: OpenAIServer) -> None:
    tools, hooks = Tools(), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("Not today", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="Not today"):
        loop(run, given, tools)
    assert (tools.asked, len(server.requests)) == ([], 1)


@every
def test_prompts_and_arguments_can_be_rewritten_and_results_replaced(
    run: Run, given: dict[str, Any], server: OpenAIServer
) -> None:
    tools, hooks = Tools(), Hooks()
    hooks.before("agent.invoke")(lambda op: op.replace(inputs="Say hi."))
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"what": "water"}))
    hooks.after("tool.execute")(lambda op: op.respond("Nothing."))
    with recorder(hooks):
        loop(run, given, tools)
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "Say hi."}]
    assert (tools.asked, told(server)) == (["water"], "Nothing.")


def test_a_refused_model_ends_the_turn_as_an_error_of_the_harness(given: dict[str, Any]) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("Not today")

    with recorder(hooks) as seen:
        result = loop(whole, given, Tools())
    assert result.stop_reason == "runtime_error"
    assert "Not today" in result.text
    assert [op.status for op in seen.operations if op.kind == "agent.invoke"] == ["error"]


def test_an_async_tool_is_gated_too(given: dict[str, Any], server: OpenAIServer) -> None:
    tools = Tools()
    with recorder(Hooks()) as seen:
        loop(whole, given, tools)
        server.script(Reply(calls=(Call("seek", {"what": "tea"}),)), Reply())
        loop(whole, given, tools)
    assert tools.asked == ["tea", "tea"]
    assert [op.name for op in seen.operations if op.kind == "tool.execute"] == ["find", "seek"]


def test_a_stream_that_is_left_is_abandoned_and_one_that_is_cancelled_cancelled(given: dict[str, Any]) -> None:
    async def left() -> None:
        events = litellm.aagent(litellm.Harness.TOOL_LOOP, ASK, stream=True, **given, tools=Tools().all)
        await anext(events)
        await events.aclose()

    async def cancelled() -> Any:
        events = litellm.aagent(litellm.Harness.TOOL_LOOP, ASK, stream=True, **given, tools=Tools().all)
        await anext(events)
        events.cancel()
        return [type(event).__name__ async for event in events][-1]

    with recorder(Hooks()) as seen:
        asyncio.run(left())
        assert asyncio.run(cancelled()) == "Done"
    assert [op.status for op in seen.operations if op.kind == "agent.invoke"] == ["abandoned", "cancelled"]


def test_turns_of_a_session_have_its_id_and_the_ids_that_the_application_gave(given: dict[str, Any]) -> None:
    ids: list[Any] = []
    hooks = Hooks()
    hooks.before("agent.invoke")(
        lambda op: ids.append((op.identity.session_id, op.identity.user_id, op.identity.tenant_id))
    )
    with (
        recorder(hooks),
        litellm.agent_session(
            litellm.Harness.TOOL_LOOP, **given, metadata={"user_id": "ann", "tenant_id": "acme"}
        ) as session,
    ):
        session.run(ASK)
        session.run(ASK)
        assert ids == [(session.session_id, "ann", "acme")] * 2


def test_results_are_the_same_without_spanhook(given: dict[str, Any], server: OpenAIServer) -> None:
    def events() -> list[Any]:
        server.script(Reply(calls=(Call("find", {"what": "tea"}),)), Reply(text="Done."))
        with litellm.agent(litellm.Harness.TOOL_LOOP, ASK, stream=True, **given, tools=Tools().all) as stream:
            return [(type(one), getattr(one, "delta", getattr(one, "output", None))) for one in stream]

    without = events()
    with recorder(Hooks()):
        assert events() == without
    spanhook.uninstrument()
    assert events() == without
