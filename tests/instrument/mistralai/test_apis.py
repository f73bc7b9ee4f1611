"""Mistral's other endpoints, and the copies of its SDK."""

from importlib.util import find_spec
from typing import Any

import pytest
from mistralai.azure.client import errors as azure_errors
from mistralai.gcp.client import errors as google_errors

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.mistralai_ways import (
    ASKED,
    CHAT,
    DOCUMENT,
    EMBEDDINGS,
    FIM,
    RESPONSES,
    SPEECH,
    TRANSCRIBES,
    azure,
    google,
)
from spanhook.cli.conformance.servers.mistral_server import MistralServer
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.cli.conformance.servers.requests import Seen
from spanhook.testing import recorder


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=403)

    return hooks


def test_filling_in_the_middle(client: Any, mistral: MistralServer) -> None:
    told: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        told.append(op.request.messages)
        (message,) = op.request.messages
        first, second = message["parts"]
        op.replace(messages=[{**message, "parts": [first, {**second, "content": "other"}]}])

    with recorder(hooks) as seen:
        client.fim.complete(**FIM)
    parts = [{"type": "text", "content": ASKED}, {"type": "text", "content": "end"}]
    assert told == [[{"role": "user", "parts": parts}]]
    assert (mistral.requests[0].body["prompt"], mistral.requests[0].body["suffix"]) == (ASKED, "other")
    assert seen.spans[0].name == "text_completion codestral-latest"


def test_embeddings(client: Any, mistral: MistralServer) -> None:
    with recorder() as seen:
        client.embeddings.create(**EMBEDDINGS, output_dimension=3)
    assert (seen.spans[0].attributes or {})["gen_ai.embeddings.dimension.count"] == 3
    assert seen.operations[0].usage.total_tokens == 20
    hooks = Hooks()
    hooks.before("embeddings.create")(lambda op: op.respond([[0.5], [0.25]]))
    with recorder(hooks):
        answer = client.embeddings.create(**EMBEDDINGS)
    assert [one.embedding for one in answer.data] == [[0.5], [0.25]]
    assert len(mistral.requests) == 1


def test_text_recognition(client: Any, mistral: MistralServer) -> None:
    told: list[Any] = []
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: told.append((op.request.messages, op.response.text)))
    with recorder(hooks) as seen:
        client.ocr.process(model="mistral-ocr-latest", document=DOCUMENT)
    [(messages, text)] = told
    assert (messages[0]["parts"][0].get("uri") or messages[0]["parts"][0]["document_url"]) == DOCUMENT["document_url"]
    assert text == "hello there friend"
    assert (seen.operations[0].usage.total_tokens, seen.spans[0].name) == (0, "generate_content mistral-ocr-latest")
    answering = Hooks()
    answering.before("llm.call")(lambda op: op.respond("blank"))
    with recorder(answering):
        assert client.ocr.process(model="m", document=DOCUMENT).pages[0].markdown == "blank"
    with recorder(refusing()), pytest.raises(Reject, match="not today"):
        client.ocr.process(model="m", document=DOCUMENT)
    assert len(mistral.requests) == 1


def test_transcription(client: Any, mistral: MistralServer) -> None:
    told: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        told.append((op.request.model, op.request.messages))
        op.replace(model="other")

    with recorder(hooks) as seen:
        TRANSCRIBES.ways["create"](client)
        TRANSCRIBES.ways["stream"](client)
    upload = [{"role": "user", "parts": [{"type": "upload", "name": "file"}]}]
    assert told == [("voxtral-mini-latest", upload), ("voxtral-mini-latest", upload)]
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)] * 2
    assert [one.body["model"] for one in mistral.requests] == ["other"] * 2
    assert [one.body["file"] for one in mistral.requests] == ["5 bytes"] * 2
    answering = Hooks()
    answering.before("llm.call")(lambda op: op.respond("quiet"))
    with recorder(answering):
        assert TRANSCRIBES.ways["create"](client).text == "quiet"
        events = TRANSCRIBES.ways["stream"](client)
    assert [event.data.text for event in events] == ["quiet", "quiet"]
    with recorder(refusing()), pytest.raises(Reject, match="not today"):
        TRANSCRIBES.ways["create"](client)
    assert len(mistral.requests) == 2


@pytest.mark.skipif(find_spec("mistralai.client.speech") is None, reason="it is not in this version")
def test_speech(client: Any, mistral: MistralServer) -> None:
    with recorder() as seen:
        SPEECH["create"](client)
    assert (seen.spans[0].attributes or {})["gen_ai.output.type"] == "speech"
    with recorder(refusing()), pytest.raises(Reject, match="not today"):
        SPEECH["create"](client)
    assert len(mistral.requests) == 1


@pytest.mark.skipif(find_spec("mistralai.client.responses") is None, reason="they are not in this version")
def test_responses(client: Any) -> None:
    with recorder() as seen:
        RESPONSES["create"](client)
        list(RESPONSES["stream"](client))
    assert [(op.provider, op.usage.total_tokens, op.usage.estimated) for op in seen.operations] == [
        ("mistral_ai", 28, False)
    ] * 2


def test_batches_and_what_is_only_read(client: Any, mistral: MistralServer) -> None:
    with recorder() as seen:
        client.batch.jobs.create(input_files=["f"], endpoint="/v1/chat/completions", model="m")
        for read in (client.batch.jobs.list, client.files.list, client.models.list):
            with pytest.raises(Exception, match="404"):
                read()
    assert [span.name for span in seen.spans] == ["batch m"]
    with recorder(refusing()), pytest.raises(Reject, match="not today"):
        client.batch.jobs.create(input_files=["f"], endpoint="/v1/chat/completions", model="m")
    assert [one.method for one in mistral.requests].count("POST") == 1


# ------------------------------------------------------------------------------------------------- copies


def test_on_azure(mistral: MistralServer) -> None:
    client = azure(mistral.url)
    with recorder() as seen:
        client.chat.complete(**CHAT)
    assert [(op.provider, op.usage.total_tokens) for op in seen.operations] == [("azure.ai.inference", 28)]
    with recorder(refusing()), pytest.raises(azure_errors.SDKError, match="not today"):
        client.chat.complete(**CHAT)
    assert len(mistral.requests) == 1


def test_on_google_cloud(mistral: MistralServer) -> None:
    requests: list[Seen] = []
    client = google(mistral.url, mistral.project_for(requests))
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(model="other"))
    with recorder(hooks) as seen:
        client.chat.complete(**CHAT)
        list(client.fim.stream(**FIM))
    assert [span.name for span in seen.spans] == ["chat other", "text_completion other"]
    assert [(op.provider, op.usage.total_tokens) for op in seen.operations] == [("gcp.vertex_ai", 28)] * 2
    assert "/models/other:rawPredict" in requests[0].path
    assert "/models/other:streamRawPredict" in requests[1].path
    with recorder(refusing()), pytest.raises(google_errors.SDKError, match="not today"):
        client.chat.complete(**CHAT)
    assert len(requests) == 2


def test_odd_answers_are_passed_on(client: Any, mistral: MistralServer) -> None:
    mistral.reply = Reply(body={"odd": True})
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: None)
    with recorder(hooks) as seen, pytest.raises(Exception, match="validation"):
        client.chat.complete(**CHAT)
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 0)]
