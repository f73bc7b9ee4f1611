"""Refusals, rewritten requests and answers, as AWS's SDK has them."""

import json
import pickle
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.botocore_ways import BODIES, CLAUDE, CONVERSE, NOVA, spoken
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder
from tests.instrument.botocore.parts import bedrock, converse, invoked, streamed

CODES = {
    400: "ValidationException",
    401: "AccessDeniedException",
    402: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    451: "ValidationException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
    504: "ModelTimeoutException",
}


def refusing(status: int = 403) -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=status)

    return hooks


@pytest.mark.parametrize(("status", "code"), CODES.items())
def test_a_refusal_is_the_exception_of_the_clients_model(
    status: int, code: str, made: Any, server: BedrockServer
) -> None:
    for call in (converse, streamed, lambda made: invoked(made, BODIES[CLAUDE])):
        with recorder(refusing(status)), pytest.raises(Reject) as refused:
            call(made)
        error: Any = refused.value
        assert (error.status_code, error.reason, str(error)) == (status, "not today", "not today")
        assert isinstance(error, ClientError)
        assert isinstance(error, getattr(made.exceptions, code, ClientError))
        assert (error.response["Error"]["Code"], error.response["Error"]["Message"]) == (code, "not today")
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert server.requests == []


def test_it_names_the_operation_and_can_be_pickled(made: Any) -> None:
    with recorder(refusing()), pytest.raises(ClientError) as refused:
        streamed(made)
    error: Any = refused.value
    assert error.operation_name == "ConverseStream"
    again = pickle.loads(pickle.dumps(Reject("not today")))
    assert isinstance(again, Reject)


@pytest.mark.parametrize("mode", ["standard", "legacy", "adaptive"])
def test_refusals_are_not_retried_and_retries_are_one_operation(mode: str, server: BedrockServer) -> None:
    made = bedrock(server, retries={"mode": mode, "total_max_attempts": 3})
    asked = list[int]()
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        asked.append(1)
        if len(asked) == 1:
            raise Reject("slowly", status_code=429)

    with recorder(hooks) as seen:
        with pytest.raises(made.exceptions.ThrottlingException):
            converse(made)
        assert (len(asked), server.requests) == (1, [])
        server.script(Reply(status=503, headers={"retry-after": "0"}))
        converse(made)
    assert (len(asked), len(server.requests)) == (2, 2)
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("rejected", 0), ("success", 28)]


# ----------------------------------------------------------------------------------- rewriting


def test_rewritten(made: Any, server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        last = op.request.messages[-1]
        last["parts"][0]["content"] = "Say goodbye."
        op.replace(messages=op.request.messages, system="In French.", model=NOVA)

    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    messages = [{"role": "user", "content": [{"text": "Say hello."}, picture]}]
    system = [{"text": "Be brief."}]
    with recorder(hooks):
        converse(made, messages=messages, system=system)
        invoked(made, {**BODIES[CLAUDE], "system": "Be brief."})["body"].read()
    one, other = server.requests
    assert one.path == f"/model/{NOVA.replace(':', '%3A')}/converse"
    assert one.body["messages"][0]["content"] == [
        {"text": "Say goodbye."},
        {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}},
    ]
    assert one.body["system"] == [{"text": "In French."}]
    assert messages[0]["content"][0] == {"text": "Say hello."}  # the application's own
    assert other.path == f"/model/{NOVA.replace(':', '%3A')}/invoke"
    assert (other.body["messages"][0]["content"], other.body["system"]) == ("Say goodbye.", "In French.")
    assert other.body["anthropic_version"] == BODIES[CLAUDE]["anthropic_version"]


def test_pictures_of_hooks_and_results_of_tools(made: Any, server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        told = op.request.messages
        told[-1]["parts"][0]["response"] = {"masked": True}
        told[0]["parts"].append({"type": "blob", "modality": "image", "mime_type": "image/jpeg", "content": "aGk="})
        op.replace(messages=told)

    result = {"toolUseId": "t1", "content": [{"json": {"card": "1234"}}], "status": "success"}
    with recorder(hooks):
        converse(made, messages=[*CONVERSE["messages"], {"role": "user", "content": [{"toolResult": result}]}])
    first, last = server.requests[0].body["messages"]
    assert first["content"][1] == {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}
    assert last["content"] == [{"toolResult": {**result, "content": [{"json": {"masked": True}}]}}]


# ----------------------------------------------------------------------------------- answers


def answering(value: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond(value)

    return hooks


def test_answers_in_the_sdks_own_types(made: Any, server: BedrockServer) -> None:
    with recorder(answering("no need")):
        whole = converse(made)
        assert whole["output"]["message"] == {"role": "assistant", "content": [{"text": "no need"}]}
        assert (whole["stopReason"], whole["ResponseMetadata"]["HTTPStatusCode"]) == ("end_turn", 200)
        events = list(streamed(made))
        assert "".join(map(spoken, events)) == "no need"
        assert [next(iter(event)) for event in events[-2:]] == ["messageStop", "metadata"]
        for model, body in BODIES.items():
            given = invoked(made, body, model)
            assert isinstance(given["body"], StreamingBody)
            assert "no need" in given["body"].read().decode()
            parts = made.invoke_model_with_response_stream(modelId=model, body=json.dumps(body))["body"]
            assert "".join(map(spoken, parts)) == "no need"
            parts.close()
    assert server.requests == []


def test_an_earlier_response_is_an_answer(made: Any) -> None:
    earlier = converse(made)
    with recorder(answering(earlier)) as seen:
        assert converse(made) == earlier
        assert "".join(map(spoken, streamed(made))) == Reply.text
    assert [op.usage.total_tokens for op in seen.operations] == [0, 0]


def test_calls_of_tools_as_an_answer(made: Any) -> None:
    call = {"type": "tool_call", "id": "t1", "name": "look_up", "arguments": {"of": "x"}}
    with recorder(answering({"role": "assistant", "parts": [call]})):
        whole = converse(made)
        events = list(streamed(made))
    assert whole["stopReason"] == "tool_use"
    assert whole["output"]["message"]["content"] == [
        {"toolUse": {"toolUseId": "t1", "name": "look_up", "input": {"of": "x"}}}
    ]
    assert events[1]["contentBlockStart"]["start"]["toolUse"] == {"toolUseId": "t1", "name": "look_up"}
    assert json.loads(events[2]["contentBlockDelta"]["delta"]["toolUse"]["input"]) == {"of": "x"}


def test_an_answer_that_is_none_is_the_hooks_failure(made: Any, server: BedrockServer) -> None:
    for call in (converse, lambda made: invoked(made, {"said": "x"}, "acme.model")):
        with recorder(answering(5)), pytest.raises(Reject) as refused:
            call(made)
        assert refused.value.status_code == 500
    assert server.requests == []
