"""Where providers, frameworks and MCP servers have the content of images, sound and files in structured values.

Content is known by its place alone: what it looks like is up to whoever wrote it. In any other place it is text. What
a provider has encrypted for itself is known in the same way.
"""

import re
import string
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Fields = Mapping[str, Any]
_NONE: Fields = {}


class MediaPlace(NamedTuple):
    """Where a value is.

    Attributes:
        name: The field that holds it, or the list that it is in.
        owner: The fields beside that.
    """

    name: str = ""
    owner: Fields = _NONE


MEDIA_ROOT = MediaPlace()
_NOTHING: frozenset[str] = frozenset()
_BASE64 = f"{string.ascii_letters}{string.digits}+/-_=%\r\n".encode()
"""What base64 is written with in its two alphabets, in lines and in URLs."""
_ENCRYPTED = frozenset(("encrypted_content", "signature"))
"""Fields that only their provider can read, in a form of its own."""
_DATA_URL = re.compile(r"data:[^,;]{0,200}(?:;[^,;]{0,200}){0,9};base64,", re.IGNORECASE)
_BLOCKS = frozenset(("image", "audio", "video", "file", "document", "media"))
_URLS = frozenset(("image_url", "video_url", "audio_url", "document_url"))
_HOLDERS_OF_URLS = frozenset((*_URLS, "input_image", "input_file", "computer_screenshot"))
_TEXT_FORMATS = frozenset(("txt", "md", "csv", "html"))
_PICTURE = frozenset(("b64_json", "revised_prompt", "url"))
_RESOURCE = frozenset(("uri", "mimeType", "blob", "meta", "_meta"))


def media_fields(fields: Fields, place: MediaPlace = MEDIA_ROOT) -> frozenset[str]:
    """The fields whose values are the content of media, as base64, a URL with the data in it, or bytes.

    Text in the place of base64 that cannot be base64 is text: no provider takes it for media.

    Args:
        fields: The fields of a mapping or object.
        place: Where that is.
    """
    names = _RULES.keys() & fields.keys()
    if not names:
        return _NOTHING
    return frozenset(name for name in names if _RULES[name](fields, place) and not _is_text(name, fields[name]))


def _is_text(name: str, value: Any) -> bool:
    if not isinstance(value, str) or name in _ENCRYPTED:
        return False
    start = _DATA_URL.match(value)
    if not value.isascii():
        return True
    return bool(value.encode()[start.end() if start is not None else 0 :].translate(None, _BASE64))


def _mime(fields: Fields) -> str:
    """The media type that the fields name; empty if none."""
    for name in ("media_type", "mime_type", "mimeType"):
        if isinstance(said := fields.get(name), str) and said:
            return said
    return ""


def _type(fields: Fields) -> str:
    kind = fields.get("type")
    return kind if isinstance(kind, str) else ""


def _block(fields: Fields) -> bool:
    return _type(fields) in _BLOCKS and (bool(_mime(fields)) or fields.get("source_type") == "base64")


def _data(fields: Fields, place: MediaPlace) -> bool:
    if _mime(fields).startswith("text/") and not isinstance(fields["data"], str):
        return False  # bytes of a text
    if place.name in ("inline_data", "inlineData", "input_audio") or _block(fields):
        return True
    if _type(fields) == "redacted_thinking":
        return True
    if place.name == "source" and _type(fields) == "base64":
        return "media_type" in fields
    if place.name == "audio" and "transcript" in fields:  # of OpenAI's answers
        return "id" in fields
    return (fields.get("kind") == "binary" and "media_type" in fields) or fields.get("block_type") == "document"


def _url(name: str) -> Callable[[Fields, MediaPlace], bool]:
    def rule(fields: Fields, place: MediaPlace) -> bool:
        value = fields[name]
        if not isinstance(value, str) or _DATA_URL.match(value) is None:
            return False
        kind = _type(fields)
        if name in _URLS:
            return kind in _HOLDERS_OF_URLS
        return place.name in _URLS or kind in _BLOCKS or (name == "uri" and kind == "data")

    return rule


def _bytes(_fields: Fields, place: MediaPlace) -> bool:
    return place.name == "source" and place.owner.get("format") not in (None, *_TEXT_FORMATS)


def _resource(fields: Fields, place: MediaPlace) -> bool:
    return "uri" in fields and (place.name in ("resource", "contents") or fields.keys() <= _RESOURCE)


def _if_typed(*kinds: str) -> Callable[[Fields, MediaPlace], bool]:
    return lambda fields, _: _type(fields) in kinds


def _in_block(name: str) -> Callable[[Fields, MediaPlace], bool]:
    return lambda fields, _: fields.get("block_type") == name


def _with_mime(fields: Fields, _place: MediaPlace) -> bool:
    return bool(_mime(fields))


_RULES: Mapping[str, Callable[[Fields, MediaPlace], bool]] = {
    "data": _data,
    "base64": lambda fields, _: _block(fields),
    "url": _url("url"),
    "uri": _url("uri"),
    **{name: _url(name) for name in _URLS},
    "file_data": lambda fields, place: _type(fields) == "input_file" or place.name == "file",
    "input_audio": lambda fields, _: _type(fields) == "input_audio" and isinstance(fields["input_audio"], str),
    "blob": _resource,
    "bytes": _bytes,
    "content": lambda fields, _: _type(fields) == "blob" and "modality" in fields,
    "result": _if_typed("image_generation_call"),
    "b64_json": lambda fields, _: fields.keys() <= _PICTURE or _type(fields).startswith("image_"),
    "partial_image_b64": _if_typed("response.image_generation_call.partial_image"),
    **dict.fromkeys(("base64_image", "base64_data", "image_bytes", "video_bytes", "imageBytes"), _with_mime),
    **{name: _in_block(name) for name in ("image", "audio", "video")},
    # What only the provider can read goes back to it as it came.
    "encrypted_content": _if_typed("reasoning", "compaction", "web_search_result"),
    "signature": _if_typed("thinking", "reasoning"),
}
"""By the name of a field, whether it holds the content of media."""
