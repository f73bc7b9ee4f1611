"""Texts in structured values: each is redacted, of whatever type the values around it are; media stays as it is."""

import copy
import json
from collections import ChainMap, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from decimal import Decimal
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, operation
from spanhook.cli.conformance.libraries.anthropic_ways import sync_client as anthropic_client
from spanhook.cli.conformance.libraries.openai_ways import sync_client
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.hooks.pii_redaction._values import changed
from spanhook.testing import recorder

MAIL, CARD = "ann@example.com", "4111111111111111"
redactor = PIIRedaction().redactor


def redacted(value: Any, **place: Any) -> Any:
    return changed(value, lambda text: redactor.redact(text)[0], **place)


def test_values_of_every_type_are_read() -> None:
    assert redacted(deque([MAIL], maxlen=3)) == deque(["[EMAIL]"])
    assert redacted(deque([MAIL], maxlen=3)).maxlen == 3
    assert redacted(UserList([MAIL])) == UserList(["[EMAIL]"])
    assert redacted(UserDict({MAIL: MAIL})) == UserDict({"[EMAIL]": "[EMAIL]"})
    assert redacted(UserString(MAIL)) == UserString("[EMAIL]")
    assert redacted(OrderedDict(a=MAIL)) == OrderedDict(a="[EMAIL]")
    assert redacted(defaultdict(list, a=MAIL)) == {"a": "[EMAIL]"}
    assert redacted(MappingProxyType({"a": MAIL})) == {"a": "[EMAIL]"}
    assert redacted(ChainMap({"a": "1"}, {"b": MAIL})) == {"a": "1", "b": "[EMAIL]"}
    assert redacted({"a": MAIL}.values()) == ["[EMAIL]"]
    assert redacted({MAIL: 1}.keys()) == ["[EMAIL]"]
    assert redacted({"a": MAIL}.items()) == [("a", "[EMAIL]")]
    assert redacted(SimpleNamespace(to=[MAIL], n=1)) == SimpleNamespace(to=["[EMAIL]"], n=1)
    assert redacted({frozenset((MAIL,)): 1}) == {frozenset(("[EMAIL]",)): 1}
    assert redacted({Decimal(CARD): 1}) == {"[CREDIT_CARD]": 1}


def test_numbers_of_every_type_are_read() -> None:
    assert redacted([int(CARD), float(CARD), Decimal(CARD), Decimal(f"{CARD}.00")]) == ["[CREDIT_CARD]"] * 4
    same = [Decimal("4111111111111111.5"), Decimal("NaN"), Decimal("Infinity"), float("nan"), float("inf"), 1e300, -1]
    assert redacted(same) is same


def test_what_has_nothing_stays_the_same_object() -> None:
    for value in (deque(["a"]), SimpleNamespace(a=1), UserList(["a"]), {"a": 1}.values(), ChainMap({}, {"a": 1})):
        assert redacted(value) is value


# What is in the place of media, though it looks like text to be redacted: it must arrive as it is. In the second form
# the same fields are elsewhere, so it is text.
URL = f"data:image/png;base64,{CARD}"
PLACES: dict[str, tuple[Any, Any]] = {
    "OpenAI image": ({"type": "image_url", "image_url": {"url": URL}}, {"image": {"url": URL}}),
    "OpenAI image as text": ({"type": "image_url", "image_url": URL}, {"type": "text", "image_url": URL}),
    "OpenAI sound": (
        {"type": "input_audio", "input_audio": {"data": CARD, "format": "wav"}},
        {"type": "input_audio", "sound": {"data": CARD}},
    ),
    "OpenAI file": ({"type": "file", "file": {"file_data": CARD}}, {"type": "file", "files": {"file_data": CARD}}),
    "OpenAI item": ({"type": "input_image", "image_url": URL}, {"type": "input_image", "image_url": CARD}),
    "OpenAI file item": ({"type": "input_file", "file_data": CARD}, {"type": "input_file", "file_name": CARD}),
    "OpenAI screenshot": ({"type": "computer_screenshot", "image_url": URL}, {"type": "computer", "image_url": URL}),
    "OpenAI picture": ({"type": "image_generation_call", "result": CARD}, {"type": "web_search_call", "result": CARD}),
    "OpenAI pictures": ({"data": [{"b64_json": CARD}]}, {"data": [{"b64_json": CARD, "note": ""}]}),
    "OpenAI answer": ({"audio": {"id": "a", "data": CARD, "transcript": ""}}, {"audio": {"data": CARD}}),
    "Anthropic": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": CARD}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": CARD}},
    ),
    "Gemini": ({"inline_data": {"mime_type": "image/png", "data": CARD}}, {"inline": {"data": CARD}}),
    "Gemini in JSON": ({"inlineData": {"mimeType": "image/png", "data": CARD}}, {"function": {"data": CARD}}),
    "Gemini bytes": (
        {"inline_data": {"mime_type": "image/png", "data": CARD.encode()}},
        {"inline_data": {"mime_type": "text/plain", "data": CARD.encode()}},
    ),
    "MCP image": ({"type": "image", "data": CARD, "mimeType": "image/png"}, {"type": "image", "data": CARD}),
    "MCP audio": ({"type": "audio", "data": CARD, "mimeType": "audio/wav"}, {"type": "text", "data": CARD}),
    "MCP blob": (
        {"type": "resource", "resource": {"uri": "a:b", "blob": CARD}},
        {"type": "resource", "resource": {"uri": "a:b", "text": CARD}},
    ),
    "MCP contents": (
        {"contents": [{"uri": "a:b", "mimeType": "image/png", "blob": CARD}]},
        {"uri": "a:b", "blob": CARD, "note": ""},
    ),
    "encrypted reasoning": (
        {"type": "reasoning", "encrypted_content": CARD},
        {"type": "message", "encrypted_content": CARD},
    ),
    "a signature": ({"type": "thinking", "signature": CARD}, {"type": "thinking", "thinking": CARD}),
    "hidden reasoning": ({"type": "redacted_thinking", "data": CARD}, {"type": "thinking", "data": CARD}),
    "Bedrock": (
        {"image": {"format": "png", "source": {"bytes": CARD.encode()}}},
        {"document": {"format": "txt", "source": {"bytes": CARD.encode()}}},
    ),
    "Mistral": ({"type": "document_url", "document_url": URL}, {"type": "document_url", "document_name": CARD}),
    "Mistral sound": ({"type": "input_audio", "input_audio": CARD}, {"type": "output", "input_audio": CARD}),
    "LangChain": ({"type": "image", "base64": CARD, "mime_type": "image/png"}, {"type": "image", "base64": CARD}),
    "LangChain 0": (
        {"type": "file", "source_type": "base64", "data": CARD},
        {"type": "file", "source_type": "text", "text": CARD},
    ),
    "LangChain media": ({"type": "media", "data": CARD, "mime_type": "video/mp4"}, {"type": "media", "data": CARD}),
    "Pydantic AI": ({"kind": "binary", "media_type": "image/png", "data": CARD}, {"kind": "text", "data": CARD}),
    "LlamaIndex": ({"block_type": "image", "image": CARD}, {"block_type": "text", "image": CARD}),
    "Haystack": ({"base64_image": CARD, "mime_type": "image/png"}, {"base64_image": CARD}),
    "Agent Framework": ({"type": "data", "uri": URL}, {"type": "uri", "uri": f"https://a.example/?to={MAIL}"}),
    "the conventions": (
        {"type": "blob", "modality": "image", "content": CARD},
        {"type": "text", "modality": "image", "content": CARD},
    ),
    "no address with data": (
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "image_url", "image_url": {"url": f"data:text/plain,{CARD}"}},
    ),
    "types of any sort": (
        {"type": "image", "data": CARD, "mimeType": "image/png"},
        {"type": ["image"], "data": CARD, "mimeType": {}},
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_media_is_known_by_its_place(name: str) -> None:
    media, text = PLACES[name]
    nested = {"content": [copy.deepcopy(media), {"type": "text", "text": CARD}]}

    assert redacted(media) is media
    assert redacted(nested) == {"content": [media, {"type": "text", "text": "[CREDIT_CARD]"}]}
    assert not any(value in repr(redacted(text)) for value in (CARD, MAIL))
    assert CARD not in repr(redacted(media, place=None))
    fields = SimpleNamespace(**media)
    assert redacted(fields) is fields


LONG = "\n".join([CARD] * 60)
TEXTS = {
    "a column": LONG,
    "keys": "\n".join(["AKIAIOSFODNN7EXAMPLE"] * 30),
    "padded": "a" * 600 + "\n" + CARD,
    "like a URL": f"data:image/png;base64,{'A' * 600}\n{CARD}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_looks_like_media_is_read_everywhere(name: str) -> None:
    text, got = TEXTS[name], list[Any]()

    @spanhook.tool("send")
    def send(data: Any) -> Any:
        got.append(data)
        return {"type": "text", "text": text}

    with recorder(Hooks(PIIRedaction())):
        result = send({"type": "image", "mimeType": "image/png", "data": text})
        with operation("llm.call", "m", provider="p", request={"messages": [text]}) as op:
            got.append(op.request.messages)
    assert not any(value in repr((got, result)) for value in (CARD, "AKIAIO"))


def test_media_arrives_byte_for_byte() -> None:
    picture = f"iVBO{CARD}/AKIAIOSFODNN7EXAMPLE+"
    chat: Any = [{"role": "user", "content": [
        {"type": "text", "text": CARD},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
        {"type": "input_audio", "input_audio": {"data": picture, "format": "wav"}}]}]  # fmt: skip
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    talk: Any = [
        {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": CARD}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "see", "input": {"data": CARD}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
            {"type": "image", "source": source}, {"type": "text", "text": CARD}]}]}]  # fmt: skip
    with OpenAIServer() as server, recorder(Hooks(PIIRedaction())), sync_client(server.url) as client:
        client.chat.completions.create(model="gpt-4o-mini", messages=chat)
        client.responses.create(
            model="gpt-4o-mini",
            input=[{"role": "user", "content": [
                {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{picture}"},
                {"type": "input_text", "text": CARD}]}],
        )  # fmt: skip
    with AnthropicServer() as other, recorder(Hooks(PIIRedaction())), anthropic_client(other.url) as anthropic:
        anthropic.messages.create(model="claude-haiku-4-5", max_tokens=9, messages=talk)
    for count, request in zip((2, 1, 2), (*server.requests, *other.requests), strict=True):
        body = json.dumps(request.body)
        assert body.count(picture) == count
        assert CARD not in body.replace(picture, "")


def test_media_in_results_of_tools_stays() -> None:
    result = {"content": [{"type": "image", "mimeType": "image/png", "data": CARD}, {"type": "text", "text": MAIL}]}

    @spanhook.tool("look")
    def look() -> Any:
        return result

    with recorder(Hooks(PIIRedaction())):
        assert look() == {"content": [result["content"][0], {"type": "text", "text": "[EMAIL]"}]}


def test_text_in_the_place_of_media_is_read_if_it_cannot_be_base64() -> None:
    text, masked = f"{MAIL} {CARD}", "[EMAIL] [CREDIT_CARD]"
    for make in (
        lambda data: {"type": "image_url", "image_url": {"url": f"data:text/plain;base64,{data}"}},
        lambda data: {"type": "image_url", "image_url": {"url": f"data:image/png;base64,AAAA\n{data}"}},
        lambda data: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        lambda data: {"inline_data": {"mime_type": "image/png", "data": data}},
        lambda data: {"uri": "file:///a", "blob": data},
        lambda data: {"b64_json": data},
        lambda data: {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}},
    ):
        assert redacted(make(text)) == make(masked)
        assert redacted(make(CARD)) == make(CARD)
    for name in ("signature", "encrypted_content"):  # of a form that only the provider knows
        sealed = {"type": "reasoning", name: text}
        assert redacted(sealed) == sealed
