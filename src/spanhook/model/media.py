"""Images, sound, videos and documents in messages: from what providers and frameworks write to the conventions' parts.

The conventions have three: ``blob`` for content that is sent along, ``uri`` for content that is fetched, ``file`` for
what the provider has already. Providers' own forms are told apart by their looks, since frameworks pass them through.
"""

import base64
import mimetypes
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

Part = dict[str, Any]
Fields = Mapping[str, Any]
Form = Callable[[Part], Part]
"""How a provider or framework writes one of the conventions' parts."""

MEDIA = frozenset(("blob", "uri", "file"))
_DATA_URL = re.compile(r"data:([^,;]*)(?:;[^,;]*)*;base64,", re.IGNORECASE)
_MODALITIES = ("image", "audio", "video")
_SOUND = {"mp3": "audio/mpeg", "pcm16": "audio/L16"}
_FORMATS = {kind: name for name, kind in _SOUND.items()}
_NO_FIELDS: Fields = {}


def is_media(part: Fields) -> bool:
    """Whether a part is one of the conventions' three; providers have a type ``file`` too."""
    kind = part.get("type")
    if kind == "blob":
        return "content" in part
    return "uri" in part if kind == "uri" else kind == "file" and "file_id" in part and "file" not in part


def media_part(given: Fields) -> Part | None:
    """The conventions' part for one in a provider's or framework's form; ``None`` for what is none.

    A document that is plain text is a part of type ``text``. Words about a document that the model reads too, such as
    its title, stay with it.
    """
    if "modality" in given:
        return None
    read = _READERS.get(str(given.get("type")))
    part = None if read is None else read(given)
    return None if part is None else {**part, **_words(given)}


def media_wire(part: Part, form: Form, like: Fields | None = None) -> Part:
    """A part of the conventions' in a provider's or framework's form.

    Args:
        part: What a hook gave.
        form: How it is written.
        like: What it stands for there, whose form and other keys are kept.

    Raises:
        ValueError: That form has no way of saying it.
    """
    made = ((None if like is None else _form_of(like, part)) or form)(part)
    if like is not None and made["type"] == like.get("type"):
        made = _kept(like, made)
    return _worded(made, part)


def text_wire(part: Part, like: Fields) -> Part | None:
    """A document that is plain text with other text in it; ``None`` where ``like`` is none."""
    told = media_part(like)
    if told is None or told["type"] != "text":
        return None
    source = _fields(like.get("source"))
    place = {"source": {**source, "data": part.get("content")}} if source else {"text": part.get("content")}
    return _worded({**like, **place}, part)


# ----------------------------------------------------------------------------------------------- reading


def _fields(value: Any) -> Fields:
    return cast("Fields", value) if isinstance(value, Mapping) else _NO_FIELDS


def _made(kind: str, name: str, value: Any, mime: Any, modality: str) -> Part | None:
    if isinstance(value, bytes | bytearray):
        value = base64.b64encode(value).decode()
    if not isinstance(value, str) or not value:
        return None
    known = mime if isinstance(mime, str) else ""
    part: Part = {"type": kind, "modality": modality or _modality(known)}
    if known:
        part["mime_type"] = known
    part[name] = value
    return part


def _modality(mime: str) -> str:
    general = mime.partition("/")[0].lower()
    return general if general in _MODALITIES else "document"


def _blob(content: Any, mime: Any, modality: str = "") -> Part | None:
    """Content that is sent along, as base64 or as a URL with the data in it."""
    found = _DATA_URL.match(content) if isinstance(content, str) else None
    if found is not None:
        return _made("blob", "content", content[found.end() :], found[1] or mime, modality)
    return _made("blob", "content", content, mime, modality)


def _at(url: Any, mime: Any = "", modality: str = "") -> Part | None:
    if isinstance(url, str) and _DATA_URL.match(url):
        return _blob(url, mime, modality)
    return _made("uri", "uri", url, mime, modality)


def _file(identifier: Any, mime: Any = "", modality: str = "") -> Part | None:
    return _made("file", "file_id", identifier, mime, modality)


def _text(said: Any) -> Part | None:
    return {"type": "text", "content": said} if isinstance(said, str) else None


def _from_url(told: Fields) -> Part | None:
    kind = str(told["type"])
    where = told.get(kind)
    return _at(_fields(where).get("url") or where, "", kind.removesuffix("_url"))


def _from_sound(told: Fields) -> Part | None:
    given = _fields(told.get("input_audio"))
    name = str(given.get("format") or "")
    return _blob(given.get("data"), _SOUND.get(name, f"audio/{name}" if name else ""), "audio")


def _from_item(told: Fields) -> Part | None:
    modality = "image" if told["type"] == "input_image" else ""
    mime = mimetypes.guess_type(str(told.get("filename") or ""))[0]
    return (
        _blob(told.get("file_data"), mime, modality)
        or _at(told.get("image_url") or told.get("file_url"), "", modality)
        or _file(told.get("file_id"), mime, modality)
    )


def _from_picture_made(told: Fields) -> Part | None:
    kind = told.get("output_format")
    return _blob(told.get("result"), f"image/{kind if isinstance(kind, str) else 'png'}", "image")


def _from_media(told: Fields) -> Part | None:
    mime = told.get("mime_type")
    return _blob(told.get("data"), mime) or _at(told.get("file_uri"), mime)


def _from_block(told: Fields) -> Part | None:
    """Anthropic's blocks, which have a source; LangChain's of both versions; OpenAI's files."""
    kind = told["type"]
    modality = kind if kind in _MODALITIES else ""
    source, mime = _fields(told.get("source")), told.get("mime_type")
    if source:
        sort, media_type = source.get("type"), source.get("media_type")
        if sort == "base64":
            return _blob(source.get("data"), media_type, modality)
        if sort == "url":
            return _at(source.get("url"), media_type, modality)
        if sort == "file":
            return _file(source.get("file_id"), media_type, modality)
        return _text(source.get("data")) if sort == "text" else None
    if kind == "file" and told.get("file"):
        return _from_item({**_fields(told["file"]), "type": kind})
    sort = told.get("source_type")
    if sort == "id":
        return _file(told.get("id"), mime, modality)
    if sort == "text" or (kind == "text-plain" and "text" in told):
        return _text(told.get("text"))
    return (
        _blob(told.get("data" if sort == "base64" else "base64"), mime, modality)
        or _at(told.get("url"), mime, modality)
        or _file(told.get("file_id"), mime, modality)
    )


_READERS: Mapping[str, Callable[[Fields], Part | None]] = {
    **dict.fromkeys(("image_url", "video_url", "audio_url"), _from_url),
    **dict.fromkeys(("input_image", "input_file"), _from_item),
    **dict.fromkeys(("image", "audio", "video", "file", "document", "text-plain"), _from_block),
    "input_audio": _from_sound,
    "image_generation_call": _from_picture_made,
    "media": _from_media,
}


_WORDS = ("filename", "title", "context")
_HOLDERS = ("file", "extras", "metadata")
"""Where they stand, if not in the part itself: in OpenAI's files, and in LangChain's blocks."""


def _words(told: Fields) -> Part:
    """What is said about a document beside its content."""
    places = [told, *(_fields(told.get(name)) for name in _HOLDERS)]
    found = ((name, place.get(name)) for place in reversed(places) for name in _WORDS)
    return {name: words for name, words in found if isinstance(words, str) and words}


# ----------------------------------------------------------------------------------------------- writing


def _cannot(part: Part, where: str) -> ValueError:
    said = f"a part of type {part['type']!r} with {part.get('mime_type') or part.get('modality')!r}"
    return ValueError(f"{said} cannot be said in {where}")


def _mime(part: Part) -> str:
    mime = part.get("mime_type")
    if not isinstance(mime, str) or not mime:
        raise ValueError("a part of type 'blob' needs a 'mime_type', such as 'image/png'")
    return mime


def _sort(part: Part) -> str:
    """Its modality: what a hook says of it, else what its type says."""
    said = part.get("modality")
    return said if isinstance(said, str) and said else _modality(str(part.get("mime_type") or ""))


def _data_url(part: Part) -> str:
    return f"data:{_mime(part)};base64,{part['content']}"


def _sound(part: Part) -> Part:
    mime = _mime(part)
    return {"type": "input_audio", "input_audio": {"data": part["content"], "format": _format(mime)}}


def _format(mime: str) -> str:
    return _FORMATS.get(mime) or mime.partition("/")[2].removeprefix("x-")


def _named(part: Part) -> Part:
    return {"filename": f"file{mimetypes.guess_extension(_mime(part)) or ''}", "file_data": _data_url(part)}


def chat_form(part: Part) -> Part:
    """As OpenAI's chat completions have it, and most clients that are like it."""
    kind, sort = part["type"], _sort(part)
    if kind == "file":
        return {"type": "file", "file": {"file_id": part["file_id"]}}
    if sort in ("image", "video"):
        return {"type": f"{sort}_url", f"{sort}_url": {"url": part["uri"] if kind == "uri" else _data_url(part)}}
    if kind == "uri":
        raise _cannot(part, "a chat completion")
    return _sound(part) if sort == "audio" else {"type": "file", "file": _named(part)}


def item_form(part: Part) -> Part:
    """As OpenAI's responses have it."""
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
    """As Anthropic has it."""
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
    """As LangChain has it, for whatever provider."""
    name, ours = _BLOCK_FIELDS[part["type"]]
    sort = _sort(part)
    made = {"type": sort if sort in _MODALITIES else "file", name: part[ours]}
    mime = _mime(part) if part["type"] == "blob" else part.get("mime_type")
    return {**made, "mime_type": mime} if mime else made


def made_form(part: Part) -> Part:
    """As OpenAI's responses have a picture that the model has made."""
    if part["type"] != "blob" or _sort(part) != "image":
        raise _cannot(part, "what a model has made")
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
    """How a part is written in place of one that is there already."""
    if _fields(like.get("source")):
        return source_form
    kind = like.get("type")
    if kind == "input_audio":  # which several APIs have, and with other parts beside it
        return _sound if part["type"] == "blob" and _sort(part) == "audio" else None
    return chat_form if kind == "file" and like.get("file") else _FORMS.get(str(kind))


def _worded(wire: Part, part: Part) -> Part:
    """What was written, with what the part says about the document, and no more; but a file keeps its name."""
    for name in _WORDS:
        words = part.get(name)
        place = next((one for one in _HOLDERS if name in _fields(wire.get(one))), "" if name in wire else None)
        if words:
            wire = _put(wire, _holder(wire) if place is None else place, name, words)
        elif place is not None and name != "filename":
            wire = _put(wire, place, name, None)
    return wire


def _holder(wire: Part) -> str:
    if _fields(wire.get("file")):
        return "file"
    return "extras" if wire["type"] in (*_MODALITIES, "file") and "source" not in wire else ""


def _put(wire: Part, holder: str, name: str, words: str | None) -> Part:
    """The same with these words; without any for ``None``."""
    if holder:
        return {**wire, holder: _put(dict(_fields(wire.get(holder))), "", name, words)}
    if words is not None:
        return {**wire, name: words}
    return {key: one for key, one in wire.items() if key != name}


_PLACES = frozenset(
    (
        *("base64", "data", "file_data", "file_id", "file_uri", "file_url", "format", "image_url", "media_type"),
        *("mime_type", "result", "source_type", "text", "uri", "url"),
    )
)
"""Where content stands, and what says of which sort it is."""


def _kept(like: Fields, made: Part) -> Part:
    """What was written anew, with the other keys of what it stands for."""
    gone = _PLACES | {"id"} if "source_type" in like else _PLACES
    kept: Part = {}
    for name, before in like.items():
        if name not in made:
            if name not in gone:
                kept[name] = before
            continue
        both = isinstance(made[name], dict) and isinstance(before, Mapping)
        again = _kept(cast("Fields", before), made[name]) if both else made[name]
        kept[name] = before if name == "filename" and before else again  # unless a hook says another
    kept.update((name, value) for name, value in made.items() if name not in kept)
    return kept
