"""Embeddings, in versions that have them."""

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_scripts import scripted_client
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import refusing, told

if find_spec("pydantic_ai.embeddings") is not None:
    embeddings: Any = import_module("pydantic_ai.embeddings")
    of_openai: Any = import_module("pydantic_ai.embeddings.openai")
    providers: Any = import_module("pydantic_ai.providers.openai")

    def _embedder(body: Body) -> Any:
        provider = providers.OpenAIProvider(openai_client=scripted_client(body))
        return embeddings.Embedder(of_openai.OpenAIEmbeddingModel("text-embedding-3-small", provider=provider))

    def test_one_operation_for_a_call_and_its_request() -> None:
        body = Body()
        with recorder() as seen:
            result = asyncio.run(_embedder(body).embed_documents(["tea", "coffee"]))
        assert len(result.embeddings) == 2
        assert told(seen) == [("embeddings.create", "text-embedding-3-small", "success")]
        assert seen.operations[0].usage.input_tokens > 0

    def test_a_refused_call_sends_nothing() -> None:
        body = Body()
        with recorder(refusing("embeddings.create")), pytest.raises(Reject, match="not now"):
            asyncio.run(_embedder(body).embed_query("tea"))
        assert body.runs == 0

    def test_rewritten_and_answered() -> None:
        hooks, body = Hooks(), Body()

        @hooks.before("embeddings.create")
        def decide(op: Operation) -> None:
            if op.request.inputs == ["answer"]:
                op.respond([[1.0, 2.0]])
            else:
                op.replace(inputs=["coffee"])

        with recorder(hooks):
            asyncio.run(_embedder(body).embed_query("tea"))
            assert body.seen[0].body["input"] == ["coffee"]
            answered = asyncio.run(_embedder(body).embed_query("answer"))
        assert answered.embeddings == [[1.0, 2.0]]
        assert body.runs == 1

    def test_wrappers_pass_on() -> None:
        instrumented: Any = import_module("pydantic_ai.embeddings.instrumented")
        model = instrumented.InstrumentedEmbeddingModel(embeddings.TestEmbeddingModel())
        with recorder() as seen:
            asyncio.run(embeddings.Embedder(model).embed_query("tea"))
        assert [kind for kind, _, _ in told(seen)] == ["embeddings.create"]
