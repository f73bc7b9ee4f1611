"""Batches: gated when they are created."""

from collections.abc import Callable
from typing import Any

import pytest
from google.genai import Client, errors
from google.genai.batches import Batches

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries import google_genai_ways as ways
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.testing import recorder

PROMPTS: list[Any] = [{"contents": [{"role": "user", "parts": [{"text": one}]}]} for one in ("Hello", "Goodbye")]
_EMBEDDED: Any = {"inlined_requests": {"contents": [{"parts": [{"text": "Hello"}]}]}}
WAYS: dict[str, Callable[[Client], Any]] = {
    "create": lambda api: api.batches.create(model=ways.MODEL, src=PROMPTS),
    "acreate": lambda api: api.aio.batches.create(model=ways.MODEL, src=PROMPTS),
}
if hasattr(Batches, "create_embeddings"):  # not in the oldest versions
    more: dict[str, Callable[[Any], Any]] = {
        "embeddings": lambda api: api.batches.create_embeddings(model=ways.MODEL, src=_EMBEDDED),
        "aembeddings": lambda api: api.aio.batches.create_embeddings(model=ways.MODEL, src=_EMBEDDED),
    }
    WAYS.update(more)


def _made(way: str, client: Client) -> Any:
    made = WAYS[way](client)
    return run(made) if hasattr(made, "__await__") else made


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:batches.create_embeddings")  # the SDK's: embeddings of batches are experimental
def test_a_batch_is_refused_before_any_request(client: Client, server: GoogleServer, way: str) -> None:
    hooks = Hooks()
    seen: list[Operation] = []

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        seen.append(op)
        raise Reject("not today")

    with recorder(hooks), pytest.raises(errors.ClientError) as caught:
        _made(way, client)
    assert isinstance(caught.value, Reject)
    assert server.requests == []
    assert seen[0].request.model == ways.MODEL
    assert "Hello" in str(seen[0].request.messages)


def test_a_batch_of_vertex_ai_is_refused_and_may_get_another_model(vertex: Client, server: GoogleServer) -> None:
    asked: Any = {"model": ways.MODEL, "src": "gs://one/two.jsonl", "config": {"dest": "gs://one/three"}}
    hooks = Hooks()

    @hooks.before("llm.call")
    def another(op: Operation) -> None:
        op.replace(model="publishers/google/models/other")

    with recorder(hooks) as seen:
        vertex.batches.create(**asked)
    assert (len(seen.operations), server.requests[-1].body["model"]) == (1, "publishers/google/models/other")
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    sent = len(server.requests)
    with recorder(hooks), pytest.raises(errors.ClientError):
        vertex.batches.create(**asked)
    assert len(server.requests) == sent


def test_lists_of_batches_are_no_model_calls(client: Client, vertex: Client) -> None:
    with recorder() as seen:
        list(client.batches.list())
        list(vertex.batches.list())
    assert seen.operations == []
