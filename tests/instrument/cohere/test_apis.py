"""Cohere's other APIs, refusals, retries, and what calls no model."""

from typing import Any

import cohere as sdk
import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.cohere_ways import (
    ASKED,
    CHAT,
    CLASSIFY,
    EMBED,
    GENERATE,
    GREET,
    OLD_CHAT,
    ONCE,
    RERANK,
    later_client,
)
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.cohere_server import CohereServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, error
from spanhook.testing import recorder


def refusing(status: int = 403) -> Hooks:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=status)

    return hooks


# ------------------------------------------------------------------------------------------------- version 1


def test_chat_of_version_1(old: Any, cohere: CohereServer) -> None:
    told: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        told.append((op.request.system, op.request.messages))
        *rest, last = op.request.messages
        op.replace(messages=[*rest, {**last, "parts": [{"type": "text", "content": "Bye."}]}], system="Be long.")

    with recorder(hooks) as seen:
        assert old.chat(**OLD_CHAT).text == "hello there friend"
    system, messages = told[0]
    assert (system, [message["role"] for message in messages]) == ("Be brief.", ["user", "assistant", "user"])
    body = cohere.requests[0].body
    assert (body["message"], body["preamble"], body["chat_history"]) == ("Bye.", "Be long.", OLD_CHAT["chat_history"])
    assert [(op.usage.total_tokens, op.model) for op in seen.operations] == [(28, "command-r")]
    assert (seen.spans[0].attributes or {})["gen_ai.response.finish_reasons"] == ("COMPLETE",)


def test_results_of_tools_in_version_1(old: Any, cohere: CohereServer) -> None:
    results = [{"call": {"name": "look_up", "parameters": {}}, "outputs": [{"weather": "sunny"}]}]
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        message, result = op.request.messages
        (part,) = result["parts"]
        outputs = {**part["response"], "outputs": [{"weather": "rain"}]}
        op.replace(messages=[message, {**result, "parts": [{**part, "response": outputs}]}])

    with recorder(hooks):
        old.chat(model="m", message="hi", tool_results=results, **ONCE)
    body = cohere.requests[0].body
    assert (body["message"], body["tool_results"][0]["outputs"]) == ("hi", [{"weather": "rain"}])


def test_tool_calls_in_version_1(old: Any, cohere: CohereServer) -> None:
    cohere.reply = Reply(calls=(Call("look_up", {"city": "rome"}),))
    told: list[Any] = []
    hooks = Hooks()
    hooks.after("llm.call", stream="buffer", priority=50)(lambda op: told.append(op.response.messages[0]["parts"]))
    with recorder(hooks):
        old.chat(**OLD_CHAT)
        list(old.chat_stream(**OLD_CHAT))
    part = {"type": "tool_call", "name": "look_up", "arguments": {"city": "rome"}}
    assert told == [[part], [part]]


def test_generation(old: Any, cohere: CohereServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        (message,) = op.request.messages
        assert message["parts"][0]["content"] in (GREET, "Bye.")
        op.replace(messages=[{**message, "parts": [{"type": "text", "content": "Bye."}]}])

    with recorder(hooks) as seen:
        assert old.generate(**GENERATE).generations[0].text == "hello there friend"
    assert cohere.requests[0].body["prompt"] == "Bye."
    assert (seen.spans[0].name, seen.operations[0].usage.total_tokens) == ("text_completion command", 28)


# ------------------------------------------------------------------------------------------------- endpoints


def test_embeddings(client: Any, cohere: CohereServer) -> None:
    with recorder() as seen:
        client.embed(**EMBED)
    attributes = seen.spans[0].attributes or {}
    assert attributes["gen_ai.request.encoding_formats"] == ("float",)
    assert seen.operations[0].usage.input_tokens == 20
    hooks = Hooks()
    hooks.before("embeddings.create")(lambda op: op.respond([[0.5], [0.25]]))
    with recorder(hooks):
        answer = client.embed(**EMBED)
    assert answer.embeddings.float_ == [[0.5], [0.25]]
    assert len(cohere.requests) == 1


def test_embeddings_in_batches(old: Any, cohere: CohereServer) -> None:
    """The client of version 1 sends them in parallel: each request is an operation."""
    texts = [str(number) for number in range(200)]
    with recorder() as seen:
        answer = old.embed(model="m", texts=texts, input_type="search_query", **ONCE)
    assert len(answer.embeddings) == 200
    assert len(seen.operations) == len(cohere.requests) == 3
    with recorder(refusing()), pytest.raises(Reject, match="not today"):
        old.embed(model="m", texts=texts, input_type="search_query", **ONCE)
    assert len(cohere.requests) == 3


def test_reranking(client: Any, cohere: CohereServer) -> None:
    told: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        told.append((op.request.messages[0]["parts"][0]["content"], op.request.inputs))
        op.replace(inputs=["three"])

    with recorder(hooks) as seen:
        client.rerank(**RERANK)
    assert told[0] == (ASKED, ["one", "two"])
    assert cohere.requests[0].body["documents"] == ["three"]
    assert (seen.spans[0].name, seen.operations[0].usage.total_tokens) == ("rerank rerank-v3.5", 0)


def test_classification(old: Any) -> None:
    with recorder() as seen:
        old.classify(**CLASSIFY)
    assert seen.spans[0].name == "classification embed-v4.0"


@pytest.mark.skipif(not hasattr(sdk.Client, "audio"), reason="it is not in this version")
def test_sound(client: Any, cohere: CohereServer) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(model="other"))
    with recorder(hooks) as seen:
        made = client.audio.transcriptions.create(model="m", language="en", file=("a.mp3", b"sound"), **ONCE)
    assert made.text == "hello there friend"
    assert (cohere.requests[0].body["model"], cohere.requests[0].body["file"]) == ("other", "5 bytes")
    assert [op.model for op in seen.operations] == ["other"]


def test_what_calls_no_model(client: Any) -> None:
    with recorder() as seen:
        for ask in (client.models.list, lambda: client.tokenize(text="a", model="m", offline=False)):
            with pytest.raises(sdk.NotFoundError):
                ask()
    assert seen.operations == []


# ------------------------------------------------------------------------------------------------- refusals, attempts


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (403, sdk.ForbiddenError),
        (429, sdk.TooManyRequestsError),
        (503, sdk.ServiceUnavailableError),
        (402, sdk.core.ApiError),
    ],
)
def test_a_refusal_is_the_sdks_own_error_and_is_not_retried(
    client: Any, old: Any, cohere: CohereServer, status: int, kind: type[Exception]
) -> None:
    for ask in (
        lambda: client.chat(**{**CHAT, "request_options": {"max_retries": 3}}),
        lambda: list(client.chat_stream(**CHAT)),
        lambda: old.chat(**OLD_CHAT),
        lambda: list(old.chat_stream(**OLD_CHAT)),
    ):
        with recorder(refusing(status)) as seen, pytest.raises(kind) as raised:
            ask()
        assert isinstance(raised.value, Reject)
        assert raised.value.status_code == status
        assert getattr(raised.value, "body", None) == {"message": "not today"}
        assert [op.status for op in seen.operations] == ["rejected"]
    assert cohere.requests == []


def test_attempts_are_one_operation(client: Any, cohere: CohereServer) -> None:
    cohere.script(error(500, headers={"retry-after": "0"}), error(429, headers={"retry-after": "0"}), Reply())
    asked: list[str] = []
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: asked.append(op.model))
    with recorder(hooks) as seen:
        client.chat(**{**CHAT, "request_options": {"max_retries": 2}})
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)]
    assert (len(asked), len(cohere.requests)) == (1, 3)


def test_attempts_of_async_clients_too(cohere: CohereServer) -> None:
    cohere.script(error(500, headers={"retry-after": "0"}), Reply())

    async def main() -> Any:
        return await later_client(cohere.url).chat(**{**CHAT, "request_options": {"max_retries": 2}})

    with recorder() as seen:
        assert run(main()).message.content[0].text == "hello there friend"
    assert (len(seen.operations), len(cohere.requests)) == (1, 2)


def test_no_one_gets_around_by_saying_it_is_a_retry(client: Any, cohere: CohereServer) -> None:
    transport = client._client_wrapper.httpx_client
    with recorder(refusing()), pytest.raises(Reject):
        transport.request("v2/chat", method="POST", json={"model": "m", "messages": []}, retries=1)
    assert cohere.requests == []


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_of_the_server_has_its_status(client: Any, cohere: CohereServer, *, stream: bool) -> None:
    cohere.script(error(429))
    told: list[Any] = []
    hooks = Hooks()
    hooks.on_error("llm.call")(lambda op: told.append(getattr(op.error, "status_code", None)))
    with recorder(hooks) as seen, pytest.raises(sdk.TooManyRequestsError):
        list(client.chat_stream(**CHAT)) if stream else client.chat(**CHAT)
    (span,) = seen.spans
    assert (told, (span.attributes or {})["error.type"], seen.operations[0].status) == ([429], "429", "error")


def test_platforms_are_named() -> None:
    from spanhook.instrument.cohere.transport import WHOLE

    def hook(request: Any) -> None:
        """As the SDK's client for Bedrock has one."""

    hook.__module__ = "cohere.aws_client"

    class Http:
        event_hooks = {"request": [hook]}

    class Transport:
        httpx_client = Http()

    assert WHOLE.server_of(Transport(), (), {}) == ("aws.bedrock", "", 0)
