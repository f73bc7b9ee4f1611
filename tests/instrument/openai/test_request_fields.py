"""Which fields of OpenAI's requests hooks see, and which not."""

import json
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_ways import sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.instrument.openai.paths import _formats
from spanhook.testing import recorder
from tests.request_fields.cases import every_field_is_listed, what_is_seen_is_in_the_request
from tests.request_fields.stainless import OPENAI

MAIL = "ann@example.com"
VARIABLES = {"mail": MAIL, "note": {"type": "input_text", "text": f"write to {MAIL}"}}


def test_every_field_is_listed() -> None:
    every_field_is_listed(OPENAI)


def test_what_is_seen_is_in_the_request() -> None:
    what_is_seen_is_in_the_request(OPENAI, _formats(itself=True))


def test_texts_beside_the_messages_are_redacted() -> None:
    prediction: Any = {"type": "content", "content": [{"type": "text", "text": MAIL}]}
    with OpenAIServer() as server, recorder(Hooks(PIIRedaction())), sync_client(server.url) as client:
        client.responses.create(model="m", prompt={"id": "p", "version": "2", "variables": VARIABLES})  # type: ignore[arg-type]
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], prediction=prediction)
        client.completions.create(model="m", prompt="from", suffix=f"to {MAIL}")
    bodies = [request.body for request in server.requests]
    assert bodies[0]["prompt"] == {
        "id": "p",
        "version": "2",
        "variables": {"mail": "[EMAIL]", "note": {"type": "input_text", "text": "write to [EMAIL]"}},
    }
    assert bodies[1]["prediction"]["content"] == [{"type": "text", "text": "[EMAIL]"}]
    assert bodies[2]["suffix"] == "to [EMAIL]"
    assert MAIL not in json.dumps(bodies)


def test_a_framework_that_adds_such_a_text_is_gated_where_it_is_sent() -> None:
    from langchain_openai import ChatOpenAI

    hooks, seen = Hooks(), list[Any]()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)
        if "prediction" in op.request.arguments:
            raise Reject("no predictions")

    with OpenAIServer() as server, recorder(hooks):
        settings: Any = {"prediction": {"type": "content", "content": MAIL}}
        model = ChatOpenAI(model="m", base_url=f"{server.url}", api_key="k", model_kwargs=settings)  # type: ignore[arg-type]
        with pytest.raises(Reject):
            model.invoke("hi")
    assert seen == [{}, {"prediction": {"content": MAIL}}]
    assert server.requests == []
