"""Which calls are operations, and what is read from them."""

import io
import json
from types import MappingProxyType
from typing import Any

import pytest
from inline_snapshot import snapshot

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.botocore import client
from spanhook.cli.conformance.libraries.botocore_ways import BODIES, CLAUDE, CONVERSE, EMBEDDING, NOVA
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.instrument.botocore.calls import form_of
from spanhook.settings import Settings
from spanhook.testing import recorder
from tests.instrument.botocore.parts import TOOLS, converse, invoked, streamed

PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3"


def test_a_call_of_converse_as_a_span(made: Any, server: BedrockServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500)))
    more = {
        "inferenceConfig": {"maxTokens": 100, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
        "additionalModelRequestFields": {"top_k": 5},
    }
    with recorder() as seen:
        converse(made, **more)
        [node] = seen.tree()
    assert node["attributes"].pop("server.port") == server.port
    assert node == snapshot(
        {
            "name": "chat anthropic.claude-haiku-4-5-20251001-v1:0",
            "status": "UNSET",
            "attributes": {
                "gen_ai.provider.name": "aws.bedrock",
                "server.address": "127.0.0.1",
                "gen_ai.request.model": "anthropic.claude-haiku-4-5-20251001-v1:0",
                "gen_ai.operation.name": "chat",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.request.max_tokens": 100,
                "gen_ai.request.top_p": 0.9,
                "gen_ai.request.top_k": 5.0,
                "gen_ai.request.stop_sequences": ("END",),
                "spanhook.kind": "llm.call",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
                "gen_ai.response.finish_reasons": ("end_turn",),
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 500,
                "spanhook.cost.usd": 0.00385,
            },
            "events": [],
            "children": [],
        }
    )


def test_a_stream_as_a_span(made: Any, server: BedrockServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500)))
    with recorder() as seen:
        assert len(list(streamed(made))) == 7
        (span,) = seen.spans
    told = dict(span.attributes or {})
    names = ("gen_ai.request.stream", "gen_ai.response.finish_reasons", "gen_ai.usage.input_tokens")
    assert [told.get(name) for name in names] == [True, ("end_turn",), 1000]


def test_what_hooks_see(made: Any, server: BedrockServer) -> None:
    hooks, found = Hooks(), list[Any]()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        found.append((op.request.messages, op.request.system, op.request.tools, op.request.model))

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        found.append((list(op.response.messages), op.response.finish_reasons))

    messages = [
        *CONVERSE["messages"],
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look_up", "input": {"of": "x"}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "found"}]}}]},
    ]
    server.script(Reply(calls=(Call("look_up", {"of": "y"}),)))
    with recorder(hooks, settings=Settings(content="SPAN_ONLY")):
        converse(made, messages=messages, system=[{"text": "Be brief."}], toolConfig=TOOLS)
    assert found == snapshot(
        [
            (
                [
                    {"role": "user", "parts": [{"type": "text", "content": "Say hello."}]},
                    {
                        "role": "assistant",
                        "parts": [{"type": "tool_call", "id": "t1", "name": "look_up", "arguments": {"of": "x"}}],
                    },
                    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "t1", "response": "found"}]},
                ],
                "Be brief.",
                ["look_up"],
                "anthropic.claude-haiku-4-5-20251001-v1:0",
            ),
            (
                [
                    {
                        "role": "assistant",
                        "parts": [{"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"of": "y"}}],
                        "finish_reason": "tool_use",
                    }
                ],
                ("tool_use",),
            ),
        ]
    )


@pytest.mark.parametrize("model", BODIES)
def test_what_hooks_see_of_invoked_models(model: str, made: Any) -> None:
    hooks, found = Hooks(), list[Any]()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        found.append(op.request.messages[-1]["parts"][0]["content"])

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        found.append(op.response.text)

    with recorder(hooks) as seen:
        invoked(made, BODIES[model], model)["body"].read()
        for _ in made.invoke_model_with_response_stream(modelId=model, body=json.dumps(BODIES[model]))["body"]:
            pass
    assert found == ["Say hello.", "hello there friend"] * 2
    totals = [(op.model, op.provider, op.usage.total_tokens, op.usage.estimated) for op in seen.operations]
    assert totals == [(model, "aws.bedrock", 28, False)] * 2


def test_embeddings(made: Any) -> None:
    with recorder() as seen:
        assert json.loads(made.invoke_model(**EMBEDDING)["body"].read())["embedding"] == [0.5, 1.0]
        (span,) = seen.spans
    (op,) = seen.operations
    assert (op.kind, op.usage.input_tokens, span.name) == (
        "embeddings.create",
        20,
        f"embeddings {EMBEDDING['modelId']}",
    )
    assert (span.attributes or {})["gen_ai.embeddings.dimension.count"] == 256


@pytest.mark.parametrize(
    ("model", "body", "form"),
    [
        *(
            (model, body, name)
            for (model, body), name in zip(
                BODIES.items(),
                (
                    "anthropic",
                    "nova",
                    "openai",
                    "titan",
                    "llama",
                    "mistral",
                    "cohere",
                ),
                strict=True,
            )
        ),
        (PROFILE, BODIES[CLAUDE], "anthropic"),
        (PROFILE, {"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "nova"),
        (PROFILE, {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}, "openai"),
        (f"{PROFILE}/us.anthropic.claude", {"messages": []}, "anthropic"),
        ("anthropic.claude-v2", {"prompt": "Human: x", "max_tokens_to_sample": 5}, ""),
        ("cohere.embed-english-v3", {"texts": ["x"], "input_type": "search_query"}, "embeddings"),
        (PROFILE, {"prompt": "x", "max_gen_len": 5}, "llama"),
        ("stability.sd3-5-large-v1:0", {"prompt": "a cat"}, ""),
        (NOVA, {}, ""),
    ],
)
def test_forms(model: str, body: dict[str, Any], form: str) -> None:
    assert form_of(model, body) == form


@pytest.mark.parametrize("body", [b"[1]", b"\x00\xff", b"{", b'"text"', b""])
def test_bodies_that_are_no_objects_are_gated(body: bytes, made: Any, server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        assert op.request.inputs == {}
        raise Reject("no")

    with recorder(hooks), pytest.raises(Reject):
        made.invoke_model(modelId="acme.model", body=body)
    assert server.requests == []


def test_files_and_other_mappings_are_read_and_sent(made: Any, server: BedrockServer) -> None:
    hooks, found = Hooks(), list[Any]()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        found.append(op.request.messages[-1]["parts"][0]["content"])

    content = json.dumps(BODIES[CLAUDE]).encode()

    class Own(dict[str, Any]):
        """As libraries of AWS's resources have them."""

    with recorder(hooks):
        for body in (io.BytesIO(content), bytearray(content), content.decode()):
            made.invoke_model(modelId=CLAUDE, body=body)["body"].read()
        converse(made, messages=(Own(role="user", content=({"text": "Say hello."},)),))
    assert found == ["Say hello."] * 4
    assert [one.body for one in server.requests[:3]] == [BODIES[CLAUDE]] * 3
    assert server.requests[3].body["messages"] == CONVERSE["messages"]


def test_other_services_and_operations_pass(server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    server.reply = Reply(body={})
    with recorder(hooks) as seen:
        client(server.url, "dynamodb").list_tables()
    assert (len(server.requests), seen.operations) == (1, [])


def test_arguments_by_keyword(made: Any) -> None:
    with recorder() as seen:
        made._make_api_call(operation_name="Converse", api_params=dict(CONVERSE))
    assert [op.model for op in seen.operations] == [CLAUDE]


def test_what_contains_itself_is_left_to_the_sdk(made: Any, server: BedrockServer) -> None:
    itself: list[Any] = [{"role": "user", "content": []}]
    itself[0]["content"].append(MappingProxyType({"text": itself}))
    with recorder() as seen, pytest.raises(Exception):  # noqa: B017 - whatever it says of that
        converse(made, messages=itself)
    assert (len(seen.operations), server.requests) == (1, [])
