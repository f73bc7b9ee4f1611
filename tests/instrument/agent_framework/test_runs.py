"""Runs of agents: what hooks see of them and make of them, identity, agents of the application's own."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    AGENT_WAYS,
    ASK,
    Message,
    Own,
    agent,
    framework,
    observability,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.overriding import REFUSED, refusing_milk

pytestmark = pytest.mark.anyio


async def test_what_a_hook_sees_of_a_run() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.after("agent.invoke")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.system, op.request.messages[0]["parts"], op.response.text, op.result.text))

    with recorder(hooks) as recorded:
        made = framework.Agent(Own(), "Be brief.", name="helper", id="agent-1")
        await made.run([ASK, Message("user", ["Please."])])
    parts = [{"type": "text", "content": ASK}]
    assert seen == [("helper", "Be brief.", parts, Reply.text, Reply.text)]
    (run,) = [one for one in recorded.spans if (one.attributes or {}).get("spanhook.kind") == "agent.invoke"]
    attributes = run.attributes or {}
    assert (attributes["gen_ai.agent.id"], attributes["gen_ai.provider.name"]) == (
        "agent-1",
        "microsoft.agent_framework",
    )


async def test_whose_run_it_is() -> None:
    seen, hooks = list[Any](), Hooks()
    hooks.before("llm.call")(
        lambda op: seen.append((op.identity.user_id, op.identity.tenant_id, op.identity.session_id))
    )
    with recorder(hooks):
        made = agent(Own())
        session = made.create_session(session_id="session-1")
        await made.run(ASK, session=session, function_invocation_kwargs={"user_id": "ada", "tenant_id": "acme"})
        await made.run(ASK, function_invocation_kwargs={"session_id": "session-2"})
    assert seen == [("ada", "acme", "session-1"), ("", "", "session-2")]


@pytest.mark.parametrize("way", AGENT_WAYS)
async def test_a_rewritten_prompt_arrives(way: str) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("agent.invoke")(lambda op: op.replace(messages=[{"role": "user", "content": "Greet me."}]))
    with recorder(hooks):
        assert await AGENT_WAYS[way](agent(Own(body))) == Reply.text
    assert body.seen == [["Greet me."]]


@pytest.mark.parametrize("way", AGENT_WAYS)
@pytest.mark.parametrize(
    "answer",
    ["tea", [Message("assistant", ["tea"])], framework.AgentResponse(messages=[Message("assistant", ["tea"])])],
)
async def test_what_an_answer_may_be(answer: Any, way: str) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("agent.invoke")(lambda op: op.respond(answer))
    with recorder(hooks):
        assert await AGENT_WAYS[way](agent(Own(body))) == "tea"
    assert body.runs == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_a_subclass_that_asks_for_something_else_is_asked_about_again(stream: bool) -> None:
    class Polite(framework.Agent):
        def run(self, messages: Any = None, **given: Any) -> Any:
            return super().run(f"Please: {messages}", **given)

    body, hooks, asked = Body(), Hooks(), list[Any]()
    hooks.before("agent.invoke")(lambda op: asked.append(op.request.messages[0]["parts"][0]["content"]))
    with recorder(hooks):
        run = Polite(Own(body), name="helper").run(ASK, stream=stream)
        await (run.get_final_response() if stream else run)
    assert (asked, body.seen) == ([ASK, f"Please: {ASK}"], [[f"Please: {ASK}"]])


class Whole(framework.Agent):
    """It streams what it has said as a whole."""

    def run(self, messages: Any = None, *, stream: bool = False, **given: Any) -> Any:
        said = super().run
        if not stream:
            return said(messages, **given)

        async def updates() -> Any:
            for one in (await said(messages, **given)).messages:
                yield framework.AgentResponseUpdate(contents=one.contents, role="assistant")

        return framework.ResponseStream(updates(), finalizer=framework.AgentResponse.from_updates)


class Streaming(framework.Agent):
    """It always streams."""

    def run(self, messages: Any = None, *, stream: bool = False, **given: Any) -> Any:
        made = super().run(messages, stream=True, **given)
        return made if stream else made.get_final_response()


@pytest.mark.parametrize("cls", [Whole, Streaming])
@pytest.mark.parametrize("way", AGENT_WAYS)
async def test_a_subclass_that_runs_its_base_in_another_way_makes_one_run(cls: Any, way: str) -> None:
    body, hooks, asked = Body(), Hooks(), list[Any]()
    hooks.before("agent.invoke")(lambda op: asked.append(op.name))
    with recorder(hooks) as seen:
        await AGENT_WAYS[way](cls(Own(body), name="helper"))
    assert (asked, body.runs) == (["helper"], 1)
    assert sorted(one.name for one in seen.spans) == ["chat own", "invoke_agent helper"]


async def test_layers_over_an_agent_of_ones_own_make_one_run() -> None:
    class Mine(framework.AgentMiddlewareLayer, observability.AgentTelemetryLayer, framework.RawAgent):
        pass

    body, hooks, heard = Body(), Hooks(), list[str]()

    @framework.agent_middleware
    async def listen(context: Any, call_next: Any) -> None:
        heard.append("called")
        await call_next()

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        if op.request.messages[0]["parts"][0]["content"] != ASK:
            raise Reject("not today")

    made = Mine(client=Own(body), name="helper", middleware=[listen])
    with recorder(hooks) as seen:
        await made.run(ASK)
        with pytest.raises(Reject, match="not today"):
            await made.run("Go away.")
    assert (heard, body.runs) == (["called"], 1)
    runs = [one for one in seen.spans if (one.attributes or {}).get("spanhook.kind") == "agent.invoke"]
    assert [(one.attributes or {})["spanhook.status"] for one in runs] == ["success", "rejected"]


async def test_a_coroutine_function_as_a_run() -> None:
    class Asking(framework.BaseAgent):
        async def run(self, messages: Any = None, **_given: Any) -> Any:
            return framework.AgentResponse(messages=[Message("assistant", [str(messages)])])

    hooks, seen = Hooks(), list[str | None]()
    hooks.before("agent.invoke")(lambda op: seen.append(op.name))
    with recorder(hooks):
        assert (await Asking(name="mine").run(ASK)).text == ASK
    assert seen == ["mine"]


async def test_the_session_has_what_it_has_without() -> None:
    async def kept() -> list[str]:
        made = agent(Own())
        session = made.create_session()
        await made.run("one", session=session)
        await made.run("two", session=session, stream=True).get_final_response()
        return [one.text for one in session.state["in_memory"]["messages"]]

    without, hooks = await kept(), Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        assert await kept() == without
    assert without[:3] == ["one", Reply.text, "two"]


async def test_a_stream_that_is_asked_for_by_place_is_one() -> None:
    class Asking(framework.BaseAgent):
        def run(self, messages: Any = None, stream: bool = False, **_given: Any) -> Any:
            async def updates() -> Any:
                yield framework.AgentResponseUpdate(contents=[framework.Content.from_text(messages)])

            made = framework.ResponseStream(updates(), finalizer=framework.AgentResponse.from_updates)
            return made if stream else made.get_final_response()

    hooks, seen = Hooks(), list[str | None]()
    hooks.before("agent.invoke")(lambda op: seen.append(op.name))
    with recorder(hooks):
        assert [one.text async for one in Asking(name="mine").run(ASK, True)] == [ASK]
        assert (await Asking(name="mine").run(ASK, False)).text == ASK
    assert seen == ["mine"] * 2


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_subclass_has_edited_in_place_is_asked_about_again(stream: bool) -> None:
    class Editing(framework.Agent):
        def run(self, messages: Any = None, **given: Any) -> Any:
            messages[0].contents[0].text = "milk"
            return super().run(messages, **given)

    body = Body()
    hooks, asked = refusing_milk("agent.invoke")
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        run = Editing(Own(body), name="helper").run([Message("user", [ASK])], stream=stream)
        await (run.get_final_response() if stream else run)
    assert (asked, body.runs) == ([False, True], 0)
