"""DSPy's embeddings: its batches and its cache."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.dspy import dspy
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body

numpy: Any = pytest.importorskip("numpy", reason="DSPy's embeddings need numpy")


@pytest.fixture
def body() -> Body:
    return Body()


@pytest.fixture
def hosted(body: Body) -> Iterator[Any]:
    with OpenAIServer() as server:
        url = server.url_for(Line(body, lambda _seen: Tokens().input))

        def make(**given: Any) -> Any:
            return dspy.Embedder("openai/text-embedding-3-small", api_base=url, api_key="test", num_retries=0, **given)

        yield make


def test_batches_are_one_operation_with_all_of_their_tokens(hosted: Any, body: Body, hooks: Hooks) -> None:
    began: list[tuple[str, Any]] = []
    used: list[int] = []
    hooks.before("embeddings.create")(lambda op: began.append((op.name, op.request.inputs)))
    hooks.after("embeddings.create")(lambda op: used.append(op.usage.input_tokens))
    spanhook.instrument(hooks)
    found = hosted(batch_size=2, caching=False)(["one", "two", "three", "four", "five"])
    assert len(found) == 5
    assert body.runs == 3
    assert began == [("text-embedding-3-small", ["one", "two", "three", "four", "five"])]
    assert used == [body.tokens]


def test_embeddings_from_the_cache_are_gated(hosted: Any, body: Body, hooks: Hooks) -> None:
    embedder = hosted()
    first = embedder("Is this cached?")
    hooks.before("embeddings.create")(refuse)
    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        embedder("Is this cached?")
    with pytest.raises(Reject, match="Not today"):
        asyncio.run(embedder.acall("Is this cached?"))
    spanhook.uninstrument()
    assert numpy.array_equal(embedder("Is this cached?"), first)
    assert body.runs == 1


def refuse(_op: Operation) -> None:
    raise Reject("Not today")


def test_a_rewrite_keeps_one_text_one_and_several_several(hooks: Hooks) -> None:
    embedder = dspy.Embedder(lambda texts: [[float(len(text))] for text in texts], caching=False)
    hooks.before("embeddings.create")(lambda op: op.replace(inputs=[text + "!" for text in op.request.inputs]))
    spanhook.instrument(hooks)
    assert embedder("one").tolist() == [4.0]
    assert embedder(["one", "three"]).tolist() == [[4.0], [6.0]]


def test_hooks_answer_with_vectors(hooks: Hooks) -> None:
    embedder = dspy.Embedder(lambda texts: [[0.0] for _ in texts], caching=False)
    hooks.before("embeddings.create")(lambda op: op.respond([[1.0, 2.0] for _ in op.request.inputs]))
    spanhook.instrument(hooks)
    assert embedder("one").tolist() == [1.0, 2.0]
    assert embedder(["one", "two"]).tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_an_answer_has_a_vector_for_each_text(hooks: Hooks) -> None:
    embedder = dspy.Embedder(lambda texts: [[0.0] for _ in texts], caching=False)
    hooks.before("embeddings.create")(lambda op: op.respond([1.0, 2.0]))
    spanhook.instrument(hooks)
    assert embedder("one").tolist() == [1.0, 2.0]
    assert embedder(["one"]).tolist() == [[1.0, 2.0]]
    with pytest.raises(Reject):
        embedder(["one", "two"])
