"""What Anthropic's calls look like: whole spans, usage, requests and responses as hooks see them, answers, rewriting."""

import asyncio
import json
from collections import OrderedDict, UserDict, deque
from collections.abc import Iterator
from io import BytesIO
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import anthropic
import genai_prices
import httpx2
import pytest
from anthropic import Anthropic, DefaultHttpxClient
from anthropic.lib.bedrock import AnthropicBedrock
from anthropic.lib.vertex import AnthropicVertex
from anthropic.types import CacheCreation, Message
from inline_snapshot import snapshot

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.anthropic_ways import (
    BATCH,
    MESSAGES,
    MODEL,
    WAYS,
    async_client,
    run_tools,
    sync_client,
)
from spanhook.cli.conformance.libraries.stainless_ways import Way, named
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.instrument.anthropic.apis import server_of
from spanhook.model import Later
from spanhook.testing import Recorder, recorder

USED = Tokens(input=1000, output=500, cached=200, written=300, reasoning=100)


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        yield running


def span_of(seen: Recorder, server: AnthropicServer) -> dict[str, Any]:
    """The one span, with the server's port as a constant."""
    [node] = seen.tree()
    assert node["attributes"].pop("server.port") == server.port
    assert node.pop("children") == []
    return node


# ----------------------------------------------------------------------------------------------- spans


def test_a_message(server: AnthropicServer) -> None:
    server.script(Reply(tokens=USED))
    more: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "stop_sequences": ["a", "b"]}
    shape: dict[str, Any] = {"type": "json_schema", "schema": {"type": "object", "additionalProperties": False}}
    with recorder() as seen, sync_client(server.url) as client:
        client.messages.create(**MESSAGES, extra_body={**more, "output_config": {"format": shape}})
        assert span_of(seen, server) == snapshot(
            {
                "name": "chat claude-haiku-4-5",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "anthropic",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "claude-haiku-4-5",
                    "gen_ai.request.temperature": 0.5,
                    "gen_ai.request.top_p": 0.9,
                    "gen_ai.request.top_k": 40,
                    "gen_ai.request.max_tokens": 64,
                    "gen_ai.request.stop_sequences": ("a", "b"),
                    "gen_ai.operation.name": "chat",
                    "gen_ai.output.type": "json",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.id": "msg_1",
                    "gen_ai.response.model": "claude-haiku-4-5-20251001",
                    "gen_ai.response.finish_reasons": ("end_turn",),
                    "gen_ai.usage.input_tokens": 1000,
                    "gen_ai.usage.output_tokens": 500,
                    "gen_ai.usage.cache_read.input_tokens": 200,
                    "gen_ai.usage.cache_creation.input_tokens": 300,
                    "gen_ai.usage.cache_write.input_tokens": 300,
                    "gen_ai.usage.reasoning.output_tokens": 100,
                    "spanhook.cost.usd": 0.003395,
                },
                "events": [],
            }
        )


def test_a_stream(server: AnthropicServer) -> None:
    server.script(Reply(tokens=USED))
    with recorder() as seen, sync_client(server.url) as client:
        list(client.messages.create(**MESSAGES, stream=True))
        assert span_of(seen, server) == snapshot(
            {
                "name": "chat claude-haiku-4-5",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "anthropic",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "claude-haiku-4-5",
                    "gen_ai.request.stream": True,
                    "gen_ai.request.max_tokens": 64,
                    "gen_ai.operation.name": "chat",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.id": "msg_1",
                    "gen_ai.response.model": "claude-haiku-4-5-20251001",
                    "gen_ai.response.finish_reasons": ("end_turn",),
                    "gen_ai.response.time_to_first_chunk": 0.001,
                    "gen_ai.usage.input_tokens": 1000,
                    "gen_ai.usage.output_tokens": 500,
                    "gen_ai.usage.cache_read.input_tokens": 200,
                    "gen_ai.usage.cache_creation.input_tokens": 300,
                    "gen_ai.usage.cache_write.input_tokens": 300,
                    "gen_ai.usage.reasoning.output_tokens": 100,
                    "spanhook.cost.usd": 0.003395,
                },
                "events": [],
            }
        )


def test_a_batch_is_one_call_with_all_prompts(server: AnthropicServer) -> None:
    hooks = Hooks()
    asked: list[Any] = []

    @hooks.before("llm.call")
    def ask(op: Operation) -> None:
        asked.append((op.request.system, [message["parts"][0]["content"] for message in op.request.messages]))

    with recorder(hooks) as seen, sync_client(server.url) as client:
        client.messages.batches.create(**BATCH)
        client.beta.messages.batches.create(**BATCH)
        assert [op.usage.total_tokens for op in seen.operations] == [0, 0]
    assert asked == [("Be brief.", ["Say one.", "Say two."])] * 2
    attributes = seen.tree()[0]["attributes"]
    told = {key: attributes.get(key) for key in ("gen_ai.operation.name", "gen_ai.request.model", "gen_ai.response.id")}
    assert list(told.values()) == ["batch", MODEL, "msgbatch_1"]


def test_buckets_are_disjoint(server: AnthropicServer) -> None:
    server.reply = Reply(tokens=USED)
    with recorder() as seen, sync_client(server.url) as client:
        client.messages.create(**MESSAGES)
        list(client.messages.create(**MESSAGES, stream=True))
    whole = {"input": 500, "cache_read": 200, "cache_write": 300, "output": 400, "reasoning": 100}
    assert [dict(op.usage.buckets()) for op in seen.operations] == [whole, whole]


def test_compaction_is_counted_too(server: AnthropicServer) -> None:
    entry = {"type": "compaction", "input_tokens": 70, "output_tokens": 7, "cache_read_input_tokens": 30}
    usage = {"input_tokens": 20, "output_tokens": 8, "iterations": [{**entry, "type": "message"}, entry]}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    server.script(Reply(body={**body, "stop_reason": "end_turn", "stop_sequence": None}))
    with recorder() as seen, sync_client(server.url) as client:
        client.beta.messages.create(**MESSAGES)
    [op] = seen.operations
    assert (op.usage.input_tokens, op.usage.output_tokens, op.usage.cache_read_tokens) == (120, 15, 30)


def _answered(usage: Any) -> Reply:
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    return Reply(body={**body, "stop_reason": "end_turn", "stop_sequence": None})


def test_what_an_advisor_uses_is_counted_at_its_own_price(server: AnthropicServer) -> None:
    advisor = {"type": "advisor_message", "model": "claude-opus-4-6", "input_tokens": 1000, "output_tokens": 500}
    own = {"input_tokens": 20, "output_tokens": 8}
    server.script(_answered(own), _answered({**own, "iterations": [{**own, "type": "message"}, advisor]}))
    with recorder() as seen, sync_client(server.url) as client:
        client.beta.messages.create(**MESSAGES)
        client.beta.messages.create(**MESSAGES)
    alone, advised = (op.usage for op in seen.operations)
    assert (advised.input_tokens, advised.output_tokens) == (1020, 508)
    assert (alone.cost_usd, advised.cost_usd) == (0.00006, 0.01756)


def test_writing_to_the_cache_for_an_hour_costs_more(server: AnthropicServer) -> None:
    usage = {"input_tokens": 10, "output_tokens": 20, "cache_creation_input_tokens": 300}
    kept = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}
    server.script(_answered(usage), _answered({**usage, "cache_creation": kept}))
    with recorder() as seen, sync_client(server.url) as client:
        client.messages.create(**MESSAGES)
        client.messages.create(**MESSAGES)
    briefly, longer = (op.usage for op in seen.operations)
    assert [dict(used.buckets()) for used in (briefly, longer)] == [{"input": 10, "cache_write": 300, "output": 20}] * 2
    assert (briefly.cost_usd, longer.cost_usd) == (0.000485, 0.000635 if _prices_hours() else 0.000485)


def _prices_hours() -> bool:
    """Whether these price lists know what it costs to keep something for an hour."""
    try:
        genai_prices.Usage(cache_write_1h_tokens=1)
    except TypeError:
        return False
    return True


def _streamed(*blocks: tuple[dict[str, Any], *tuple[dict[str, Any], ...]]) -> Reply:
    """A stream of content blocks, each with its deltas."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    usage = {"input_tokens": 20, "output_tokens": 1}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "usage": usage}}]
    for index, (block, *deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 8}})
    return Reply(events=(*events, {"type": "message_stop"}))


def test_what_comes_in_a_stream_is_whole_for_hooks(server: AnthropicServer) -> None:
    hooks = Hooks()
    results: list[Any] = []
    hooks.after("llm.call", name="keep")(lambda op: results.append(op.result))
    place = {"type": "char_location", "document_index": 0, "start_char_index": 0, "end_char_index": 1}
    cited = {**place, "cited_text": "q", "document_title": None}
    server.script(
        _streamed(
            (
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": "said"},
                {"type": "citations_delta", "citation": cited},
            ),
            (
                {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}},
                {"type": "input_json_delta", "partial_json": ""},
            ),
            ({"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "short"}),
        )
    )
    with recorder(hooks), sync_client(server.url) as client, client.beta.messages.stream(**MESSAGES) as stream:
        stream.until_done()
    [result] = results
    assert result.content[0].citations[0].cited_text == "q"
    assert result.content[1].input == {}
    assert result.content[2].content == "short"


def test_the_result_of_a_stream_is_made_when_it_is_read_of_what_it_was_at_the_end(server: AnthropicServer) -> None:
    hooks, kept = Hooks(), list[Operation]()
    hooks.after("llm.call", name="keep")(lambda op: kept.append(op))
    reply = _streamed(({"type": "text", "text": ""}, {"type": "text_delta", "text": "said"}))
    assert reply.events is not None
    reply.events[0]["message"]["usage"]["cache_creation"] = {
        "ephemeral_5m_input_tokens": 7,
        "ephemeral_1h_input_tokens": 0,
    }
    server.script(reply)
    with recorder(hooks), sync_client(server.url) as client:
        stream: Any = client.messages.create(**MESSAGES, stream=True)
        for event in stream:
            if event.type == "message_start":
                event.message.id = "overwritten"
                event.message.usage.cache_creation.ephemeral_5m_input_tokens = 0
            elif event.type == "content_block_delta":
                event.delta.text = "overwritten"
    [op] = kept
    assert type(op._record._result) is Later
    assert (op.result.id, op.result.content[0].text, op.response.text) == ("msg_1", "said", "said")
    assert type(op.result) is Message
    assert type(op.result.usage.cache_creation) is CacheCreation
    assert op.result.usage.cache_creation.ephemeral_5m_input_tokens == 7


def test_a_stream_that_is_cut_off_is_estimated(server: AnthropicServer) -> None:
    server.script(Reply(tokens=USED, text="one two three four five", cut=7))
    with recorder() as seen, sync_client(server.url) as client, pytest.raises(httpx2.RemoteProtocolError):
        list(client.messages.create(**MESSAGES, stream=True))
    [op] = seen.operations
    assert (op.usage.input_tokens, op.usage.cache_read_tokens, op.usage.estimated) == (1000, 200, True)
    assert 1 < op.usage.output_tokens < 500


def test_its_own_spans_are_no_operations(server: AnthropicServer) -> None:
    with recorder() as seen:
        options: Any = {"open_telemetry": {"tracer_provider": seen.tracer_provider}} if _traces_itself() else {}
        with sync_client(server.url, **options) as client:
            client.messages.create(**MESSAGES)
    assert [op.kind for op in seen.operations] == ["llm.call"]
    assert len(seen.spans) == (2 if options else 1)


def _traces_itself() -> bool:
    return hasattr(anthropic, "OpenTelemetryOptions") or hasattr(Anthropic, "_otel_platform")


# ----------------------------------------------------------------------------------------------- providers


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://api.anthropic.com", ("anthropic", "api.anthropic.com", 443)),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com", ("aws.bedrock", "bedrock-runtime.eu-west-1.amazonaws.com", 443)),
        ("https://europe-west1-aiplatform.googleapis.com/v1", ("gcp.vertex_ai", "europe-west1-aiplatform.googleapis.com", 443)),
        ("http://localhost:1234", ("anthropic", "localhost", 1234)),
    ],
)  # fmt: skip
def test_providers(url: str, told: Any) -> None:
    client: Any = SimpleNamespace(_base_url=httpx2.URL(url))
    assert server_of(client, "/v1/messages") == told


def test_vertex(server: AnthropicServer) -> None:
    connection = DefaultHttpxClient(verify=False)
    with (
        recorder() as seen,
        AnthropicVertex(
            region="eu", project_id="p", access_token="t", base_url=f"{server.url}/v1", http_client=connection
        ) as client,
    ):
        client.messages.create(**MESSAGES)
        list(client.messages.create(**MESSAGES, stream=True))
    assert [request.path for request in server.requests] == [
        f"/projects/p/locations/eu/publishers/anthropic/models/{MODEL}:{how}" for how in ("rawPredict", "streamRawPredict")
    ]  # fmt: skip
    assert [(op.provider, op.model, op.usage.total_tokens) for op in seen.operations] == [
        ("gcp.vertex_ai", MODEL, 28)
    ] * 2


@pytest.fixture
def bedrock(server: AnthropicServer) -> Iterator[Any]:
    with AnthropicBedrock(
        aws_region="eu-west-1",
        aws_access_key="a",
        aws_secret_key="s",
        base_url=server.url,
        http_client=DefaultHttpxClient(verify=False),
        max_retries=0,
    ) as client:
        yield client


def test_bedrock(server: AnthropicServer, bedrock: Any) -> None:
    with recorder() as seen:
        bedrock.messages.create(**MESSAGES)
    assert [request.path for request in server.requests] == [f"/model/{MODEL}/invoke"]
    assert [(op.provider, op.model, op.usage.total_tokens) for op in seen.operations] == [("aws.bedrock", MODEL, 28)]


def test_streams_of_bedrock_are_answered_and_refused(server: AnthropicServer, bedrock: Any) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        if op.request.system == "no":
            raise Reject("no")
        op.respond("from a hook")

    with recorder(hooks):
        with bedrock.messages.stream(**MESSAGES) as stream:
            assert stream.get_final_text() == "from a hook"
        with pytest.raises(Reject):
            bedrock.messages.create(**{**MESSAGES, "system": "no"}, stream=True)
    assert server.requests == []


# ----------------------------------------------------------------------------------------------- hooks


def test_requests_and_responses_as_hooks_see_them(server: AnthropicServer) -> None:
    hooks = Hooks()
    told: list[Any] = []

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        told.append(op.request)

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        told.append(op.response)

    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"city": "Rome"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}, image]},
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [result]},
    ]
    tools = [{"name": "look_up", "input_schema": {"type": "object"}}]
    system = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    asked: dict[str, Any] = {**MESSAGES, "messages": messages, "tools": tools, "system": system}
    server.script(Reply(calls=(Call("look_up", {"city": "Bonn"}),)))
    with recorder(hooks), sync_client(server.url) as client:
        client.messages.create(**asked)
    request, response = told
    assert request.messages == snapshot(
        [
            {
                "role": "user",
                "parts": [
                    {"type": "text", "content": "Weather?"},
                    {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "eA=="},
                ],
            },
            {
                "role": "assistant",
                "parts": [
                    {"type": "reasoning", "content": "Hm."},
                    {"type": "tool_call", "id": "toolu_1", "name": "look_up", "arguments": {"city": "Rome"}},
                ],
            },
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "toolu_1", "response": "sunny"}]},
        ]
    )
    assert (request.system, request.tools, request.model) == ("Be brief.\nBe kind.", ["look_up"], MODEL)
    assert response.messages == snapshot(
        [
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"city": "Bonn"}}],
                "finish_reason": "tool_use",
            }
        ]
    )


SAID: dict[str, Any] = {"role": "user", "content": "secret"}
PART: dict[str, Any] = {"type": "text", "text": "secret"}


class Own(dict[str, Any]):
    pass


@pytest.mark.parametrize(
    "messages",
    [
        lambda: (SAID,),
        lambda: iter([SAID]),
        lambda: deque([SAID]),
        lambda: {1: SAID}.values(),
        lambda: [OrderedDict(SAID)],
        lambda: [Own(SAID)],
        lambda: [MappingProxyType(SAID)],
        lambda: [UserDict(SAID)],
        lambda: [{**SAID, "content": iter([PART])}],
        lambda: [{**SAID, "content": [OrderedDict(PART)]}],
        lambda: (OrderedDict({**SAID, "content": (part for part in [Own(PART)])}) for _ in "x"),
    ],
)
def test_what_is_asked_may_be_of_any_type_that_the_sdk_takes(messages: Any, server: AnthropicServer) -> None:
    """Hooks see it, it is sent all the same, and is as rewritten."""
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append([part["content"] for message in op.request.messages for part in message["parts"]])
        if op.request.system == "rewrite":
            op.replace(messages=json.loads(json.dumps(op.request.messages).replace("secret", "***")))

    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 64}
    with sync_client(server.url) as client:
        client.messages.create(**asked, messages=messages())
        with recorder(hooks):
            client.messages.create(**asked, messages=messages())
            client.messages.create(**asked, messages=messages(), system="rewrite")
            client.messages.create(**asked, messages=[], extra_body={"messages": messages()})
    assert seen == [["secret"]] * 3
    without, looked_at, rewritten, extra = (request.body["messages"] for request in server.requests)
    assert without == looked_at == extra
    assert rewritten == json.loads(json.dumps(without).replace("secret", "***"))


def test_instructions_tools_and_bodies_of_any_type(server: AnthropicServer) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.before("llm.call", models={MODEL})
    def look(op: Operation) -> None:
        seen.append((op.request.system, op.request.tools, op.request.messages[-1]["parts"][0]["content"]))

    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 64, "messages": [SAID]}
    tool = {"name": "look_up", "input_schema": {"type": "object"}}
    body = json.dumps(asked).encode()
    read_once: dict[str, Any] = {"system": iter([PART]), "tools": (one for one in [OrderedDict(tool)])}
    with recorder(hooks), sync_client(server.url) as client:
        client.messages.create(**asked, **read_once)
        client.post("/v1/messages", content=BytesIO(body), cast_to=object)
        client.post("/v1/messages", content=iter([body[:9], body[9:]]), cast_to=object)
        client.post("/v1/messages", content=cast("Any", body.decode()), cast_to=object)
    assert seen == [("secret", ["look_up"], "secret"), *[("", [], "secret")] * 3]
    assert (server.requests[0].body["system"], server.requests[0].body["tools"]) == ([PART], [tool])
    assert [one.body for one in server.requests[1:]] == [asked] * 3


def look(op: Operation) -> None:
    assert op.request.messages == []


def test_messages_that_fail_on_the_way_fail_as_they_would(server: AnthropicServer) -> None:
    def breaking() -> Iterator[Any]:
        yield SAID
        raise LookupError("no more")

    looked = Hooks()
    looked.before("llm.call")(look)
    for hooks in (Hooks(), looked):
        asked: dict[str, Any] = {**MESSAGES, "messages": breaking()}
        with recorder(hooks), sync_client(server.url) as client, pytest.raises(LookupError, match="no more"):
            client.messages.create(**asked)
    assert server.requests == []


def test_a_tools_result_is_one_whatever_its_role_is_called(server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def shorten(op: Operation) -> None:
        part = {"type": "tool_call_response", "id": "toolu_1", "response": "***"}
        op.replace(messages=[*op.request.messages[:-1], {"role": "tool", "parts": [part]}])

    call = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "secret"}
    turns = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    asked: dict[str, Any] = {**MESSAGES, "messages": [SAID, *turns]}
    with recorder(hooks), sync_client(server.url) as client:
        client.messages.create(**asked)
    assert server.requests[0].body["messages"][-1] == {"role": "user", "content": [{**result, "content": "***"}]}


@pytest.mark.parametrize("way", [way for way in WAYS if way.text != '{"greeting": "hello"}' and "batch" not in way.name], ids=named)  # fmt: skip
def test_every_way_gets_a_hooks_answer(way: Way, server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond("from a hook")

    with recorder(hooks):
        given = way(server.url)
    assert server.requests == []
    if "runner stream" not in way.name:
        assert "from a hook" in str(given) or "from a hook" in _joined(given)


def _joined(given: Any) -> str:
    return "".join(str(given).split())


def test_a_message_of_another_call_is_an_answer(server: AnthropicServer) -> None:
    hooks = Hooks()
    made: list[Message] = []

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        if made:
            op.respond(made[0])

    with recorder(hooks), sync_client(server.url) as client:
        server.script(Reply(calls=(Call("look_up", {"city": "Bonn"}),)))
        made.append(client.messages.create(**MESSAGES))
        assert client.messages.create(**MESSAGES) == made[0]
        with client.messages.stream(**MESSAGES) as stream:
            final = stream.get_final_message()
        assert (final.content, final.stop_reason) == (made[0].content, "tool_use")
    assert len(server.requests) == 1


def test_rewriting(server: AnthropicServer) -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "secret", **cached}, image]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "ok"}]},
        {"role": "user", "content": "secret too"},
    ]  # fmt: skip
    hooks = Hooks()

    @hooks.before("llm.call")
    def redact(op: Operation) -> None:
        said = json.loads(json.dumps(op.request.messages).replace("secret", "***"))
        op.replace(messages=said, system="Be very brief.", model="claude-sonnet-4-6")

    asked: dict[str, Any] = {**MESSAGES, "messages": messages}
    with recorder(hooks), sync_client(server.url) as client:
        client.messages.create(**asked)
    [request] = server.requests
    assert (request.body["system"], request.body["model"]) == ("Be very brief.", "claude-sonnet-4-6")
    assert request.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "***", **cached}, image]},
        messages[1],  # signed thoughts, as they came
        {"role": "user", "content": "*** too"},
    ]


def test_rewriting_a_batch(server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def redact(op: Operation) -> None:
        said = json.loads(json.dumps(op.request.messages).replace("Say", "Whisper"))
        op.replace(messages=said, model="claude-sonnet-4-6")

    with recorder(hooks), sync_client(server.url) as client:
        client.messages.batches.create(**BATCH)
    [request] = server.requests
    sent = [(one["custom_id"], one["params"]["model"], one["params"]["messages"]) for one in request.body["requests"]]
    assert sent == [
        (name, "claude-sonnet-4-6", [{"role": "user", "content": f"Whisper {name}."}]) for name in ("one", "two")
    ]


def test_a_batch_is_answered_with_a_batch_alone(server: AnthropicServer) -> None:
    hooks = Hooks()
    given: list[Any] = [{"id": "msgbatch_0", "type": "message_batch"}, "text"]

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond(given.pop(0))

    with recorder(hooks), sync_client(server.url) as client:
        assert client.messages.batches.create(**BATCH).id == "msgbatch_0"
        with pytest.raises(Reject, match="hook 'answer' failed"):
            client.messages.batches.create(**BATCH)
    assert server.requests == []


@pytest.mark.parametrize(("priority", "given"), [(60, ""), (500, "hello there friend")])
def test_what_cannot_be_put_in_place_of_an_answer_withholds_it_if_its_hook_fails_closed(
    priority: int, given: str, server: AnthropicServer
) -> None:
    hooks = Hooks()
    hooks.after("llm.call", name="redact", priority=priority)(lambda op: op.respond(5))
    with recorder(hooks) as seen, sync_client(server.url) as client:
        try:
            said = client.messages.create(**MESSAGES).content[0].to_dict()["text"]
        except Reject as refusal:
            said, status = "", refusal.status_code
            assert status == 500
    assert said == given
    assert [one.decision for one in seen.operations[0].decisions] == ["error"]


def test_tools_of_the_runner_run_between_gated_calls(server: AnthropicServer) -> None:
    hooks = Hooks()
    turns: list[str] = []

    @hooks.before("llm.call")
    def second(op: Operation) -> None:
        turns.append(op.request.messages[-1]["parts"][-1]["type"])
        if len(turns) == 2:
            raise Reject("enough")

    server.reply = Reply(calls=(Call("look_up", {"city": "Rome"}),))
    with recorder(hooks), sync_client(server.url) as client, pytest.raises(Reject):
        run_tools(client)
    assert (turns, len(server.requests)) == (["text", "tool_call_response"], 1)


def test_methods_that_were_taken_before_are_gated(server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    async def later() -> None:
        async with async_client(server.url) as client:
            create = client.messages.create
            with recorder(hooks), pytest.raises(Reject):
                await create(**MESSAGES)

    with sync_client(server.url) as client:
        create, stream = client.messages.create, client.beta.messages.stream
        with recorder(hooks):
            with pytest.raises(Reject):
                create(**MESSAGES)
            with pytest.raises(Reject), stream(**MESSAGES):
                pass
    asyncio.run(later())
    assert server.requests == []


def test_errors_are_the_sdks_own(server: AnthropicServer) -> None:
    server.reply = Reply(status=529)
    with recorder() as seen, sync_client(server.url) as client, pytest.raises(anthropic.APIStatusError):
        client.messages.create(**MESSAGES)
    [node] = seen.tree()
    assert node["attributes"]["error.type"] == "anthropic.OverloadedError"


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_the_application_sees_no_difference(way: Way, server: AnthropicServer) -> None:
    server.reply = Reply(text=way.text, tokens=USED)

    def outcome() -> Any:
        try:
            return way(server.url)
        except AttributeError as error:  # of what this version lacks
            return str(error)

    plain = outcome()
    with recorder() as seen:
        assert outcome() == plain
    assert len(seen.operations) == (0 if isinstance(plain, str) else 1)
