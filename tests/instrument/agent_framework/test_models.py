"""Models: what hooks see of a request and make of it, answers, usage, structured output, what is sent on."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    ASK,
    MODEL_WAYS,
    Message,
    Own,
    Plain,
    agent,
    client_at,
    framework,
    messages,
    openai_client,
    responses_client,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


class City(BaseModel):
    city: str


async def test_what_a_hook_sees_of_a_request() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        request = op.request
        seen.append((op.name, request.system, request.messages, request.tools))

    with recorder(hooks) as recorded:
        made = framework.Agent(Own(), "Be brief.", tools=[tool(Body())], default_options={"temperature": 0.5})
        await made.run(ASK)
    assert seen == [("own", "Be brief.", [{"role": "user", "parts": [{"type": "text", "content": ASK}]}], ["look_up"])]
    (call,) = [one for one in recorded.spans if (one.attributes or {}).get("spanhook.kind") == "llm.call"]
    assert (call.attributes or {})["gen_ai.request.temperature"] == 0.5


async def test_what_a_hook_does_to_what_it_reads_reaches_nobody() -> None:
    asked, hooks = messages(), Hooks()

    @hooks.before("llm.call")
    def spoil(op: Operation) -> None:
        op.request.inputs[0].contents[0].text = "spoiled"
        op.request.messages[0]["parts"][0]["content"] = "spoiled"

    @hooks.after("llm.call")
    def spoil_result(op: Operation) -> None:
        op.result.messages[0].contents[0].text = "spoiled"

    body = Body()
    with recorder(hooks):
        assert (await Own(body).get_response(asked)).text == Reply.text
    assert (body.seen, asked[0].text) == ([[ASK]], ASK)


async def test_a_rewritten_request_arrives_and_the_conversation_stays() -> None:
    body, hooks, given = Body(), Hooks(), list[Any]()

    class Listening(Own):
        def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> Any:
            given.append((options.get("instructions"), options.get("model")))
            return super()._inner_get_response(messages=messages, stream=stream, options=options, **more)

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "content": "Greet me."}], system="Be long.", model="another")

    with recorder(hooks) as seen:
        made = framework.Agent(Listening(body), "Be brief.", name="helper")
        session = made.create_session()
        await made.run(ASK, session=session)
    assert (body.seen, given) == ([["Greet me."]], [("Be long.", "another")])
    kept = [one.text for one in session.state["in_memory"]["messages"]]
    assert kept == [ASK, Reply.text]
    own = [one.name for one in seen.spans if (one.attributes or {}).get("spanhook.kind")]
    assert own == ["chat another", "invoke_agent helper"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_may_call_a_tool(stream: bool) -> None:
    body, looked, hooks, calls = Body(), Body(), Hooks(), list[str]()

    @hooks.around("llm.call")
    def answer(op: Operation) -> Any:
        if not calls:
            calls.append("asked")
            part = {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "tea"}}
            return [{"role": "assistant", "parts": [part]}]
        return (yield)

    with recorder(hooks):
        run = agent(Own(body), tool(looked)).run(ASK, stream=stream)
        result = await (run.get_final_response() if stream else run)
    assert (body.runs, looked.seen, result.text) == (1, ["tea"], Reply.text)


@pytest.mark.parametrize(
    "answer", ["tea", Message("assistant", ["tea"]), framework.ChatResponse(messages=[Message("assistant", ["tea"])])]
)
@pytest.mark.parametrize("way", MODEL_WAYS)
async def test_what_an_answer_may_be(answer: Any, way: str) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("llm.call")(lambda op: op.respond(answer))
    with recorder(hooks):
        assert await MODEL_WAYS[way](Own(body)) == "tea"
    assert body.runs == 0


async def test_an_answer_that_is_none_is_the_hooks_mistake() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("llm.call", name="odd")(lambda op: op.respond(42))
    with recorder(hooks), pytest.raises(Reject, match="odd"):
        await Own(body).get_response(messages())
    assert body.runs == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_the_tokens_of_an_answer_that_was_replaced_are_counted(stream: bool) -> None:
    totals, hooks = list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens))

    @hooks.around("llm.call", stream="buffer")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        run = agent(Own(Body())).run(ASK, stream=stream)
        result = await (run.get_final_response() if stream else run)
    assert (result.text, totals) == ("something else", [Tokens().input])


@pytest.mark.parametrize("stream", [False, True])
async def test_parts_of_usage(stream: bool) -> None:
    hooks, seen = Hooks(), list[Any]()
    body = Body()
    more = {"cache_read_input_token_count": 4, "reasoning_output_token_count": 2}

    class Reporting(Plain):
        async def _response(self, messages: Any) -> Any:
            made = await super()._response(messages)
            made.usage_details.update(more)
            return made

        async def _updates(self, messages: Any) -> AsyncIterator[Any]:
            async for update in super()._updates(messages):
                for content in update.contents:
                    if content.type == "usage":
                        content.usage_details.update(more)
                yield update

    hooks.after("llm.call")(lambda op: seen.append(op.usage))
    with recorder(hooks):
        run = Reporting(body).get_response(messages(), stream=stream)
        await (run.get_final_response() if stream else run)
    (one,) = seen
    assert (one.cache_read_tokens, one.reasoning_tokens, one.total_tokens) == (4, 2, body.tokens)


@pytest.mark.parametrize("stream", [False, True])
async def test_structured_output(stream: bool) -> None:
    hooks, body = Hooks(), Body()
    hooks.before("llm.call")(lambda op: None)
    for changed in (False, True):
        if changed:
            hooks.around("llm.call", stream="buffer")(_reykjavik)
        with recorder(hooks) as seen:
            made = agent(Own(body, '{"city": "Oslo"}'))
            run = made.run(ASK, stream=stream, options={"response_format": City})
            result = await (run.get_final_response() if stream else run)
        assert result.value == City(city="Reykjavik" if changed else "Oslo")
        call = next(one for one in seen.spans if (one.attributes or {}).get("spanhook.kind") == "llm.call")
        assert (call.attributes or {})["gen_ai.output.type"] == "json"


def _reykjavik(op: Operation) -> Any:
    yield
    return '{"city": "Reykjavik"}'


# ------------------------------------------------------------------------------------------------- over HTTP


@pytest.mark.parametrize("client", [openai_client, responses_client])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_request_of_a_client_is_its_transport(client: Any, stream: bool) -> None:
    body, totals, hooks = Body(), list[int](), Hooks()
    hooks.after("llm.call")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        run = client(body).get_response(messages(), stream=stream)
        await (run.get_final_response() if stream else run)
    assert totals == [body.tokens]
    (call,) = [one for one in seen.spans if (one.attributes or {}).get("spanhook.kind")]
    assert (call.attributes or {})["gen_ai.provider.name"] == "openai"


@pytest.mark.parametrize("name", ["OpenAIChatClient", "OpenAIChatCompletionClient"])
@pytest.mark.parametrize("stream", [False, True])
async def test_every_turn_over_http_is_one_call(name: str, stream: bool, server: OpenAIServer) -> None:
    looked, hooks, kinds, totals = Body(), Hooks(), list[str](), list[int]()
    hooks.before("*")(lambda op: kinds.append(op.kind))
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    calls = Call("look_up", {"query": "tea"}, id="call_1"), Call("look_up", {"query": "milk"}, id="call_2")
    server.script(Reply(calls=calls), Reply("done"))
    client = client_at(server.url, name)
    with recorder(hooks):
        made = agent(client, tool(looked))
        run = made.run(ASK, stream=stream)
        result = await (run.get_final_response() if stream else run)
    assert result.text == "done"
    assert sorted(looked.seen) == ["milk", "tea"]
    assert kinds == ["agent.invoke", "llm.call", "tool.execute", "tool.execute", "llm.call"]
    assert totals == [2 * Tokens().total]


async def test_a_call_of_the_same_sdk_inside_of_a_client_is_its_own(server: OpenAIServer) -> None:
    sdk: Any = pytest.importorskip("openai")
    client, hooks, named = sdk.AsyncOpenAI(base_url=server.url, api_key="test"), Hooks(), list[str | None]()
    hooks.before("llm.call")(lambda op: named.append(op.name))

    class Judging(Own):
        async def _response(self, messages: Any) -> Any:
            asked: Any = [{"role": "user", "content": "Is that allowed?"}]
            await client.chat.completions.create(model="judge", messages=asked)
            return await super()._response(messages)

    async with client:
        with recorder(hooks):
            await Judging().get_response(messages())
    assert named == ["own", "judge"]


class Router(Plain):
    """A client that asks others, and says how much they have used together."""

    model = "router"

    def __init__(self, *clients: Any) -> None:
        super().__init__()
        self.clients = clients

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_given: Any) -> Any:
        return self.clients[-1].get_response(messages, stream=True) if stream else self._together(messages)

    async def _together(self, messages: Any) -> Any:
        responses = [await one.get_response(messages) for one in self.clients]
        names = responses[0].usage_details
        total = {name: sum(one.usage_details[name] for one in responses) for name in names}
        return framework.ChatResponse(messages=responses[-1].messages, usage_details=total)


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_router_asks_is_counted_once(stream: bool) -> None:
    body, hooks, totals, named = Body(), Hooks(), list[int](), list[str | None]()
    hooks.before("llm.call")(lambda op: named.append(op.name))
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks):
        run = agent(Router(Own(body), Own(body))).run(ASK, stream=stream)
        await (run.get_final_response() if stream else run)
    assert named == ["router", *["own"] * body.runs]
    assert (totals, body.runs) == ([body.tokens], 1 if stream else 2)
