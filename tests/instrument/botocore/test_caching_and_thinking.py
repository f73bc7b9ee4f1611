"""What messages of Converse may hold, and what it reports, in newer versions of the SDK."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.botocore_ways import CLAUDE, CONVERSE
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.testing import recorder
from tests.instrument.botocore.parts import converse, streamed
from tests.masking import MASK, SECRET, Masking

REEL = "amazon.nova-reel-v1:1"
CACHED = Reply(tokens=Tokens(input=1000, output=500, cached=200, written=300))


def test_the_cache_and_the_guardrail(made: Any, server: BedrockServer) -> None:
    server.reply = CACHED
    guarded = {"guardrailIdentifier": "gr1", "guardrailVersion": "1"}
    with recorder() as seen:
        converse(made, guardrailConfig=guarded)
        list(streamed(made, guardrailConfig=guarded))
        found = [dict(span.attributes or {}) for span in seen.spans]
    for told in found:
        names = ("input_tokens", "output_tokens", "cache_read.input_tokens", "cache_creation.input_tokens")
        assert [told[f"gen_ai.usage.{name}"] for name in names] == [1000, 500, 200, 300]
        assert (told["aws.bedrock.guardrail.id"], told["spanhook.cost.usd"]) == ("gr1", 0.0037345)


def test_points_of_the_cache_stay(made: Any, server: BedrockServer) -> None:
    hooks, point = Hooks(), {"cachePoint": {"type": "default"}}

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(
            system="In French.",
            messages=[{"role": "user", "parts": [*_masked(op), *op.request.messages[0]["parts"][1:]]}],
        )

    tool = {"toolSpec": {"name": "look_up", "inputSchema": {"json": {"type": "object"}}}}
    with recorder(hooks):
        converse(
            made,
            messages=[{"role": "user", "content": [{"text": "Say hello."}, point]}],
            system=[{"text": "Be brief."}, point],
            toolConfig={"tools": [tool, point]},
        )
    (sent,) = server.requests
    assert sent.body["messages"][0]["content"] == [{"text": "masked"}, point]
    assert sent.body["system"] == [{"text": "In French."}, point]


def _masked(_op: Operation) -> list[dict[str, Any]]:
    return [{"type": "text", "content": "masked"}]


def test_thoughts_are_text_too(made: Any, server: BedrockServer) -> None:
    delta = {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": f"{SECRET} it is"}}}
    kept = {"contentBlockIndex": 0, "delta": {"reasoningContent": {"redactedContent": "aGk="}}}
    signed = {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "abc"}}}
    thoughts = tuple({"contentBlockDelta": one} for one in (delta, kept, signed))
    server.script(Reply(events=(*thoughts, {"contentBlockStop": {"contentBlockIndex": 0}})))
    with recorder(Masking()):
        said = repr(list(streamed(made)))
    assert SECRET not in said
    assert said.count(MASK) == 1
    assert b"hi" in eval(said)[1]["contentBlockDelta"]["delta"]["reasoningContent"].values()


def test_what_is_started(made: Any, server: BedrockServer) -> None:
    hooks, found = Hooks(), list[Any]()

    @hooks.before("llm.call", names={REEL})
    def rewrite(op: Operation) -> None:
        found.append(op.request.inputs)
        if op.request.inputs["taskType"] == "forbidden":
            raise Reject("no", status_code=403)
        op.replace(inputs={"taskType": "another"})

    server.reply = Reply(body={"invocationArn": "arn:aws:bedrock:us-east-1:123456789012:async-invoke/abc"})
    output = {"s3OutputDataConfig": {"s3Uri": "s3://bucket"}}
    with recorder(hooks) as seen:
        asked = {"modelId": REEL, "modelInput": {"taskType": "TEXT_VIDEO"}, "outputDataConfig": output}
        assert made.start_async_invoke(**asked)["invocationArn"].endswith("abc")
        with pytest.raises(made.exceptions.AccessDeniedException):
            made.start_async_invoke(**{**asked, "modelInput": {"taskType": "forbidden"}})
    (sent,) = server.requests
    assert (sent.body["modelInput"], sent.body["modelId"]) == ({"taskType": "another"}, REEL)
    assert [op.status for op in seen.operations] == ["success", "rejected"]
    assert found[0] == {"taskType": "TEXT_VIDEO"}


def test_counting_tokens_is_no_call_of_a_model(made: Any, server: BedrockServer) -> None:
    server.reply = Reply(body={"inputTokens": 5})
    with recorder() as seen:
        made.count_tokens(modelId=CLAUDE, input={"converse": {"messages": CONVERSE["messages"]}})
    assert (len(server.requests), seen.operations) == (1, [])
