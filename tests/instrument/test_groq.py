"""Groq's client: every way of calling it, what its answers report, and what they have beyond OpenAI's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from groq import Groq
from inline_snapshot import snapshot

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.groq_ways import CHAT, EMBEDDINGS, SOUNDS, WAYS, Way, async_client, sync_client
from spanhook.cli.conformance.libraries.stainless_ways import named
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.groq_server import GroqServer
from spanhook.cli.conformance.servers.openai_replies import Json, Reply, Tokens
from spanhook.instrument.groq.apis import ADAPTERS
from spanhook.model import resolved
from spanhook.settings import Settings
from spanhook.testing import recorder
from tests.conformance.test_windows import CARD, SECRET, TEXT, Masking


@pytest.fixture
def server() -> Iterator[GroqServer]:
    with GroqServer() as running:
        yield running


@pytest.fixture
def client(server: GroqServer) -> Iterator[Groq]:
    with sync_client(server.url) as made:
        yield made


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_it_returns_what_it_returns_without_us(way: Way, server: GroqServer) -> None:
    expected = way(server.url)
    hooks = Hooks()

    @hooks.before("*")
    def before(op: Operation) -> None:
        assert op.request.model

    @hooks.after("*", stream="observe")
    def after(op: Operation) -> None:
        assert op.response.messages or op.kind != "llm.call"

    with recorder(hooks, settings=Settings(content="SPAN_ONLY")) as seen:
        assert way(server.url) == expected
    (op,) = seen.operations
    assert (op.kind, op.provider, op.status) == (way.kind, "groq", "success")
    assert op.usage.total_tokens == (28 if way.kind == "llm.call" else 20)
    assert not op.usage.estimated


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_refused(way: Way, server: GroqServer) -> None:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        way(server.url)
    assert server.requests == []


def test_a_span(client: Groq, server: GroqServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500, cached=200, reasoning=100)))
    with recorder() as seen:
        client.chat.completions.create(
            **CHAT,
            temperature=0.5,
            reasoning_effort="low",
            service_tier="flex",
            response_format={"type": "json_object"},
        )
        [node] = seen.tree()
    assert node["attributes"].pop("server.port") == server.port
    assert node == snapshot(
        {
            "name": "chat openai/gpt-oss-20b",
            "status": "UNSET",
            "attributes": {
                "gen_ai.provider.name": "groq",
                "server.address": "127.0.0.1",
                "gen_ai.request.model": "openai/gpt-oss-20b",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.operation.name": "chat",
                "gen_ai.request.reasoning.level": "low",
                "gen_ai.output.type": "json",
                "spanhook.kind": "llm.call",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
                "gen_ai.response.id": "chatcmpl-1",
                "gen_ai.response.model": "openai/gpt-oss-20b-2024-07-18",
                "gen_ai.response.finish_reasons": ("stop",),
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 500,
                "gen_ai.usage.cache_read.input_tokens": 200,
                "gen_ai.usage.reasoning.output_tokens": 100,
            },
            "events": [],
            "children": [],
        }
    )


def test_streams_report_usage_without_being_asked(client: Groq, server: GroqServer) -> None:
    with recorder() as seen:
        chunks = list(client.chat.completions.create(**CHAT, stream=True))
    assert "stream_options" not in server.requests[0].body
    assert chunks[-1].x_groq is not None
    (op,) = seen.operations
    assert (op.usage.input_tokens, op.usage.output_tokens, op.usage.estimated) == (20, 8, False)


def test_streams_of_those_who_ask_too(client: Groq) -> None:
    with recorder() as seen:
        extra: Any = {"stream_options": {"include_usage": True}}
        list(client.chat.completions.create(**CHAT, stream=True, extra_body=extra))
    assert seen.operations[0].usage.total_tokens == 28


def test_a_stream_that_is_left_is_estimated(client: Groq) -> None:
    with recorder() as seen, client.chat.completions.create(**CHAT, stream=True) as stream:
        next(stream)
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("abandoned", True)]


# ------------------------------------------------------------------------------------------- beyond OpenAI's

RUN: Json = {"index": 0, "type": "search", "arguments": '{"query": "weather"}', "output": "sunny"}
MODELS = [
    {"model": name, "usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}}
    for name, given, made in (("openai/gpt-oss-120b", 15, 5), ("llama-3.3-70b-versatile", 5, 3))
]


def compound() -> Reply:
    """What a compound system answers with."""
    head = {"id": "1", "created": 1, "model": "groq/compound", "object": "chat.completion"}
    usage = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
    message = {"role": "assistant", "content": "It is sunny.", "reasoning": "I look.", "executed_tools": [RUN]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    breakdown = {"models": MODELS}
    return Reply(body={**head, "choices": [choice], "usage": usage, "usage_breakdown": breakdown})


def chunks_of_compound() -> list[Any]:
    from groq.types.chat import ChatCompletionChunk

    def chunk(delta: Json, finish: str | None = None, **more: Any) -> Any:
        head: Json = {"id": "1", "created": 1, "model": "groq/compound", "object": "chat.completion.chunk"}
        whole: Any = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
        return ChatCompletionChunk.construct(**whole)  # pyright: ignore[reportDeprecated]

    started = {name: value for name, value in RUN.items() if name != "output"}
    usage = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
    ended = {"id": "req", "usage": usage, "usage_breakdown": {"models": MODELS}}
    return [
        chunk({"role": "assistant", "reasoning": "I "}),
        chunk({"reasoning": "look."}),
        chunk({"executed_tools": [started]}),
        chunk({"executed_tools": [RUN]}),
        chunk({"content": "It is sunny."}),
        chunk({}, "stop", x_groq=ended),
    ]


SAID = [
    {
        "type": "server_tool_call",
        "name": "search",
        "server_tool_call": {"type": "search", "arguments": {"query": "weather"}},
    },
    {"type": "server_tool_call_response", "server_tool_call_response": {"type": "search", "output": "sunny"}},
    {"type": "reasoning", "content": "I look."},
    {"type": "text", "content": "It is sunny."},
]


def test_what_compound_systems_did(client: Groq, server: GroqServer) -> None:
    server.script(compound())
    hooks, saw = Hooks(), list[Any]()

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        saw.extend(op.response.messages)

    with recorder(hooks) as seen:
        client.chat.completions.create(**CHAT)
    assert saw == [{"role": "assistant", "parts": SAID, "finish_reason": "stop"}]
    (op,) = seen.operations
    assert op.usage.total_tokens == 28
    used = op._record.own_usage
    assert used is not None
    assert [model for model, _ in used.apart] == ["openai/gpt-oss-120b", "llama-3.3-70b-versatile"]


def test_and_said_in_a_stream() -> None:
    adapter = ADAPTERS["/chat/completions"]
    from groq._models import FinalRequestOptions
    from groq.types.chat import ChatCompletion

    options = FinalRequestOptions.construct(method="post", url="/openai/v1/chat/completions", json_data=CHAT)
    assert adapter.streaming is not None
    assert adapter.streaming.chunks is not None
    chunks = adapter.streaming.chunks(None, (ChatCompletion, options), {"stream": True})
    chunks.keep = True
    for one in chunks_of_compound():
        chunks.add(one)
    assert adapter.reading.output(resolved(chunks.result())) == [
        {"role": "assistant", "parts": SAID, "finish_reason": "stop"}
    ]
    _, used = chunks.response()
    assert used is not None
    assert (used.total_tokens, [part.total_tokens for _, part in used.apart]) == (28, [20, 8])


def test_an_answer_with_what_was_run_is_sent_without_it(client: Groq, server: GroqServer) -> None:
    server.script(compound())
    hooks = Hooks()

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        op.respond(
            [
                {**one, "parts": [*one["parts"][:-1], {"type": "text", "content": "Rain."}]}
                for one in op.response.messages
            ]
        )

    with recorder(hooks):
        answer = client.chat.completions.create(**CHAT)
    assert answer.choices[0].message.content == "Rain."


def test_nothing_that_is_told_for_debugging_passes_a_window() -> None:
    streaming = ADAPTERS["/chat/completions"].streaming
    assert streaming is not None
    texts = streaming.texts
    assert texts is not None
    last = {**chunks_of_compound()[-1].to_dict()}
    last["x_groq"] = {**last["x_groq"], "debug": {"output_tokens": [SECRET]}}
    assert SECRET not in json.dumps(texts.write(last, {}))


def test_a_window(client: Groq, server: GroqServer) -> None:
    server.script(TEXT)
    with recorder(Hooks(Masking())):
        chunks = list(client.chat.completions.create(**CHAT, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == CARD.sub("[card]", TEXT)


# ------------------------------------------------------------------------------------------- other endpoints


@pytest.mark.parametrize("name", SOUNDS)
def test_sound(name: str, client: Groq, server: GroqServer) -> None:
    with recorder() as seen:
        SOUNDS[name](client)

        async def later() -> None:
            async with async_client(server.url) as client:
                await SOUNDS[name](client)

        run(later())
    assert [(op.kind, op.status, op.provider) for op in seen.operations] == [("llm.call", "success", "groq")] * 2
    assert not [key for span in seen.spans for key in span.attributes or () if key.startswith("openai.")]


def test_batches_and_what_is_only_read(client: Groq) -> None:
    with recorder() as seen:
        client.batches.create(completion_window="24h", endpoint="/v1/chat/completions", input_file_id="file_1")
        for read in (client.batches.list, client.files.list, client.models.list):
            with pytest.raises(Exception, match="404"):
                read()
    assert [span.name for span in seen.spans] == ["batch"]


def test_embeddings_that_a_hook_answers(client: Groq, server: GroqServer) -> None:
    hooks = Hooks()
    hooks.before("embeddings.create")(lambda op: op.respond([[0.5], [0.25]]))
    with recorder(hooks):
        answer = client.embeddings.create(**EMBEDDINGS)
    assert [one.embedding for one in answer.data] == [[0.5], [0.25]]
    assert server.requests == []
