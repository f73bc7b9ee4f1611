"""Images, sound, videos and documents in messages: from what providers and frameworks write to the conventions' parts.

The conventions have three: ``blob`` for content that is sent along, ``uri`` for content that is fetched, ``file`` for
what the provider has already. Providers' own forms are recognized by their shape, because frameworks pass them through.
"""

import base64
import mimetypes
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

Part = dict[str, Any]
Fields = Mapping[str, Any]
MEDIA = frozenset(("blob", "uri", "file"))
MODALITIES = ("image", "audio", "video")
WORDS = ("filename", "title", "context")
"""Metadata of a document."""
HOLDERS = ("file", "extras", "metadata")
"""Where the metadata is, if not in the part itself: in OpenAI's files and LangChain's blocks."""
_DATA_URL = re.compile(r"data:([^,;]*)(?:;[^,;]*)*;base64,", re.IGNORECASE)
_SOUND = {"mp3": "audio/mpeg", "pcm16": "audio/L16"}
FORMATS = {kind: name for name, kind in _SOUND.items()}
"""OpenAI's names of audio formats, where they differ from the MIME subtype, by MIME type."""
_NO_FIELDS: Fields = {}


def is_media(part: Fields) -> bool:
    """Whether a part is one of the conventions' three; providers also have a type ``file``."""
    kind = part.get("type")
    if kind == "blob":
        return "content" in part
    return "uri" in part if kind == "uri" else kind == "file" and "file_id" in part and "file" not in part


def media_part(given: Fields) -> Part | None:
    """Convert a part from a provider's or framework's form to the conventions'; ``None`` if it is in no such form.

    A plain-text document becomes a part of type ``text``. Metadata that the model also reads, such as a document's
    title, is kept.
    """
    if "modality" in given:
        return None
    read = _READERS.get(str(given.get("type")))
    part = None if read is None else read(given)
    return None if part is None else {**part, **_words(given)}


# ----------------------------------------------------------------------------------------------- reading


def fields(value: Any) -> Fields:
    """The mapping itself; empty if ``value`` is not a mapping."""
    return cast("Fields", value) if isinstance(value, Mapping) else _NO_FIELDS


def _made(kind: str, name: str, value: Any, mime: Any, modality: str) -> Part | None:
    if isinstance(value, bytes | bytearray):
        value = base64.b64encode(value).decode()
    if not isinstance(value, str) or not value:
        return None
    known = mime if isinstance(mime, str) else ""
    part: Part = {"type": kind, "modality": modality or modality_of(known)}
    if known:
        part["mime_type"] = known
    part[name] = value
    return part


def modality_of(mime: str) -> str:
    """The conventions' modality for a MIME type."""
    general = mime.partition("/")[0].lower()
    return general if general in MODALITIES else "document"


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
    return _at(fields(where).get("url") or where, "", kind.removesuffix("_url"))


def _from_sound(told: Fields) -> Part | None:
    given = fields(told.get("input_audio"))
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
    modality = kind if kind in MODALITIES else ""
    source, mime = fields(told.get("source")), told.get("mime_type")
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
        return _from_item({**fields(told["file"]), "type": kind})
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


def _words(told: Fields) -> Part:
    places = [told, *(fields(told.get(name)) for name in HOLDERS)]
    found = ((name, place.get(name)) for place in reversed(places) for name in WORDS)
    return {name: words for name, words in found if isinstance(words, str) and words}
