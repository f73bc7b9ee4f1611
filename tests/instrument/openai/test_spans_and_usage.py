"""What OpenAI's calls look like: whole spans, usage, providers, requests and responses as hooks see them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot
from openai import AzureOpenAI, OpenAI
from openai.types.responses import Response

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.openai_ways import (
    CHAT,
    EMBEDDINGS,
    RESPONSES,
    TEXT,
    WAYS,
    Answer,
    Way,
    named,
    sync_client,
)
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply, Tokens
from spanhook.instrument.openai.transport import server_of
from spanhook.instrument.wire import estimate
from spanhook.testing import Recorder, recorder
from tests.thinning import a_fifth


def span_of(seen: Recorder, server: OpenAIServer) -> dict[str, Any]:
    """The one span, with the server's port as a constant."""
    [node] = seen.tree()
    assert node["attributes"].pop("server.port") == server.port
    assert node.pop("children") == []
    return node


def test_a_chat_completion(server: OpenAIServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500, cached=200, reasoning=100)))
    more: dict[str, Any] = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_completion_tokens": 100,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "seed": 7,
        "n": 2,
        "stop": ["a", "b"],
        "service_tier": "flex",
        "response_format": {"type": "json_object"},
    }
    with recorder() as seen, sync_client(server.url) as client:
        client.chat.completions.create(**CHAT, **more)
        assert span_of(seen, server) == snapshot(
            {
                "name": "chat gpt-4o-mini",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.request.temperature": 0.5,
                    "gen_ai.request.top_p": 0.9,
                    "gen_ai.request.frequency_penalty": 0.1,
                    "gen_ai.request.presence_penalty": 0.2,
                    "gen_ai.request.seed": 7,
                    "gen_ai.request.max_tokens": 100,
                    "gen_ai.request.choice.count": 2,
                    "gen_ai.request.stop_sequences": ("a", "b"),
                    "openai.request.service_tier": "flex",
                    "gen_ai.operation.name": "chat",
                    "openai.api.type": "chat_completions",
                    "gen_ai.output.type": "json",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.id": "chatcmpl-1",
                    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                    "openai.response.service_tier": "default",
                    "openai.response.system_fingerprint": "fp_1",
                    "gen_ai.response.finish_reasons": ("stop", "stop"),
                    "gen_ai.usage.input_tokens": 1000,
                    "gen_ai.usage.output_tokens": 500,
                    "gen_ai.usage.cache_read.input_tokens": 200,
                    "gen_ai.usage.reasoning.output_tokens": 100,
                    "spanhook.cost.usd": 0.000435,
                },
                "events": [],
            }
        )


def test_a_chat_completions_stream(server: OpenAIServer) -> None:
    server.script(Reply(tokens=Tokens(cached=4)))
    with recorder() as seen, sync_client(server.url) as client:
        list(client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}))
        assert span_of(seen, server) == snapshot(
            {
                "name": "chat gpt-4o-mini",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.request.stream": True,
                    "gen_ai.operation.name": "chat",
                    "openai.api.type": "chat_completions",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.id": "chatcmpl-1",
                    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                    "openai.response.service_tier": "default",
                    "openai.response.system_fingerprint": "fp_1",
                    "gen_ai.response.finish_reasons": ("stop",),
                    "gen_ai.response.time_to_first_chunk": 0.001,
                    "gen_ai.usage.input_tokens": 20,
                    "gen_ai.usage.output_tokens": 8,
                    "gen_ai.usage.cache_read.input_tokens": 4,
                    "spanhook.cost.usd": 7.5e-06,
                },
                "events": [],
            }
        )


def test_a_response(server: OpenAIServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500, cached=200, written=50, reasoning=100)))
    with recorder() as seen, sync_client(server.url) as client:
        client.responses.create(
            **RESPONSES,
            max_output_tokens=100,
            temperature=0.5,
            conversation="conv_1",
            text={"format": {"type": "json_object"}},
        )
        assert span_of(seen, server) == snapshot(
            {
                "name": "chat gpt-4o-mini",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.request.temperature": 0.5,
                    "gen_ai.request.max_tokens": 100,
                    "gen_ai.operation.name": "chat",
                    "openai.api.type": "responses",
                    "gen_ai.output.type": "json",
                    "gen_ai.conversation.id": "conv_1",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.id": "resp_1",
                    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                    "openai.response.service_tier": "default",
                    "gen_ai.response.finish_reasons": ("stop",),
                    "gen_ai.usage.input_tokens": 1000,
                    "gen_ai.usage.output_tokens": 500,
                    "gen_ai.usage.cache_read.input_tokens": 200,
                    "gen_ai.usage.cache_creation.input_tokens": 50,
                    "gen_ai.usage.cache_write.input_tokens": 50,
                    "gen_ai.usage.reasoning.output_tokens": 100,
                    "spanhook.cost.usd": 0.000435,
                },
                "events": [],
            }
        )


def test_a_responses_stream(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client(server.url) as client:
        list(client.responses.create(**RESPONSES, stream=True))
        assert span_of(seen, server) == snapshot(
            {
                "name": "chat gpt-4o-mini",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.request.stream": True,
                    "gen_ai.operation.name": "chat",
                    "openai.api.type": "responses",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.id": "resp_1",
                    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                    "openai.response.service_tier": "default",
                    "gen_ai.response.finish_reasons": ("stop",),
                    "gen_ai.response.time_to_first_chunk": 0.001,
                    "gen_ai.usage.input_tokens": 20,
                    "gen_ai.usage.output_tokens": 8,
                    "spanhook.cost.usd": 7.8e-06,
                },
                "events": [],
            }
        )


def test_embeddings(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client(server.url) as client:
        client.embeddings.create(**EMBEDDINGS, dimensions=4)
        assert span_of(seen, server) == snapshot(
            {
                "name": "embeddings text-embedding-3-small",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "text-embedding-3-small",
                    "gen_ai.operation.name": "embeddings",
                    "gen_ai.embeddings.dimension.count": 4,
                    "gen_ai.request.encoding_formats": ("base64",),
                    "spanhook.kind": "embeddings.create",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.model": "text-embedding-3-small",
                    "gen_ai.usage.input_tokens": 20,
                    "spanhook.cost.usd": 4e-07,
                },
                "events": [],
            }
        )


def test_a_text_completion(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client(server.url) as client:
        client.completions.create(**TEXT, max_tokens=5, stop="x")
        assert span_of(seen, server) == snapshot(
            {
                "name": "text_completion gpt-3.5-turbo-instruct",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "gpt-3.5-turbo-instruct",
                    "gen_ai.request.max_tokens": 5,
                    "gen_ai.request.stop_sequences": ("x",),
                    "gen_ai.operation.name": "text_completion",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.id": "cmpl-1",
                    "gen_ai.response.model": "gpt-3.5-turbo-instruct",
                    "gen_ai.response.finish_reasons": ("stop",),
                    "gen_ai.usage.input_tokens": 20,
                    "gen_ai.usage.output_tokens": 8,
                    "spanhook.cost.usd": 4.6e-05,
                },
                "events": [],
            }
        )


def test_a_refused_one(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("too dear", status_code=402)

    with recorder(hooks) as seen, sync_client(server.url) as client:
        with pytest.raises(Reject, match="too dear"):
            client.chat.completions.create(**CHAT)
        assert span_of(seen, server) == snapshot(
            {
                "name": "chat gpt-4o-mini",
                "status": "ERROR",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.operation.name": "chat",
                    "openai.api.type": "chat_completions",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "rejected",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "spanhook.coverage": "enforced",
                    "spanhook.decision": "reject",
                    "spanhook.decision.hook": "refuse",
                    "spanhook.decision.reason": "too dear",
                    "error.type": "spanhook.Reject",
                },
                "events": [
                    {
                        "name": "spanhook.decision",
                        "spanhook.hook": "refuse",
                        "spanhook.event": "llm.call.pre",
                        "spanhook.decision": "reject",
                        "spanhook.decision.reason": "too dear",
                        "spanhook.fail_mode": "closed",
                        "spanhook.hook.elapsed": 0.001,
                        "spanhook.status_code": 402,
                    }
                ],
            }
        )


def test_a_failed_one(server: OpenAIServer) -> None:
    server.script(Reply(status=429))
    with recorder() as seen, sync_client(server.url) as client:
        with pytest.raises(Exception, match="Rate limit"):
            client.chat.completions.create(**CHAT)
        node = span_of(seen, server)
        [event] = node.pop("events")
        assert event["exception.type"] == "openai.RateLimitError"
        assert node == snapshot(
            {
                "name": "chat gpt-4o-mini",
                "status": "ERROR",
                "attributes": {
                    "gen_ai.provider.name": "openai",
                    "server.address": "127.0.0.1",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.operation.name": "chat",
                    "openai.api.type": "chat_completions",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "error",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "error.type": "openai.RateLimitError",
                },
            }
        )


def test_content_where_it_is_asked_for(server: OpenAIServer) -> None:
    server.script(Reply(calls=(Call("look_up", {"query": "x"}),)), Reply())
    tools: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen, sync_client(server.url) as client:
        client.chat.completions.create(**CHAT, tools=tools)
        list(client.responses.create(**RESPONSES, stream=True))
        found = [
            {key: value for key, value in node["attributes"].items() if "messages" in key or "instructions" in key}
            for node in seen.tree()
        ]
        assert found == snapshot(
            [
                {
                    "gen_ai.input.messages": '[{"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}, {"role": "user", "parts": [{"type": "text", "content": "Say hello."}]}]',
                    "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "x"}}], "finish_reason": "tool_calls"}]',
                },
                {
                    "gen_ai.system_instructions": '[{"type": "text", "content": "Be brief."}]',
                    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Say hello."}]}]',
                    "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "hello there friend"}], "finish_reason": "stop"}]',
                },
            ]
        )


# ----------------------------------------------------------------------------------------------- usage


def used(op: Operation) -> tuple[int, int, int, int, int]:
    one = op.usage
    return (
        one.input_tokens,
        one.output_tokens,
        one.cache_read_tokens,
        one.cache_write_tokens,
        one.reasoning_tokens,
    )


REPORTED = [way for way in WAYS if not way.streamed or "responses" in way.name]
SILENT = [way for way in WAYS if way not in REPORTED]


@pytest.mark.parametrize("way", a_fifth(REPORTED), ids=named)
def test_usage_is_what_was_reported(way: Way, server: OpenAIServer) -> None:
    server.script(Reply(way.text, tokens=Tokens(input=1000, output=500, cached=200, reasoning=100)))
    with recorder() as seen:
        way(server.url)
    [op] = seen.operations
    assert op.status == "success"
    assert used(op) == ((1000, 0, 0, 0, 0) if way.kind == "embeddings.create" else (1000, 500, 200, 0, 100))
    assert not op.usage.estimated
    assert len(op.usage_by_model) == 1


@pytest.mark.parametrize("way", SILENT, ids=named)
def test_usage_of_a_silent_stream_is_estimated(way: Way, server: OpenAIServer) -> None:
    server.script(way.text)
    with recorder() as seen:
        way(server.url)
        [op] = seen.operations
        [span] = seen.spans
    assert op.status == "success"
    assert op.usage.estimated
    assert used(op)[:2] == (3 if "text" in way.name else 5, -(-len(way.text) // 4))
    assert (span.attributes or {})["spanhook.usage.estimated"] is True


@pytest.mark.parametrize("way", SILENT, ids=named)
def test_usage_of_a_stream_that_reports_unasked(way: Way, server: OpenAIServer) -> None:
    server.script(Reply(way.text, usage="always", tokens=Tokens(input=1000, output=500, cached=200)))
    with recorder() as seen:
        way(server.url)
    [op] = seen.operations
    assert op.status == "success"
    assert used(op) == (1000, 500, 200, 0, 0)
    assert not op.usage.estimated


# Whoever reads the bytes of a stream's response sees the chunk that was asked for.
@pytest.mark.every_value
@pytest.mark.parametrize("way", [way for way in SILENT if "stream response" not in way.name], ids=named)
def test_usage_is_asked_for_where_the_settings_allow_it(way: Way, server: OpenAIServer) -> None:
    server.script(way.text, way.text)
    expected = way(server.url)
    with recorder(settings=Settings(stream_usage=True)) as seen:
        assert way(server.url) == expected
    [op] = seen.operations
    asked = server.requests[1].body.get("stream_options")
    if way.raw:  # nothing of a raw response can be hidden
        assert asked is None
        assert op.usage.estimated
    else:
        assert asked == {"include_usage": True}
        assert used(op)[:2] == (20, 8)
        assert not op.usage.estimated


@pytest.mark.parametrize("options", [{"include_usage": True}, {"include_usage": False}])
def test_what_the_application_asked_stays(options: Any, server: OpenAIServer) -> None:
    with recorder(settings=Settings(stream_usage=True)) as seen, sync_client(server.url) as client:
        chunks = list(client.chat.completions.create(**CHAT, stream=True, stream_options=options))
    assert server.requests[0].body["stream_options"] == options
    assert len(chunks) == 5 + options["include_usage"]
    assert seen.operations[0].usage.estimated is not options["include_usage"]


def test_asking_leaves_the_callers_objects_alone(server: OpenAIServer) -> None:
    options: Any = {"include_obfuscation": False}
    with recorder(settings=Settings(stream_usage=True)), sync_client(server.url) as client:
        list(client.chat.completions.create(**CHAT, stream=True, stream_options=options, extra_body={"x": 1}))
    assert options == {"include_obfuscation": False}
    assert server.requests[0].body["stream_options"] == {"include_obfuscation": False, "include_usage": True}
    assert server.requests[0].body["x"] == 1


def test_what_the_provider_says_it_cost(server: OpenAIServer) -> None:
    server.script(Reply(tokens=Tokens(cost=0.0123)), Reply(tokens=Tokens(cost=0.002), usage="always"))
    with recorder() as seen, sync_client(server.url) as client:
        client.chat.completions.create(model="some/model", messages=CHAT["messages"])
        list(client.chat.completions.create(model="some/model", messages=CHAT["messages"], stream=True))
    assert [op.usage.cost_nano for op in seen.operations] == [12_300_000, 2_000_000]
    assert {op.usage.cost_source for op in seen.operations} == {"provider"}


def test_reasoning_that_a_provider_counts_apart(server: OpenAIServer) -> None:
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "grok-4",
        "choices": [],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 35,
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
    }
    server.script(Reply(body=body))
    with recorder() as seen, sync_client(server.url) as client:
        client.chat.completions.create(**CHAT)
    assert used(seen.operations[0]) == (10, 25, 0, 0, 20)


@pytest.mark.every_value
@pytest.mark.parametrize("way", [way for way in WAYS if way.name.endswith(" parse")], ids=named)
def test_usage_of_an_answer_that_cannot_be_parsed(way: Way, server: OpenAIServer) -> None:
    server.script(Reply("no JSON", tokens=Tokens(input=1000, output=500, cached=200)))
    with recorder() as seen, pytest.raises(ValueError, match="JSON"):
        way(server.url)
    [op] = seen.operations
    assert op.status == ("success" if way.raw else "error")
    assert used(op) == (1000, 500, 200, 0, 0)
    assert list(op.usage_by_model) == ["gpt-4o-mini-2024-07-18"]


def test_a_bare_answer_is_no_error(server: OpenAIServer) -> None:
    server.script(Reply(body={}), Reply(body={"usage": None, "choices": None}), Reply(body={"output": None}))
    with recorder() as seen, sync_client(server.url) as client:
        client.chat.completions.create(**CHAT)
        client.chat.completions.create(**CHAT)
        client.responses.create(**RESPONSES)
    assert [op.status for op in seen.operations] == ["success"] * 3
    assert [op.usage.total_tokens for op in seen.operations] == [0, 0, 0]


def test_estimates_leave_out_what_is_no_text() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
    content = [{"type": "text", "text": "x" * 40}, picture]
    call = {"id": "call_1", "type": "function", "function": {"name": "abcd", "arguments": "x" * 36}}
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    tools = [{"type": "function", "function": {"name": "abcd"}}]
    assert estimate({"messages": messages}, 0).input_tokens == 20
    assert estimate({"messages": messages, "tools": tools}, 0).input_tokens == 20 + 7
    assert estimate({"prompt": [1, 2, 3]}, 9).total_tokens == 6
    assert estimate({"input": "x" * 8, "instructions": "x" * 4}, 0).input_tokens == 3


def test_usage_of_tool_calls_in_a_stream(server: OpenAIServer) -> None:
    arguments = {"query": "x" * 100}
    server.script(Reply(calls=(Call("look_up", arguments), Call("look_up", arguments, id="call_2"))))
    with recorder() as seen, sync_client(server.url) as client:
        list(client.chat.completions.create(**CHAT, stream=True))
    characters = 2 * (len("look_up") + len('{"query": ""}') + 100)
    assert seen.operations[0].usage.output_tokens == -(-characters // 4)


# ----------------------------------------------------------------------------------------------- providers

HOSTS = {
    "https://api.openai.com/v1": ("openai", "api.openai.com", 443),
    "https://eu.api.openai.com/v1": ("openai", "eu.api.openai.com", 443),
    "http://localhost:8080/v1": ("openai", "localhost", 8080),
    "https://openrouter.ai/api/v1": ("openai", "openrouter.ai", 443),
    "https://mine.openai.azure.com/openai/v1/": ("azure.ai.openai", "mine.openai.azure.com", 443),
    "https://mine.services.ai.azure.com/models": ("azure.ai.openai", "mine.services.ai.azure.com", 443),
    "https://mine.cognitiveservices.azure.com/": ("azure.ai.openai", "mine.cognitiveservices.azure.com", 443),
    "https://models.inference.ai.azure.com": ("azure.ai.inference", "models.inference.ai.azure.com", 443),
    "https://api.deepseek.com": ("deepseek", "api.deepseek.com", 443),
    "https://api.groq.com/openai/v1": ("groq", "api.groq.com", 443),
    "https://api.x.ai/v1": ("x_ai", "api.x.ai", 443),
    "https://notx.ai/v1": ("openai", "notx.ai", 443),
    "https://api.mistral.ai/v1": ("mistral_ai", "api.mistral.ai", 443),
    "https://api.perplexity.ai": ("perplexity", "api.perplexity.ai", 443),
    "https://generativelanguage.googleapis.com/v1beta/openai/": (
        "gcp.gemini",
        "generativelanguage.googleapis.com",
        443,
    ),
    "https://europe-west4-aiplatform.googleapis.com/v1": (
        "gcp.vertex_ai",
        "europe-west4-aiplatform.googleapis.com",
        443,
    ),
    "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1": (
        "aws.bedrock",
        "bedrock-runtime.us-east-1.amazonaws.com",
        443,
    ),
    "https://bedrock-mantle.us-east-1.api.aws/openai/v1": ("aws.bedrock", "bedrock-mantle.us-east-1.api.aws", 443),
    "https://api.anthropic.com/v1/": ("anthropic", "api.anthropic.com", 443),
    "https://api.cohere.ai/compatibility/v1": ("cohere", "api.cohere.ai", 443),
}


@pytest.mark.parametrize("url", HOSTS)
def test_providers(url: str) -> None:
    client = SimpleNamespace(_base_url=httpx.URL(url))
    assert server_of(client, "/chat/completions") == HOSTS[url]
    assert server_of(client, "https://api.groq.com/v1/chat/completions")[0] == "groq"


def test_azure(server: OpenAIServer) -> None:
    with (
        recorder() as seen,
        AzureOpenAI(azure_endpoint=server.origin, api_key="test", api_version="2025-03-01-preview") as client,
    ):
        client.chat.completions.create(**CHAT)
        client.embeddings.create(**EMBEDDINGS)
        client.responses.create(**RESPONSES)
        for span in seen.spans:
            assert span.attributes is not None
            assert span.attributes["gen_ai.provider.name"] == "azure.ai.openai"
            assert (span.attributes["server.address"], span.attributes["server.port"]) == ("127.0.0.1", server.port)
    assert [request.path.partition("?")[0] for request in server.requests] == [
        "/openai/deployments/gpt-4o-mini/chat/completions",
        "/openai/deployments/text-embedding-3-small/embeddings",
        "/openai/responses",
    ]


def test_names_of_openais_own_are_for_openai(server: OpenAIServer) -> None:
    """Those who speak its protocol report a service tier and a fingerprint too, which are not OpenAI's."""
    transport = httpx_of(OpenAI).HTTPTransport(verify=False)

    class Redirected(type(transport)):  # pyright: ignore[reportUntypedBaseClass]
        """Takes requests for whichever host to the server on loopback."""

        def handle_request(self, request: Any) -> Any:
            request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=server.port)
            return super().handle_request(request)

    def use(url: str) -> list[set[str]]:
        library = httpx_of(OpenAI)
        server.script(*[Reply(tokens=Tokens(input=30))] * 8)
        with (
            library.Client(transport=Redirected(verify=False)) as http,
            recorder() as seen,
            OpenAI(base_url=url, api_key="test", http_client=http, max_retries=0) as client,
        ):
            client.chat.completions.create(**CHAT, service_tier="flex")
            client.chat.completions.with_raw_response.create(**CHAT)
            list(client.chat.completions.create(**CHAT, stream=True))
            with client.chat.completions.with_streaming_response.create(**CHAT, stream=True) as response:
                list(response.iter_lines())
            client.responses.create(**RESPONSES)
            list(client.responses.create(**RESPONSES, stream=True))
            client.embeddings.create(**EMBEDDINGS)
            client.completions.create(**TEXT)
            server.script("no JSON")
            with pytest.raises(ValueError, match="JSON"):
                client.chat.completions.parse(**CHAT, response_format=Answer)
            spans: list[dict[str, Any]] = [dict(span.attributes or {}) for span in seen.spans]
        assert [op.status for op in seen.operations] == ["success"] * 8 + ["error"]
        assert [op.usage.input_tokens for op in seen.operations if not op.usage.estimated] == [30] * 6 + [20]
        assert len({attributes["gen_ai.provider.name"] for attributes in spans}) == 1
        return [{name for name in attributes if name.startswith("openai.")} for attributes in spans]

    told = {"openai.api.type", "openai.response.service_tier", "openai.response.system_fingerprint"}
    for url in ("https://api.openai.com/v1", "https://mine.openai.azure.com/openai/v1"):
        names = use(url)
        assert names[0] == told | {"openai.request.service_tier"}
        assert names[1] == names[2] == names[3] == names[8] == told
        assert names[4] == names[5] == {"openai.api.type", "openai.response.service_tier"}
    for url in ("https://api.groq.com/v1", "https://api.deepseek.com/v1", "https://models.inference.ai.azure.com/v1"):
        assert use(url) == [set()] * 9


def httpx_of(client: type[OpenAI]) -> Any:
    """The HTTP library under the SDK: httpx, or httpx2 from version 3 on."""
    import importlib
    import inspect

    http = inspect.signature(client).parameters["http_client"].annotation
    return importlib.import_module("httpx2" if "httpx2" in str(http) else "httpx")


def test_a_base_url_that_changes(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client("http://127.0.0.1:1/v1") as client:
        client.base_url = server.url
        client.chat.completions.create(**CHAT)
    assert seen.operations[0]._record.attributes["server.port"] == server.port


# ----------------------------------------------------------------------------------------------- one operation


def test_retries_are_one_operation(server: OpenAIServer) -> None:
    retry_at_once = {"retry-after-ms": "1"}
    server.script(Reply(status=500, headers=retry_at_once), Reply(status=429, headers=retry_at_once), Reply())
    with recorder() as seen, sync_client(server.url, max_retries=2) as client:
        client.chat.completions.create(**CHAT)
    assert len(server.requests) == 3
    assert [(op.status, used(op)[:2]) for op in seen.operations] == [("success", (20, 8))]


def test_async_hooks_and_a_hooks_own_call(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    async def judge(op: Operation) -> None:
        with sync_client(server.url) as client:
            await asyncio.to_thread(client.chat.completions.create, **CHAT)

    with recorder(hooks) as seen, sync_client(server.url) as client:
        client.responses.create(**RESPONSES)
    assert [(op.in_hook, op.status) for op in seen.operations] == [(True, "success"), (False, "success")]
    assert len(server.requests) == 2


def test_compaction_is_a_model_call(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client(server.url) as client:
        client.post("/responses/compact", cast_to=Response, body=RESPONSES)
    assert [(op.kind, op.status, used(op)[:2]) for op in seen.operations] == [("llm.call", "success", (20, 8))]
