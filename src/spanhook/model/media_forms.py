"""Images, sound, videos and documents in messages: the conventions' parts as providers and frameworks write them."""

import mimetypes
from collections.abc import Callable, Mapping
from typing import cast

from spanhook.model.media import FORMATS, HOLDERS, MODALITIES, WORDS, Fields, Part, fields, media_part, modality_of

Form = Callable[[Part], Part]
"""How a provider or framework writes one of the conventions' parts."""


def media_wire(part: Part, form: Form, like: Fields | None = None) -> Part:
    """Convert a part from the conventions' form to a provider's or framework's.

    Args:
        part: What a hook gave.
        form: How the provider or framework writes parts.
        like: The part that it replaces, whose form and other keys are kept.

    Raises:
        ValueError: The form cannot express the part.
    """
    made = ((None if like is None else _form_of(like, part)) or form)(part)
    if like is not None and made["type"] == like.get("type"):
        made = _kept(like, made)
    return _worded(made, part)


def text_wire(part: Part, like: Fields) -> Part | None:
    """The plain-text document ``like`` with its text replaced; ``None`` if ``like`` is no such document."""
    told = media_part(like)
    if told is None or told["type"] != "text":
        return None
    source = fields(like.get("source"))
    place = {"source": {**source, "data": part.get("content")}} if source else {"text": part.get("content")}
    return _worded({**like, **place}, part)


def _cannot(part: Part, where: str) -> ValueError:
    said = f"a part of type {part['type']!r} with {part.get('mime_type') or part.get('modality')!r}"
    return ValueError(f"{said} cannot be written in {where}")


def _mime(part: Part) -> str:
    mime = part.get("mime_type")
    if not isinstance(mime, str) or not mime:
        raise ValueError("a part of type 'blob' needs a 'mime_type', such as 'image/png'")
    return mime


def _sort(part: Part) -> str:
    """Its modality: as the hook gave it, else by its MIME type."""
    said = part.get("modality")
    return said if isinstance(said, str) and said else modality_of(str(part.get("mime_type") or ""))


def _data_url(part: Part) -> str:
    return f"data:{_mime(part)};base64,{part['content']}"


def _sound(part: Part) -> Part:
    mime = _mime(part)
    return {"type": "input_audio", "input_audio": {"data": part["content"], "format": _format(mime)}}


def _format(mime: str) -> str:
    return FORMATS.get(mime) or mime.partition("/")[2].removeprefix("x-")


def _named(part: Part) -> Part:
    return {"filename": f"file{mimetypes.guess_extension(_mime(part)) or ''}", "file_data": _data_url(part)}


def chat_form(part: Part) -> Part:
    """The form of OpenAI's chat completions and most compatible clients."""
    kind, sort = part["type"], _sort(part)
    if kind == "file":
        return {"type": "file", "file": {"file_id": part["file_id"]}}
    if sort in ("image", "video"):
        return {"type": f"{sort}_url", f"{sort}_url": {"url": part["uri"] if kind == "uri" else _data_url(part)}}
    if kind == "uri":
        raise _cannot(part, "a chat completion")
    return _sound(part) if sort == "audio" else {"type": "file", "file": _named(part)}


def item_form(part: Part) -> Part:
    """The form of OpenAI's responses."""
    kind, sort = part["type"], _sort(part)
    if sort == "image":
        if kind == "file":
            return {"type": "input_image", "file_id": part["file_id"]}
        return {"type": "input_image", "image_url": part["uri"] if kind == "uri" else _data_url(part)}
    if kind == "file":
        return {"type": "input_file", "file_id": part["file_id"]}
    if kind == "uri":
        return {"type": "input_file", "file_url": part["uri"]}
    return _sound(part) if sort == "audio" else {"type": "input_file", **_named(part)}


def source_form(part: Part) -> Part:
    """The form of Anthropic's messages."""
    kind, sort = part["type"], _sort(part)
    if sort in ("audio", "video"):
        raise _cannot(part, "a message to Anthropic")
    if kind == "blob":
        source = {"type": "base64", "media_type": _mime(part), "data": part["content"]}
    elif kind == "uri":
        source = {"type": "url", "url": part["uri"]}
    else:
        source = {"type": "file", "file_id": part["file_id"]}
    return {"type": "image" if sort == "image" else "document", "source": source}


_BLOCK_FIELDS = {"blob": ("base64", "content"), "uri": ("url", "uri"), "file": ("file_id", "file_id")}


def block_form(part: Part) -> Part:
    """The form of LangChain, for any provider."""
    name, ours = _BLOCK_FIELDS[part["type"]]
    sort = _sort(part)
    made = {"type": sort if sort in MODALITIES else "file", name: part[ours]}
    mime = _mime(part) if part["type"] == "blob" else part.get("mime_type")
    return {**made, "mime_type": mime} if mime else made


def made_form(part: Part) -> Part:
    """The form of OpenAI's responses for a picture that the model generated."""
    if part["type"] != "blob" or _sort(part) != "image":
        raise _cannot(part, "the output of a model")
    return {"type": "image_generation_call", "status": "completed", "result": part["content"]}


def _media_form(part: Part) -> Part:
    kind = part["type"]
    if kind == "file":
        raise _cannot(part, "a block of type 'media'")
    said = {"data": part["content"]} if kind == "blob" else {"file_uri": part["uri"]}
    return {"type": "media", **said, **({"mime_type": part["mime_type"]} if part.get("mime_type") else {})}


_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("image_url", "video_url"), chat_form),
    **dict.fromkeys(("input_image", "input_file"), item_form),
    **dict.fromkeys(("image", "audio", "video", "file"), block_form),
    "image_generation_call": made_form,
    "media": _media_form,
}


def _form_of(like: Fields, part: Part) -> Form | None:
    """The form for a part that replaces an existing one."""
    if fields(like.get("source")):
        return source_form
    kind = like.get("type")
    if kind == "input_audio":  # several APIs have this type, beside different other parts
        return _sound if part["type"] == "blob" and _sort(part) == "audio" else None
    return chat_form if kind == "file" and like.get("file") else _FORMS.get(str(kind))


def _worded(wire: Part, part: Part) -> Part:
    """The written part with exactly the part's metadata about the document; but a file keeps its name."""
    for name in WORDS:
        words = part.get(name)
        place = next((one for one in HOLDERS if name in fields(wire.get(one))), "" if name in wire else None)
        if words:
            wire = _put(wire, _holder(wire) if place is None else place, name, words)
        elif place is not None and name != "filename":
            wire = _put(wire, place, name, None)
    return wire


def _holder(wire: Part) -> str:
    if fields(wire.get("file")):
        return "file"
    return "extras" if wire["type"] in (*MODALITIES, "file") and "source" not in wire else ""


def _put(wire: Part, holder: str, name: str, words: str | None) -> Part:
    """The same part with ``words`` as its metadata; removed for ``None``."""
    if holder:
        return {**wire, holder: _put(dict(fields(wire.get(holder))), "", name, words)}
    if words is not None:
        return {**wire, name: words}
    return {key: one for key, one in wire.items() if key != name}


_PLACES = frozenset(
    (
        *("base64", "data", "file_data", "file_id", "file_uri", "file_url", "format", "image_url", "media_type"),
        *("mime_type", "result", "source_type", "text", "uri", "url"),
    )
)
"""Keys for the content and for its type."""


def _kept(like: Fields, made: Part) -> Part:
    """The rewritten part, with the other keys of the part it replaces."""
    gone = _PLACES | {"id"} if "source_type" in like else _PLACES
    kept: Part = {}
    for name, before in like.items():
        if name not in made:
            if name not in gone:
                kept[name] = before
            continue
        both = isinstance(made[name], dict) and isinstance(before, Mapping)
        again = _kept(cast("Fields", before), made[name]) if both else made[name]
        kept[name] = before if name == "filename" and before else again  # unless a hook gives another
    kept.update((name, value) for name, value in made.items() if name not in kept)
    return kept
