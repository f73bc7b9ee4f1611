"""Refusals and answers out of the client: the SDK's own exceptions, never retried, and its own responses."""

import pickle
from contextlib import suppress
from typing import Any

import pytest
from google.genai import Client, errors, types

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries import google_genai_ways as ways
from spanhook.cli.conformance.libraries.google_genai_ways import CONTENT, EMBEDDED, MODEL, collected
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder


def refusing(status: int = 403) -> Hooks:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=status)

    return hooks


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (403, errors.ClientError, "PERMISSION_DENIED"),
        (429, errors.ClientError, "RESOURCE_EXHAUSTED"),
        (402, errors.ClientError, "FAILED_PRECONDITION"),
        (503, errors.ServerError, "UNAVAILABLE"),
    ],
)
def test_a_refusal_is_the_sdks_own_exception(
    server: GoogleServer, status: int, kind: type[errors.APIError], said: str
) -> None:
    client = ways.client(server.url, retry_options=types.HttpRetryOptions(attempts=3, initial_delay=0.001))
    hooks = refusing(status)
    with recorder(hooks) as seen, pytest.raises(kind) as caught:
        client.models.generate_content(**CONTENT)
    assert isinstance(caught.value, Reject)
    error: Any = caught.value
    assert (error.code, error.status, error.message) == (status, said, "not today")
    assert error.response.status_code == status
    assert type(pickle.loads(pickle.dumps(error))) is type(error)
    assert (len(seen.operations), server.requests) == (1, [])


@pytest.mark.parametrize("way", ways.WAYS)
def test_every_way_raises_both(client: Client, server: GoogleServer, way: str) -> None:
    with recorder(refusing()), pytest.raises(errors.ClientError) as caught:
        made = ways.WAYS[way](client)
        if hasattr(made, "__await__"):
            run(made)
    assert isinstance(caught.value, Reject)
    assert server.requests == []


def test_attempts_of_the_sdk_are_one_call(server: GoogleServer) -> None:
    client = ways.client(server.url, retry_options=types.HttpRetryOptions(attempts=3, initial_delay=0.001))
    server.script(Reply(status=503), Reply(status=503))
    with recorder() as seen, suppress(errors.ServerError):  # the oldest versions only say that they try again
        client.models.generate_content(**CONTENT)
    assert len(server.requests) in (1, 3)
    assert [op.usage.total_tokens for op in seen.operations] == [28 if len(server.requests) == 3 else 0]


def test_a_request_that_is_made_directly(client: Client, server: GoogleServer) -> None:
    with recorder(refusing()), pytest.raises(Reject):
        client._api_client.request("POST", f"/models/{MODEL}:generateContent?alt=json", {"contents": []})
    assert server.requests == []


def test_counting_tokens_is_no_model_call(client: Client, server: GoogleServer) -> None:
    with recorder(refusing()) as seen:
        assert client.models.count_tokens(model=MODEL, contents="hi").total_tokens == 20
    assert (seen.operations, len(server.requests)) == ([], 1)


# ----------------------------------------------------------------------------------------------- answers


ANSWERS = {
    "text": "withheld",
    "a message": {"role": "assistant", "parts": [{"type": "text", "content": "withheld"}]},
    "the SDK's response": types.GenerateContentResponse(
        candidates=[types.Candidate(content=types.Content(role="model", parts=[types.Part(text="withheld")]))]
    ),
    "its JSON": {"candidates": [{"content": {"parts": [{"text": "withheld"}]}, "finishReason": "STOP"}]},
    "an HTTP response": types.HttpResponse(body='{"candidates": [{"content": {"parts": [{"text": "withheld"}]}}]}'),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("replaces", [False, True])
def test_answers(client: Client, server: GoogleServer, answer: str, replaces: bool) -> None:
    hooks = Hooks()
    bind = hooks.after if replaces else hooks.before
    bind("llm.call", priority=50)(lambda op: op.respond(ANSWERS[answer]))

    async def later() -> list[Any]:
        stream = await client.aio.models.generate_content_stream(**CONTENT)
        return [await client.aio.models.generate_content(**CONTENT), *await collected(stream)]

    with recorder(hooks) as seen:
        said = [client.models.generate_content(**CONTENT), *client.models.generate_content_stream(**CONTENT)]
        said += run(later())
    assert {type(one) for one in said} == {types.GenerateContentResponse}
    assert {one.text for one in said} == {"withheld"}
    assert {op.decisions[0].decision for op in seen.operations} == {"replace"}
    assert len(server.requests) == (4 if replaces else 0)


def test_an_answer_with_a_call(client: Client) -> None:
    hooks = Hooks()
    call = {"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": "it"}}
    hooks.before("llm.call")(lambda op: op.respond({"role": "assistant", "parts": [call]}))
    with recorder(hooks):
        response = client.models.generate_content(**CONTENT)
    assert response.function_calls is not None
    assert [(one.id, one.name, one.args) for one in response.function_calls] == [("1", "look", {"at": "it"})]


def test_an_answer_is_parsed_like_a_response(client: Client) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond('{"name": "Ann"}'))
    schema: Any = {"type": "OBJECT", "properties": {"name": {"type": "STRING"}}}
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=schema)
    with recorder(hooks):
        assert client.models.generate_content(model=MODEL, contents="hi", config=config).parsed == {"name": "Ann"}


@pytest.mark.parametrize("make", [ways.client, ways.vertex], ids=["Gemini API", "Vertex AI"])
def test_answers_to_embeddings(server: GoogleServer, make: Any) -> None:
    hooks = Hooks()
    hooks.before("embeddings.create")(lambda op: op.respond([[1.0, 2.0], [3.0, 4.0]]))
    with recorder(hooks):
        response = make(server.url).models.embed_content(**EMBEDDED)
    assert [one.values for one in response.embeddings] == [[1.0, 2.0], [3.0, 4.0]]
    assert server.requests == []
