"""Clients of one's own that override ``get_response``: gated if they answer there, one call if they pass on."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    AGENT_WAYS,
    ASK,
    FOUND,
    Own,
    Plain,
    agent,
    framework,
    messages,
    observability,
    openai_client,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


class Direct(Plain):
    """It answers itself."""

    def get_response(self, messages: Any, *, stream: bool = False, **_given: Any) -> Any:
        return self.answer(messages, stream=stream)


class Below(framework.FunctionInvocationLayer, framework.ChatMiddlewareLayer, observability.ChatTelemetryLayer, Direct):
    """The same below the library's layers."""

    def __init__(self, body: Body | None = None, **given: Any) -> None:
        framework.FunctionInvocationLayer.__init__(self, **given)
        self.script(body)


class Awaited(Plain):
    """It answers itself, and its streams are waited for."""

    async def get_response(self, messages: Any, stream: bool = False, **_given: Any) -> Any:
        made = self.answer(messages, stream=stream)
        return made if stream else await made


class Passing(Own):
    """It passes on what it is asked."""

    def get_response(self, messages: Any, **given: Any) -> Any:
        return super().get_response(messages, **given)


class PassingPlain(Plain):
    """The same without the library's layers."""

    def get_response(self, messages: Any, **given: Any) -> Any:
        return super().get_response(messages, **given)


class PassingTwice(Passing):
    """The same twice."""

    def get_response(self, messages: Any, **given: Any) -> Any:
        return super().get_response(messages, **given)


async def _response(client: Any) -> str:
    return (await client.get_response(messages())).text


async def _stream(client: Any) -> str:
    return "".join([one.text async for one in client.get_response(messages(), stream=True)])


async def _awaited_stream(client: Any) -> str:
    return "".join([one.text async for one in await client.get_response(messages(), True)])


async def _agent(client: Any) -> str:
    return await AGENT_WAYS["run"](agent(client))


async def _streaming_agent(client: Any) -> str:
    return "".join([one.text async for one in agent(client).run(ASK, stream=True)])


WAYS: Any = [_response, _stream, _agent, _streaming_agent]
ONES: Any = [
    *((cls, way) for cls in (Direct, Below, Passing, PassingPlain, PassingTwice) for way in WAYS),
    (Awaited, _response),
    (Awaited, _awaited_stream),
    (Awaited, _agent),
]


def _watching() -> tuple[Hooks, list[str]]:
    hooks, seen = Hooks(), list[str]()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        part = op.request.messages[-1]["parts"][0]
        seen.append(part.get("content") or part.get("response"))

    return hooks, seen


@pytest.mark.parametrize(("cls", "way"), ONES)
async def test_a_call_of_a_model_is_one(cls: Any, way: Any) -> None:
    body = Body()
    hooks, asked = _watching()
    with recorder(hooks) as seen:
        assert await way(cls(body)) == Reply.text
    (call,) = [one for one in seen.operations if one.kind == "llm.call"]
    assert (asked, body.runs, call.usage.total_tokens) == ([ASK], 1, Tokens().total)


@pytest.mark.parametrize(("cls", "way"), ONES)
async def test_a_refused_call_is_not_made(cls: Any, way: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        await way(cls(body))
    assert body.runs == 0


@pytest.mark.parametrize(("cls", "way"), ONES)
async def test_a_rewritten_call(cls: Any, way: Any) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("llm.call")(lambda op: op.replace(messages=[{"role": "user", "content": "Greet me."}]))
    with recorder(hooks):
        await way(cls(body))
    assert body.seen == [["Greet me."]]


@pytest.mark.parametrize(("cls", "way"), ONES)
async def test_an_answered_call(cls: Any, way: Any) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("llm.call")(lambda op: op.respond("from a hook"))
    with recorder(hooks):
        assert await way(cls(body)) == "from a hook"
    assert body.runs == 0


async def test_an_answer_without_options_is_asked_for_without_them() -> None:
    class Bare(Plain):
        def get_response(self, messages: Any) -> Any:
            return self.answer(messages, stream=False)

    body, hooks = Body(), Hooks()
    hooks.before("llm.call")(lambda op: op.replace(messages=[{"role": "user", "content": "Greet me."}]))
    with recorder(hooks):
        assert (await Bare(body).get_response(messages())).text == Reply.text
    assert body.seen == [["Greet me."]]


async def test_a_stream_is_what_it_is_without_hooks() -> None:
    with recorder():
        streamed = Direct().get_response(messages(), stream=True)
        awaited = await Awaited().get_response(messages(), stream=True)
        for one in (streamed, awaited):
            assert isinstance(one, framework.ResponseStream)
            assert (await one.get_final_response()).text == Reply.text


@pytest.mark.parametrize("way", WAYS)
async def test_what_an_override_has_edited_in_place_is_asked_about_again(way: Any) -> None:
    class Editing(Own):
        def get_response(self, messages: Any, **given: Any) -> Any:
            messages[-1].contents[0].text = "Give me the keys."
            return super().get_response(messages, **given)

    body = Body()
    hooks, asked = _watching()
    with recorder(hooks):
        await way(Editing(body))
    assert (asked, body.runs) == ([ASK, "Give me the keys."], 1)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("configured", [False, True])
async def test_what_a_model_says_in_an_override_is_seen_before_its_tools_are_called(
    stream: bool, configured: bool
) -> None:
    body, hooks = Body(), Hooks()
    client = Passing(None, (("look_up", {"query": "tea"}),), "done")
    given: Any = {"options": {"tools": [tool(body)]}}
    if configured:
        given = {}
        client.function_invocation_configuration["additional_tools"] = [tool(body)]

    @hooks.after("llm.call", stream="buffer")
    def refuse(op: Operation) -> None:
        if "function_call" in [part.type for one in op.result.messages for part in one.contents]:
            raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        made = client.get_response(messages(), stream=stream, **given)
        await (made.get_final_response() if stream else made)
    assert body.runs == 0


@pytest.mark.parametrize("way", AGENT_WAYS)
async def test_an_override_around_the_loop_is_a_call_around_its_turns_counted_once(way: str) -> None:
    class Both(Passing):
        def _inner_get_response(self, **given: Any) -> Any:
            return super()._inner_get_response(**given)

    body, totals = Body(), list[int]()
    hooks, asked = _watching()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    client = Both(body, (("look_up", {"query": "tea"}),), "done")
    with recorder(hooks):
        await AGENT_WAYS[way](agent(client, tool(Body())))
    assert (asked, totals) == ([ASK, ASK, FOUND], [2 * Tokens().total])
    assert body.runs == 2


async def test_overrides_of_the_library_are_no_calls() -> None:
    body = Body()
    hooks, asked = _watching()
    with recorder(hooks) as seen:
        await agent(openai_client(body), tool(Body())).run(ASK)
    assert asked == [ASK]
    assert [one.kind for one in seen.operations] == ["llm.call", "agent.invoke"]
