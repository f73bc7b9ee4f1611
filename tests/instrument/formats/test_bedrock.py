"""The JSON of Bedrock's APIs: odd values, everything that a message may hold, and answers."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from spanhook.instrument.formats.bedrock import (
    COHERE,
    LLAMA,
    MISTRAL,
    TITAN,
    AnyBody,
    BodyEmbeddings,
    Converse,
    Prompted,
)
from spanhook.instrument.formats.bedrock.blocks import from_message
from spanhook.instrument.formats.bedrock.converse_chunks import ConverseChunks
from spanhook.instrument.wire import ChunkLike, Format
from spanhook.model import Attributes, Change

LIKE: ChunkLike = lambda _chunk, value: value  # noqa: E731
ODD: tuple[Any, ...] = (None, 5, "text", [], {}, [None], [5], ["text"], {"text": 5}, [{"text": None}], True, b"bytes")
FORMATS: dict[str, Format] = {
    "converse": Converse(),
    "titan": Prompted(TITAN),
    "llama": Prompted(LLAMA),
    "mistral": Prompted(MISTRAL),
    "cohere": Prompted(COHERE),
    "embeddings": BodyEmbeddings(),
    "unknown": AnyBody(),
}
BLOCKS: list[Any] = [
    {"text": "said"},
    {"image": {"format": "png", "source": {"bytes": b"\x01"}}},
    {"image": {"format": "png", "source": {"bytes": "AQ=="}}},
    {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://there/it"}}}},
    {"document": {"format": "pdf", "name": "paper", "source": {"bytes": b"%PDF"}}},
    {"document": {"format": "txt", "name": "note", "source": {"text": "written"}}},
    {"guardContent": {"text": {"text": "guarded", "qualifiers": ["query"]}}},
    {"reasoningContent": {"reasoningText": {"text": "thought", "signature": "s"}}},
    {"reasoningContent": {"redactedContent": b"\x00"}},
    {"citationsContent": {"content": [{"text": "quoted"}], "citations": [{"title": "t"}]}},
    {"searchResult": {"source": "s", "title": "t", "content": [{"text": "found"}]}},
    {"cachePoint": {"type": "default"}},
    {"toolUse": {"toolUseId": "t1", "name": "n", "input": {"of": 1}}},
]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_nothing_fails_whatever_the_values(name: str, odd: Any) -> None:
    form = FORMATS[name]
    keys = ("messages", "system", "toolConfig", "inferenceConfig", "outputConfig", "guardrailConfig", "model")
    more = ("prompt", "inputText", "message", "texts", "temperature", "stop", "output", "stopReason", "usage", "trace")
    rest = ("results", "outputs", "text", "generation", "outputText", "prompt_token_count", "inputTextTokenCount")
    body: dict[str, Any] = dict.fromkeys((*keys, *more, *rest, "textGenerationConfig", "metadata"), odd)
    for told in (body, {"messages": [{"content": [odd], "role": odd}], "output": {"message": odd}}):
        attributes: Attributes = {}
        form.describe(attributes, told)
        form.request(told)
        form.carries(told)
        form.response(told)
        form.output(told)
    chunks = form.chunks({}, lambda told: told)
    chunks.keep = True
    for kind in ("contentBlockDelta", "contentBlockStart", "messageStop", "metadata", "results", "text"):
        chunks.add({kind: odd})
        chunks.add({kind: {"delta": odd, "start": odd, "contentBlockIndex": odd, "usage": odd}})
    chunks.response()
    chunks.result()


def test_parts_of_messages() -> None:
    request = Converse().request({"messages": [{"role": "user", "content": BLOCKS}]})
    assert request.messages[0]["parts"] == snapshot(
        [
            {"type": "text", "content": "said"},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AQ=="},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AQ=="},
            {"type": "uri", "modality": "video", "mime_type": "video/mp4", "uri": "s3://there/it"},
            {"type": "blob", "modality": "document", "mime_type": "application/pdf", "content": "JVBERg=="},
            {"type": "text", "content": "written"},
            {"type": "text", "content": "guarded"},
            {"type": "reasoning", "content": "thought"},
            {"type": "reasoning", "content": ""},
            {"type": "text", "content": "quoted"},
            {"type": "searchResult", "searchResult": {"source": "s", "title": "t", "content": [{"text": "found"}]}},
            {"type": "cachePoint", "cachePoint": {"type": "default"}},
            {"type": "tool_call", "id": "t1", "name": "n", "arguments": {"of": 1}},
        ]
    )


def test_what_does_not_change_is_sent_as_it_was() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": BLOCKS}]}
    messages = Converse().request(body).messages
    messages[0]["parts"][0] = {"type": "text", "content": "masked"}
    Converse().rewrite(body, Change(messages=messages))
    assert body["messages"][0]["content"] == [{"text": "masked"}, *BLOCKS[1:]]


def test_text_in_one_piece_becomes_a_block() -> None:
    assert from_message({"role": "user", "content": "Hi"}) == [{"role": "user", "content": [{"text": "Hi"}]}]
    own = {"role": "user", "content": [{"text": "Hi"}]}
    assert from_message(own) == [own]


def test_text_stays_in_blocks_of_its_sort() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": [BLOCKS[5], BLOCKS[6], BLOCKS[12]]}]}
    messages = Converse().request(body).messages
    for part in messages[0]["parts"][:2]:
        part["content"] = "masked"
    messages[0]["parts"][2]["arguments"] = {"of": 2}
    Converse().rewrite(body, Change(messages=messages))
    assert body["messages"][0]["content"] == [
        {"document": {"format": "txt", "name": "note", "source": {"text": "masked"}}},
        {"guardContent": {"text": {"text": "masked", "qualifiers": ["query"]}}},
        {"toolUse": {"toolUseId": "t1", "name": "n", "input": {"of": 2}}},
    ]


def test_media_that_cannot_be_sent() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "see"}]}]}
    picture = {"type": "uri", "modality": "image", "uri": "https://example.com/a.png"}
    with pytest.raises(ValueError, match="S3"):
        Converse().rewrite(body, Change(messages=[{"role": "user", "parts": [picture]}]))


def test_the_choice_of_a_router_and_the_hour_of_a_cache() -> None:
    usage = {
        "inputTokens": 10,
        "outputTokens": 5,
        "cacheReadInputTokens": 100,
        "cacheWriteInputTokens": 50,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 20}, {"ttl": "5m", "inputTokens": 30}],
    }
    trace = {"promptRouter": {"invokedModelId": "amazon.nova-pro-v1:0"}}
    attributes, used = Converse().response({"usage": usage, "trace": trace, "stopReason": "end_turn"})
    assert used is not None
    assert (used.input_tokens, used.cache_read_tokens, used.cache_write_tokens, used.cache_hour_tokens) == (
        160,
        100,
        50,
        20,
    )
    assert attributes == snapshot(
        {"gen_ai.response.finish_reasons": ("end_turn",), "gen_ai.response.model": "amazon.nova-pro-v1:0"}
    )


def test_a_stream_is_the_answer_that_it_adds_up_to() -> None:
    call = {"toolUse": {"toolUseId": "t1", "name": "n", "input": {"of": 1}}}
    thought = {"reasoningContent": {"reasoningText": {"text": "thought", "signature": "s"}}}
    message = {"role": "assistant", "content": [thought, {"text": "said"}, call]}
    whole = Converse().payload({}, {"output": {"message": message}})
    chunks = Converse().chunks({}, lambda told: told)
    chunks.keep = True
    for _, event in Converse().events({}, whole):
        chunks.add(event)
    assert chunks.result() == whole
    assert chunks.complete


@pytest.mark.parametrize("name", ["titan", "llama", "mistral", "cohere"])
def test_streams_of_prompted_models(name: str) -> None:
    form = FORMATS[name]
    whole = form.payload({}, "said")
    chunks = form.chunks({}, lambda told: told)
    chunks.keep = True
    for _, event in form.events({}, whole):
        chunks.add(event)
    assert (form.output(chunks.result()), chunks.complete) == (form.output(whole), True)
    cut = form.chunks({"prompt": "x" * 40, "inputText": "x" * 40, "message": "x" * 40}, lambda told: told)
    used = cut.response()[1]
    assert used is not None
    assert (used.input_tokens, used.output_tokens, used.estimated) == (10, 0, True)


def test_rewritten_prompts_and_texts() -> None:
    body: dict[str, Any] = {"prompt": "said", "temperature": 1, "model": "m"}
    Prompted(LLAMA).rewrite(body, Change(messages=[{"role": "user", "content": "masked"}], model="n"))
    assert body == {"prompt": "masked", "temperature": 1, "model": "n"}
    texts: dict[str, Any] = {"texts": ["a"], "input_type": "query"}
    BodyEmbeddings().rewrite(texts, Change(inputs="masked"))
    assert texts == {"texts": ["masked"], "input_type": "query"}
    unknown: dict[str, Any] = {"said": "x", "model": "m"}
    AnyBody().rewrite(unknown, Change(inputs={"said": "masked"}))
    assert unknown == {"said": "masked", "model": "m"}


def test_answers_to_embeddings() -> None:
    form = BodyEmbeddings()
    assert form.payload({"inputText": "x"}, [1.0]) == {"embedding": [1.0], "inputTextTokenCount": 0}
    assert form.payload({"texts": ["x"]}, [[1.0]]) == {"embeddings": [[1.0]], "texts": ["x"]}
    with pytest.raises(TypeError, match="not str"):
        form.payload({}, "text")


def test_what_a_consumer_makes_of_a_streams_counts_does_not_reach_the_totals() -> None:
    chunks = ConverseChunks({}, dict)
    event: dict[str, Any] = {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 20, "cacheDetails": [{}]}}}
    chunks.add(event)
    event["metadata"]["usage"].update(inputTokens=1, outputTokens=1)
    _, used = chunks.response()
    assert used is not None
    assert (used.input_tokens, used.output_tokens) == (10, 20)
