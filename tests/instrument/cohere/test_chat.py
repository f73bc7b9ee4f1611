"""Cohere's chat, version 2 of the API: spans, usage, messages, answers, streams."""

import json
import re
from typing import Any

import pytest
from cohere import AsyncClient, UserChatMessageV2
from inline_snapshot import snapshot

from spanhook import Hook, Hooks, Operation
from spanhook.cli.conformance.libraries.cohere_ways import CHAT, ONCE, later_client
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.cohere_server import CohereServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.settings import Settings
from spanhook.testing import recorder

CARD = re.compile(r"\d{4}-\d{4}")
TEXT = "The card 4111-1111 is mine, and so is 4111-1111."


class Masking(Hook):
    """Masks card numbers as they pass."""

    kinds = ("llm.call",)
    stream = "window"
    window = 12
    fail_mode = "closed"
    timeout = 60.0

    def text(self, op: Operation, text: str) -> str:
        return CARD.sub("[card]", text)

    def after(self, op: Operation) -> None:
        if CARD.search(op.response.text):
            op.respond(CARD.sub("[card]", op.response.text))


def said_in(events: Any) -> str:
    return "".join(one.delta.message.content.text for one in events if one.type == "content-delta")


def test_a_span(client: Any, cohere: CohereServer) -> None:
    cohere.script(Reply(tokens=Tokens(input=1000, output=500, cached=200)))
    with recorder() as seen:
        client.chat(
            **CHAT,
            temperature=0.5,
            p=0.75,
            k=10,
            max_tokens=9,
            seed=7,
            stop_sequences=["x"],
            response_format={"type": "text"},
        )
        [node] = seen.tree()
    assert node["attributes"].pop("server.port") == cohere.port
    node["attributes"].pop("spanhook.cost.usd", None)
    assert node == snapshot(
        {
            "name": "chat command-a-03-2025",
            "status": "UNSET",
            "attributes": {
                "gen_ai.provider.name": "cohere",
                "server.address": "127.0.0.1",
                "gen_ai.request.model": "command-a-03-2025",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.request.seed": 7,
                "gen_ai.request.max_tokens": 9,
                "gen_ai.request.stop_sequences": ("x",),
                "gen_ai.operation.name": "chat",
                "gen_ai.request.top_p": 0.75,
                "gen_ai.request.top_k": 10.0,
                "gen_ai.output.type": "text",
                "spanhook.kind": "llm.call",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
                "gen_ai.response.id": "chat-1",
                "gen_ai.response.finish_reasons": ("COMPLETE",),
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 500,
                "gen_ai.usage.cache_read.input_tokens": 200,
            },
            "events": [],
            "children": [],
        }
    )


def test_usage_of_streams(client: Any, cohere: CohereServer) -> None:
    cohere.script(Reply(tokens=Tokens(input=10, output=5, cached=4)))
    with recorder() as seen:
        list(client.chat_stream(**CHAT))
    (op,) = seen.operations
    assert (op.usage.input_tokens, op.usage.output_tokens, op.usage.cache_read_tokens) == (10, 5, 4)
    assert (op.status, op.usage.estimated) == ("success", False)
    assert (seen.spans[0].attributes or {})["gen_ai.response.finish_reasons"] == ("COMPLETE",)


def test_messages_of_every_form_are_read_and_rewritten(client: Any, cohere: CohereServer) -> None:
    """Models, iterators and parts are shown as they are sent."""
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "rome"}'}}
    messages: list[Any] = [
        UserChatMessageV2(content="hi"),
        {"role": "assistant", "tool_plan": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "user", "content": [{"type": "text", "text": "And 4111-1111?"}]},
    ]
    told: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        told.append(op.request.messages)
        *rest, last = op.request.messages
        part = last["parts"][0]
        op.replace(messages=[*rest, {**last, "parts": [{**part, "content": CARD.sub("[card]", part["content"])}]}])

    with recorder(hooks):
        client.chat(model="m", messages=messages, **ONCE)
    first, second, third, fourth = told[0]
    assert first == {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
    assert second["parts"] == [
        {"type": "reasoning", "content": "I look."},
        {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"city": "rome"}},
    ]
    assert third == {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "sunny"}]}
    assert fourth["parts"] == [{"type": "text", "content": "And 4111-1111?"}]
    sent = cohere.requests[0].body["messages"]
    assert sent[1]["tool_plan"] == "I look."
    assert sent[1]["tool_calls"] == [call]
    assert sent[3] == {"role": "user", "content": [{"type": "text", "text": "And [card]?"}]}


def test_plans_and_results_can_be_rewritten(client: Any, cohere: CohereServer) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        plan, result = op.request.messages
        plan = {**plan, "parts": [{**plan["parts"][0], "content": "Hm."}, plan["parts"][1]]}
        result = {**result, "parts": [{**result["parts"][0], "response": "rain"}]}
        op.replace(messages=[plan, result], system="Be long.")

    with recorder(hooks):
        client.chat(
            model="m",
            messages=[
                {"role": "assistant", "tool_plan": "I look.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            ],
            **ONCE,
        )
    assert cohere.requests[0].body["messages"] == [
        {"role": "system", "content": "Be long."},
        {"role": "assistant", "tool_plan": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]


def test_more_of_the_body_is_shown_and_rewritten(client: Any, cohere: CohereServer) -> None:
    """What is given as ``additional_body_parameters`` comes last, but not after a hook."""
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(model="other"))
    with recorder(hooks) as seen:
        client.chat(
            **{**CHAT, "request_options": {"additional_body_parameters": {"model": "theirs", "beyond": 1}}},
        )
    assert (cohere.requests[0].body["model"], cohere.requests[0].body["beyond"]) == ("other", 1)
    assert [op.model for op in seen.operations] == ["other"]


def test_tool_calls_in_streams(client: Any, cohere: CohereServer) -> None:
    cohere.reply = Reply(calls=(Call("look_up", {"city": "rome"}), Call("pay", {}, id="call_2")))
    told: list[Any] = []
    hooks = Hooks()
    hooks.after("llm.call", stream="buffer", priority=50)(lambda op: told.append(op.response.messages[0]["parts"]))
    with recorder(hooks):
        client.chat(**CHAT)
        list(client.chat_stream(**CHAT))
    parts = [
        {"type": "reasoning", "content": "I will call."},
        {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"city": "rome"}},
        {"type": "tool_call", "id": "call_2", "name": "pay", "arguments": {}},
    ]
    assert told == [parts, parts]


def test_answers(client: Any, cohere: CohereServer) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("closed"))
    with recorder(hooks):
        answer = client.chat(**CHAT)
        assert said_in(client.chat_stream(**CHAT)) == "closed"
    assert (answer.message.content[0].text, answer.finish_reason) == ("closed", "COMPLETE")
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond(answer))
    with recorder(hooks):
        assert client.chat(**CHAT).message.content[0].text == "closed"
    assert cohere.requests == []


def test_answers_that_are_calls(client: Any) -> None:
    parts = [
        {"type": "reasoning", "content": "Hm."},
        {"type": "tool_call", "id": "c", "name": "pay", "arguments": {"n": 1}},
    ]
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond([{"role": "assistant", "parts": parts}]))
    with recorder(hooks):
        message = client.chat(**CHAT).message
        events = list(client.chat_stream(**CHAT))
    assert (message.tool_plan, message.tool_calls[0].function.arguments) == ("Hm.", '{"n": 1}')
    assert [one.type for one in events] == [
        *("message-start", "tool-plan-delta", "tool-call-start", "tool-call-delta", "tool-call-end", "message-end")
    ]


def test_a_window(client: Any, cohere: CohereServer) -> None:
    cohere.reply = Reply(TEXT, pieces=tuple(TEXT))
    with recorder(Hooks(Masking())) as seen:
        assert said_in(client.chat_stream(**CHAT)) == CARD.sub("[card]", TEXT)
    assert seen.operations[0].usage.total_tokens == 28


def test_a_window_onto_arguments(client: Any, cohere: CohereServer) -> None:
    cohere.reply = Reply(calls=(Call("pay", {"card": "4111-1111"}),))
    with recorder(Hooks(Masking())):
        events = list(client.chat_stream(**CHAT))
    told = [json.dumps(one.dict(), default=str) for one in events if one.type == "tool-call-delta"]
    assert any("[card]" in one for one in told)
    assert not any("4111" in one for one in told)


@pytest.mark.skipif(
    not hasattr(AsyncClient, "with_raw_response"), reason="its streams cannot be closed in this version"
)
def test_async_streams_that_are_left(cohere: CohereServer) -> None:
    async def main() -> None:
        client = later_client(cohere.url)
        stream = client.chat_stream(**CHAT)
        await anext(stream)
        await stream.aclose()

    with recorder() as seen:
        run(main())
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("abandoned", True)]


def test_content(client: Any) -> None:
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        client.chat(**CHAT)
        list(client.chat_stream(**CHAT))
    for span in seen.spans:
        assert "Say hello." in str((span.attributes or {})["gen_ai.input.messages"])
        assert "hello there friend" in str((span.attributes or {})["gen_ai.output.messages"])


@pytest.mark.parametrize("stream", [True, False])
def test_odd_usage_is_passed_on(client: Any, cohere: CohereServer, *, stream: bool) -> None:
    cohere.reply = Reply(tokens=Tokens(input="many", output=-1))
    with recorder() as seen:
        list(client.chat_stream(**CHAT)) if stream else client.chat(**CHAT)
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 0)]
