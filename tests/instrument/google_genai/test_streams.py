"""Text in streams, as hooks with a window see it; streams that the SDK would go on with by itself."""

import json
from typing import Any

import pytest
from google.genai import Client

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_genai_ways import CONTENT, MODEL, collected
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.gating import Hook
from spanhook.testing import recorder

SECRET = "4111-1111"


class Masking(Hook):
    """Masks a secret in streamed text."""

    name, kinds, fail_mode = "masking", ("llm.call",), "closed"
    stream, window = "window", len(SECRET)

    def text(self, op: Operation, text: str) -> str:
        return text.replace(SECRET, "#")

    def after(self, op: Operation) -> None:
        """Whole results are not what these tests are about."""


class Refusing(Masking):
    name = "refusing"

    def text(self, op: Operation, text: str) -> str:
        if SECRET in text:
            raise Reject("a secret")
        return text


def chunk(*parts: Any, index: int = 0, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": index, **more}]}


def said(client: Client, hook: Hook, *, is_async: bool = False) -> list[Any]:
    hooks = Hooks()
    hooks.add(hook)

    async def later() -> list[Any]:
        return await collected(await client.aio.models.generate_content_stream(**CONTENT))

    with recorder(hooks):
        chunks = run(later()) if is_async else list(client.models.generate_content_stream(**CONTENT))
    return [one.model_dump(exclude_none=True, exclude={"sdk_http_response"}) for one in chunks]


@pytest.mark.parametrize("is_async", [False, True])
def test_text_that_is_split(client: Client, server: GoogleServer, is_async: bool) -> None:
    texts = ["It is 4111", "-11", "11, and ", {"text": "thinking of 41"}, "more"]
    parts = [{"text": one} if isinstance(one, str) else {**one, "thought": True} for one in texts]
    thought = chunk({"text": "11-1111?", "thought": True}, finishReason="STOP")
    server.script(Reply(events=(*map(chunk, parts), thought)))
    found = [
        part for one in said(client, Masking(), is_async=is_async) for part in one["candidates"][0]["content"]["parts"]
    ]
    spoken = "".join(part["text"] for part in found if not part.get("thought"))
    thoughts = "".join(part["text"] for part in found if part.get("thought"))
    assert (spoken, thoughts) == ("It is #, and more", "thinking of #?")


def test_candidates_are_texts_of_their_own(client: Client, server: GoogleServer) -> None:
    server.script(
        Reply(
            events=(
                chunk({"text": "4111"}),
                chunk({"text": "-1111"}, index=1),
                chunk({"text": " ok"}, finishReason="STOP"),
            )
        )
    )
    assert "#" not in json.dumps(said(client, Masking()))


def test_arguments_code_and_what_is_about_an_answer(client: Client, server: GoogleServer) -> None:
    call = {"functionCall": {"name": "pay", "args": {"name": SECRET, "cards": [{"id": SECRET}]}}}
    code = {"executableCode": {"language": "PYTHON", "code": f"print('{SECRET}')"}}
    output = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": SECRET}}
    grounding = {"groundingSupports": [{"segment": {"text": SECRET}}], "webSearchQueries": [SECRET]}
    server.script(Reply(events=(chunk(call, code, output, groundingMetadata=grounding, finishReason="STOP"),)))
    found = json.dumps(said(client, Masking()), default=str)
    assert SECRET not in found
    assert found.count("#") == 6


def test_pieces_of_arguments(client: Client, server: GoogleServer) -> None:
    def piece(text: str, **more: Any) -> dict[str, Any]:
        args = [{"jsonPath": "$.card", "stringValue": text, "willContinue": True}]
        return chunk({"functionCall": {"name": "pay", "partialArgs": args, "willContinue": True}}, **more)

    server.script(Reply(events=(piece("4111-"), piece("1111 x"), piece("y", finishReason="STOP"))))
    hooks = Hooks()
    hooks.add(Masking())
    with recorder(hooks):  # the oldest versions of the SDK's models do not have them
        path = f"models/{MODEL}:streamGenerateContent?alt=sse"
        found = list(client._api_client.request_streamed("post", path, {"contents": []}))
    parts = [part for one in found for part in json.loads(str(one.body))["candidates"][0]["content"]["parts"]]
    texts = [one["stringValue"] for part in parts for one in part["functionCall"]["partialArgs"]]
    assert "".join(texts) == "# xy"


def test_log_probabilities_do_not_spell_it_out(client: Client, server: GoogleServer) -> None:
    spelled: dict[str, Any] = {
        "logprobsResult": {"chosenCandidates": [{"token": SECRET, "logProbability": -0.1}]},
        "finishReason": "STOP",
    }
    server.script(Reply(events=(chunk({"text": SECRET}, **spelled),)))
    assert SECRET not in json.dumps(said(client, Masking()), default=str)


def test_ids_and_signatures_are_left_alone(client: Client, server: GoogleServer) -> None:
    part = {"functionCall": {"id": SECRET, "name": "pay", "args": {}}, "thoughtSignature": "NDExMQ=="}
    server.script(Reply(events=(chunk(part, finishReason="STOP"),)))
    [found] = said(client, Masking())
    kept = found["candidates"][0]["content"]["parts"][0]
    assert kept["function_call"]["id"] == SECRET
    assert kept["thought_signature"] == b"4111"


def test_a_refused_stream_is_not_gone_on_with(client: Client, server: GoogleServer) -> None:
    """From version 3 on, the SDK goes on with a stream that has left a token and broken off."""
    begun = chunk({"text": "It is "}, continuationToken="dG9rZW4=")
    server.script(Reply(events=(begun, chunk({"text": SECRET}))))
    with pytest.raises(Reject):
        said(client, Refusing())
    assert len(server.requests) == 1


@pytest.mark.filterwarnings("ignore:CONTINUATION is not a valid")  # in versions that do not know it
def test_hops_of_a_stream_are_calls(client: Client, server: GoogleServer) -> None:
    begun = chunk({"text": "It is "}, continuationToken="dG9rZW4=", finishReason="CONTINUATION")
    server.script(Reply(events=(begun,)), "done")
    with recorder() as seen:
        chunks = list(client.models.generate_content_stream(**CONTENT))
    assert len(seen.operations) == len(server.requests)
    assert chunks[0].text == "It is "
