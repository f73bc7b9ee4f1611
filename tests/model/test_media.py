"""Images, sound and documents in every form that providers and frameworks have of them, read and written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.model import Form, block_form, chat_form, item_form, made_form, media_part, media_wire, source_form
from spanhook.model import text_wire as with_text

Part = dict[str, Any]
PNG, PDF, WAV, MP4 = "image/png", "application/pdf", "audio/wav", "video/mp4"


def blob(mime: str, modality: str, content: str = "AAAA") -> Part:
    return {"type": "blob", "modality": modality, "mime_type": mime, "content": content}


def uri(modality: str, url: str = "https://x/y", **more: Any) -> Part:
    return {"type": "uri", "modality": modality, **more, "uri": url}


def file(modality: str, identifier: str = "f1", **more: Any) -> Part:
    return {"type": "file", "modality": modality, **more, "file_id": identifier}


FORMS: list[tuple[str, Part, Part]] = [
    ("chat: URL", {"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low"}}, uri("image")),
    ("chat: bare URL", {"type": "image_url", "image_url": "https://x/y"}, uri("image")),
    ("chat: data", {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, blob(PNG, "image")),
    ("chat: no base64", {"type": "image_url", "image_url": {"url": "data:,x"}}, uri("image", "data:,x")),
    ("chat: video", {"type": "video_url", "video_url": {"url": "https://x/y"}}, uri("video")),
    ("chat: sound", {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, blob(WAV, "audio")),
    (
        "chat: mp3",
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        blob("audio/mpeg", "audio"),
    ),
    ("chat: file", {"type": "file", "file": {"file_id": "f1"}}, file("document")),
    (
        "chat: file's data",
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {**blob(PDF, "document"), "filename": "a.pdf"},
    ),
    (
        "chat: named file",
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "AAAA"}},
        {**blob(PDF, "document"), "filename": "a.pdf"},
    ),
    ("item: URL", {"type": "input_image", "image_url": "https://x/y", "detail": "auto"}, uri("image")),
    ("item: data", {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, blob(PNG, "image")),
    ("item: id", {"type": "input_image", "file_id": "f1"}, file("image")),
    ("item: file's URL", {"type": "input_file", "file_url": "https://x/y"}, uri("document")),
    ("item: file's id", {"type": "input_file", "file_id": "f1"}, file("document")),
    (
        "item: file's data",
        {"type": "input_file", "filename": "a.pdf", "file_data": "AAAA"},
        {**blob(PDF, "document"), "filename": "a.pdf"},
    ),
    ("item: made", {"type": "image_generation_call", "id": "ig_1", "result": "AAAA"}, blob(PNG, "image")),
    (
        "Anthropic: base64",
        {"type": "image", "source": {"type": "base64", "media_type": PNG, "data": "AAAA"}},
        blob(PNG, "image"),
    ),
    ("Anthropic: URL", {"type": "image", "source": {"type": "url", "url": "https://x/y"}}, uri("image")),
    ("Anthropic: file", {"type": "image", "source": {"type": "file", "file_id": "f1"}}, file("image")),
    (
        "Anthropic: PDF",
        {"type": "document", "title": "A", "source": {"type": "base64", "media_type": PDF, "data": "AAAA"}},
        {**blob(PDF, "document"), "title": "A"},
    ),
    ("Anthropic: PDF's URL", {"type": "document", "source": {"type": "url", "url": "https://x/y"}}, uri("document")),
    ("Anthropic: PDF's id", {"type": "document", "source": {"type": "file", "file_id": "f1"}}, file("document")),
    (
        "Anthropic: text",
        {"type": "document", "context": "B", "source": {"type": "text", "media_type": "text/plain", "data": "said"}},
        {"type": "text", "content": "said", "context": "B"},
    ),
    (
        "LangChain 0: base64",
        {"type": "image", "source_type": "base64", "mime_type": PNG, "data": "AAAA"},
        blob(PNG, "image"),
    ),
    ("LangChain 0: URL", {"type": "audio", "source_type": "url", "url": "https://x/y"}, uri("audio")),
    ("LangChain 0: id", {"type": "file", "source_type": "id", "id": "f1"}, file("document")),
    ("LangChain 0: text", {"type": "file", "source_type": "text", "text": "said"}, {"type": "text", "content": "said"}),
    ("LangChain 1: base64", {"type": "audio", "base64": "AAAA", "mime_type": WAV}, blob(WAV, "audio")),
    ("LangChain 1: bytes", {"type": "video", "base64": b"\0\0\0", "mime_type": MP4}, blob(MP4, "video")),
    ("LangChain 1: URL", {"type": "video", "url": "https://x/y", "mime_type": MP4}, uri("video", mime_type=MP4)),
    ("LangChain 1: data", {"type": "image", "url": "data:image/png;base64,AAAA"}, blob(PNG, "image")),
    ("LangChain 1: id", {"type": "file", "file_id": "f1", "id": "b1"}, file("document")),
    (
        "LangChain 1: file",
        {"type": "file", "base64": "AAAA", "mime_type": PDF, "extras": {"title": "A", "context": "B"}},
        {**blob(PDF, "document"), "title": "A", "context": "B"},
    ),
    ("LangChain 1: text", {"type": "text-plain", "text": "said"}, {"type": "text", "content": "said"}),
    ("Google: data", {"type": "media", "mime_type": MP4, "data": "AAAA"}, blob(MP4, "video")),
    ("Google: URI", {"type": "media", "mime_type": MP4, "file_uri": "https://x/y"}, uri("video", mime_type=MP4)),
]
names = [name for name, *_ in FORMS]


@pytest.mark.every_value
@pytest.mark.parametrize(("native", "part"), [rest for _, *rest in FORMS], ids=names)
def test_what_is_read(native: Part, part: Part) -> None:
    assert media_part(native) == part


@pytest.mark.parametrize(("native", "part"), [rest for _, *rest in FORMS], ids=names)
def test_what_a_hook_changes_is_written_in_the_form_it_had(native: Part, part: Part) -> None:
    if part["type"] == "text":
        changed = {**part, "content": "other"}
        written = with_text(changed, {**native, "kept": 1})
        assert written is not None
    else:
        name = {"blob": "content", "uri": "uri", "file": "file_id"}[part["type"]]
        changed = {**part, name: "BBBB"}
        written = media_wire(changed, block_form, {**native, "kept": 1})
    assert written["kept"] == 1
    assert written["type"] == native["type"]
    assert {**(media_part(written) or {}), "mime_type": ""} == {**changed, "mime_type": ""}


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("native", "other", "expected"),
    [
        (
            {"type": "input_image", "image_url": "https://x/y", "detail": "low"},
            file("image"),
            {"type": "input_image", "file_id": "f1", "detail": "low"},
        ),
        (
            {"type": "document", "title": "A", "source": {"type": "base64", "media_type": PDF, "data": "AAAA"}},
            {**uri("document"), "title": "B"},
            {"type": "document", "title": "B", "source": {"type": "url", "url": "https://x/y"}},
        ),
        (
            {"type": "document", "title": "A", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
            uri("document"),
            {"type": "document", "source": {"type": "url", "url": "https://x/y"}},
        ),
        (
            {"type": "file", "base64": "AAAA", "mime_type": PDF, "extras": {"title": "A", "x": 1}},
            {**blob(PDF, "document", "BBBB"), "context": "B"},
            {"type": "file", "base64": "BBBB", "mime_type": PDF, "extras": {"x": 1, "context": "B"}},
        ),
        (
            {"type": "image", "source_type": "id", "id": "f1", "metadata": {"a": 1}},
            blob(PNG, "image"),
            {"type": "image", "base64": "AAAA", "mime_type": PNG, "metadata": {"a": 1}},
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_id": "f1"}},
            blob(PDF, "document"),
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_id": "f1"}},
            {**file("document"), "filename": "b.pdf"},
            {"type": "file", "file": {"filename": "b.pdf", "file_id": "f1"}},
        ),
        ({"type": "text", "text": "said"}, uri("image"), {"type": "image", "url": "https://x/y"}),
    ],
)
def test_content_that_stands_elsewhere_now(native: Part, other: Part, expected: Part) -> None:
    assert media_wire(other, block_form, native) == expected


SAID: dict[str, tuple[Form, list[Part]]] = {
    "chat": (
        chat_form,
        [blob(PNG, "image"), uri("image"), blob(WAV, "audio"), blob(PDF, "document"), file("document"), uri("video")],
    ),
    "items": (
        item_form,
        [
            *(blob(PNG, "image"), uri("image"), file("image"), blob("audio/mpeg", "audio")),
            *(blob(PDF, "document"), uri("document"), file("document")),
        ],
    ),
    "Anthropic": (
        source_form,
        [blob(PNG, "image"), uri("image"), file("image"), blob(PDF, "document"), uri("document"), file("document")],
    ),
    "LangChain": (
        block_form,
        [part for one in ("image", "audio", "video", "document") for part in (uri(one), file(one))]
        + [blob(mime, one) for mime, one in ((PNG, "image"), (WAV, "audio"), (MP4, "video"), (PDF, "document"))],
    ),
    "made": (made_form, [blob(PNG, "image")]),
}


@pytest.mark.every_value
@pytest.mark.parametrize(("form", "part"), [(form, part) for form, parts in SAID.values() for part in parts])
def test_what_a_hook_adds_reads_as_it_was_given(form: Form, part: Part) -> None:
    assert {**(media_part(media_wire(part, form)) or {}), "filename": ""} == {**part, "filename": ""}


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("form", "part"),
    [
        (chat_form, uri("document")),
        (chat_form, uri("audio")),
        (source_form, blob(WAV, "audio")),
        (source_form, uri("video")),
        (made_form, uri("image")),
    ],
)
def test_what_a_form_cannot_say_is_refused(form: Form, part: Part) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        media_wire(part, form)


@pytest.mark.every_value
@pytest.mark.parametrize("form", [form for form, _ in SAID.values() if form is not made_form])
def test_content_needs_its_type(form: Form) -> None:
    with pytest.raises(ValueError, match="needs a 'mime_type'"):
        media_wire({"type": "blob", "modality": "image", "content": "AAAA"}, form)


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["url", "type", "data"]), inner),
    max_leaves=4,
)
fields = st.sampled_from(
    ["image_url", "input_audio", "file", "source", "source_type", "base64", "url", "data", "file_id", "text", "result"]
)
types = st.sampled_from([*sorted({native["type"] for _, native, _ in FORMS}), "text", "tool_use", ""])


@given(st.builds(lambda kind, more: {**more, "type": kind}, types, st.dictionaries(fields, values, max_size=3)))
def test_whatever_comes_is_a_part_with_content_or_none(native: Part) -> None:
    part = media_part(native)
    if part is not None:
        name = {"blob": "content", "uri": "uri", "file": "file_id", "text": "content"}[part["type"]]
        assert isinstance(part[name], str)


def test_the_conventions_own_parts_are_no_providers() -> None:
    assert media_part(file("image")) is None
    assert media_part(blob(PNG, "image")) is None
