"""Usage, also of streams that are left, of prompts that are blocked, and of odd counts."""

from typing import Any

import pytest
from google.genai import Client

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.google_genai_ways import CONTENT, EMBEDDED, MODEL
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.testing import recorder


def test_usage_of_tools_and_thoughts(client: Client, server: GoogleServer) -> None:
    counts = {"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}
    candidates = [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}]
    server.script(Reply(body={"candidates": candidates, "usageMetadata": {**counts, "totalTokenCount": 22}}))
    with recorder() as seen:
        client.models.generate_content(**CONTENT)
    used = seen.operations[0].usage
    assert (used.input_tokens, used.output_tokens, used.reasoning_tokens) == (15, 7, 4)


@pytest.mark.parametrize("odd", [-1, "many", 1e30, None, [1]])
def test_odd_counts(client: Client, server: GoogleServer, odd: Any) -> None:
    server.script(Reply(tokens=Tokens(input=odd)))
    hooks = Hooks()
    with recorder(hooks) as seen:
        client._api_client.request("post", f"models/{MODEL}:generateContent", {"contents": []})
    assert seen.operations[0].usage.input_tokens == 0
    assert seen.operations[0].usage.output_tokens == 8


def test_a_stream_that_is_left_is_estimated(client: Client, server: GoogleServer) -> None:
    with recorder() as seen:
        stream = client.models.generate_content_stream(**CONTENT)
        next(iter(stream))
        stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    (op,) = seen.operations
    assert (op.status, op.usage.estimated, op.usage.input_tokens) == ("abandoned", True, 20)
    assert op.usage.output_tokens


def test_a_stream_that_is_left_after_its_end_is_whole(client: Client, server: GoogleServer) -> None:
    server.script("hello")
    with recorder() as seen:
        stream = client.models.generate_content_stream(**CONTENT)
        next(iter(stream))
        stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    (op,) = seen.operations
    assert (op.status, op.usage.estimated) == ("success", False)


def test_a_blocked_prompt(client: Client, server: GoogleServer) -> None:
    told = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}
    server.script(Reply(body=told), Reply(events=(told,)))
    with recorder() as seen:
        client.models.generate_content(**CONTENT)
        list(client.models.generate_content_stream(**CONTENT))
        spans = seen.tree()
    for span in spans:
        assert span["attributes"]["gen_ai.response.finish_reasons"] == ("PROHIBITED_CONTENT",)
        assert span["attributes"]["gen_ai.usage.input_tokens"] == 9
    assert not any(op.usage.estimated for op in seen.operations)


# ----------------------------------------------------------------------------------------------- other methods


def test_embeddings(client: Client, server: GoogleServer) -> None:
    with recorder() as seen:
        client.models.embed_content(**EMBEDDED, config={"output_dimensionality": 3})
        [node] = seen.tree()
    told = node["attributes"]
    assert node["name"] == "embeddings gemini-embedding-001"
    assert (told["gen_ai.embeddings.dimension.count"], told["gen_ai.usage.input_tokens"]) == (3, 20)


def test_embeddings_of_vertex_ai(vertex: Client, server: GoogleServer) -> None:
    with recorder() as seen:
        vertex.models.embed_content(model="text-embedding-005", contents=["one"])
    (op,) = seen.operations
    assert (op.kind, op.provider, op.usage.input_tokens) == ("embeddings.create", "gcp.vertex_ai", 20)


def test_inputs_of_embeddings_are_rewritten(client: Client, vertex: Client, server: GoogleServer) -> None:
    hooks = Hooks()

    @hooks.before("embeddings.create")
    def rewrite(op: Operation) -> None:
        texts = isinstance(op.request.inputs[0], str)
        op.replace(
            inputs=["***", "two"] if texts else [{"parts": [{"text": "***"}]}, *op.request.inputs[1:]], model="x-1"
        )

    with recorder(hooks):
        client.models.embed_content(**EMBEDDED)
        vertex.models.embed_content(model="text-embedding-005", contents=["one", "two"])
    first, second = server.requests
    assert [one["content"]["parts"][0]["text"] for one in first.body["requests"]] == ["***", "two"]
    assert {one["model"] for one in first.body["requests"]} == {"models/x-1"}
    assert [one["content"] for one in second.body["instances"]] == ["***", "two"]
    assert "publishers/google/models/x-1:predict" in second.path


@pytest.mark.filterwarnings("ignore:The generate_(images|videos) method")
def test_pictures_and_videos(vertex: Client, server: GoogleServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "a dog"}]}])

    with recorder(hooks) as seen:
        vertex.models.generate_images(model="imagen-4", prompt="a cat")
        vertex.models.generate_videos(model="veo-3", prompt="a cat")
        spans = seen.tree()
    assert [one["attributes"]["gen_ai.output.type"] for one in spans] == ["image", "video"]
    assert [one.body["instances"][0]["prompt"] for one in server.requests] == ["a dog", "a dog"]
