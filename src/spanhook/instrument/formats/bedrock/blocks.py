"""The content blocks of Converse as parts of the conventions' messages, and back.

A block is a dict with one key, which says what it is.
"""

import base64
import json
import mimetypes
from collections.abc import Sequence
from typing import Any

from spanhook.instrument.wire import Fields, Part, Wire, fields_of, list_of, rewrite, text_of
from spanhook.model import Message, exact_text, is_media

_MEDIA = ("image", "video", "audio", "document")
_MIME = {"mp3": "audio/mpeg", "md": "text/markdown", "three_gp": "video/3gpp", "m4a": "audio/mp4"}
"""MIME types of formats that Python's table lacks, or has otherwise."""
_RESULTS = frozenset(("text", "json", "image", "document", "video", "searchResult"))
_WITHHELD = "reasoningContent"


def to_message(wire: Any) -> Message:
    """A message in role/parts form; one with only tool results has the role ``tool``."""
    told = fields_of(wire)
    parts = [to_part(block) for block in _blocks(told.get("content"))]
    found = bool(parts) and all(part.get("type") == "tool_call_response" for part in parts)
    return {"role": "tool" if found else exact_text(told.get("role")) or "assistant", "parts": parts}


def from_message(message: Message, like: Wire | None = None) -> list[Wire]:
    """A message on the wire; one in the API's own form stays as it is, but for text that other APIs have in one piece.

    Args:
        message: What a hook gave.
        like: The message that it replaces, if any.
    """
    if "parts" not in message:
        content = message.get("content")
        return [{**message, "content": _blocks(content)} if isinstance(content, str) else message]
    role = "user" if message.get("role") == "tool" else message.get("role") or "assistant"
    kept: Wire = {} if like is None else like
    return [{**kept, "role": role, "content": content_of(message["parts"], _blocks(kept.get("content")))}]


def content_of(parts: Sequence[Part], before: Sequence[Any] = ()) -> list[Wire]:
    """Parts as blocks; unchanged ones are sent as they were, and only the model may write its reasoning."""
    return rewrite(before, parts, to_part, _written)


def texts_in(wire: Any) -> list[str]:
    """The texts of a message, including tool results, even if empty."""
    found: list[str] = []
    for block in _blocks(fields_of(wire).get("content")):
        told = fields_of(block)
        if "toolResult" in told:
            result = list_of(fields_of(told["toolResult"]).get("content"))
            found.append("".join(text_of(fields_of(one).get("text")) for one in result))
        elif to_part(block)["type"] == "text":
            found.append(to_part(block)["content"])
    return found


def _blocks(content: Any) -> Sequence[Any]:
    return [{"text": content}] if isinstance(content, str) else list_of(content)


def to_part(block: Any) -> Part:
    """A block as a part; what the conventions have no part for stays as it is, under its key."""
    told = fields_of(block)
    kind = next(iter(told), "")
    value = told.get(kind)
    said = fields_of(value)
    if kind == "text":
        return {"type": "text", "content": text_of(value)}
    if kind == "toolUse":
        arguments = said.get("input")
        return {"type": "tool_call", "id": said.get("toolUseId"), "name": said.get("name"), "arguments": arguments}
    if kind == "toolResult":
        return {"type": "tool_call_response", "id": said.get("toolUseId"), "response": _result(said.get("content"))}
    if kind == _WITHHELD:
        return {"type": "reasoning", "content": text_of(fields_of(said.get("reasoningText")).get("text"))}
    if kind == "guardContent" and "text" in said:
        return {"type": "text", "content": text_of(fields_of(said["text"]).get("text"))}
    if kind == "citationsContent":
        cited = (text_of(fields_of(one).get("text")) for one in list_of(said.get("content")))
        return {"type": "text", "content": "".join(cited)}
    made = _media(kind, said) if kind in _MEDIA else None
    return made or {"type": kind, **told}


def _result(content: Any) -> Any:
    """What a tool returned: its text or JSON, or blocks if there are several."""
    blocks = list_of(content)
    only = fields_of(blocks[0]) if len(blocks) == 1 else {}
    return next((only[name] for name in ("text", "json") if name in only), content)


def _media(kind: str, said: Fields) -> Part | None:
    source = fields_of(said.get("source"))
    if "text" in source:
        return {"type": "text", "content": text_of(source["text"])}
    name = text_of(said.get("format"))
    mime = _MIME.get(name) or mimetypes.types_map.get(f".{name}") or (f"{kind}/{name}" if kind != "document" else "")
    part: Part = {"modality": kind, **({"mime_type": mime} if mime else {})}
    if "bytes" in source:
        content = source["bytes"]
        encoded = base64.b64encode(content).decode() if isinstance(content, bytes | bytearray) else content
        return {"type": "blob", **part, "content": encoded} if isinstance(encoded, str) else None
    uri = text_of(fields_of(source.get("s3Location")).get("uri"))
    return {"type": "uri", **part, "uri": uri} if uri else None


def _written(part: Part, like: Wire | None) -> list[Wire]:
    kind, before = part.get("type"), like or {}
    if kind == "reasoning":
        return []
    if kind == "text":
        return [_text(str(part.get("content") or ""), before)]
    if kind == "tool_call":
        made = {"toolUseId": part.get("id") or "tooluse_spanhook", "name": part.get("name")}
        return [{"toolUse": {**fields_of(before.get("toolUse")), **made, "input": _arguments(part.get("arguments"))}}]
    if kind == "tool_call_response":
        made = {"toolUseId": part.get("id"), "content": _contents(part.get("response"))}
        return [{"toolResult": {**fields_of(before.get("toolResult")), **made}}]
    if is_media(part):
        return [_medium(part, before)]
    return [{name: value for name, value in part.items() if name != "type"}]


def _text(text: str, before: Fields) -> Wire:
    """Text, in a block of the sort that it replaces."""
    guarded, document = fields_of(before.get("guardContent")), fields_of(before.get("document"))
    if "text" in guarded:
        return {"guardContent": {"text": {**fields_of(guarded["text"]), "text": text}}}
    if "text" in fields_of(document.get("source")):
        return {"document": {**document, "source": {"text": text}}}
    return {"text": text}


def _arguments(given: Any) -> Any:
    if isinstance(given, str):
        try:
            return json.loads(given)
        except ValueError:
            return given
    return {} if given is None else given


def _contents(response: Any) -> list[Wire]:
    if list_of(response) and all(_RESULTS.issuperset(fields_of(one) or ("",)) for one in response):
        return list(response)
    return [{"text": response} if isinstance(response, str) else {"json": response}]


def _medium(part: Part, before: Fields) -> Wire:
    """Media, as bytes that are sent along or as an address in S3.

    Raises:
        ValueError: Converse cannot express it.
    """
    mime, kind = str(part.get("mime_type") or ""), part.get("modality")
    if kind not in _MEDIA:
        general = mime.partition("/")[0]
        kind = general if general in _MEDIA else "document"
    if part["type"] == "blob":
        source: Wire = {"bytes": base64.b64decode(part["content"])}
    elif str(part.get("uri", "")).startswith("s3://"):
        source = {"s3Location": {"uri": part["uri"]}}
    else:
        raise ValueError(f"a part of type {part['type']!r} must be a blob or an address in S3 to be sent to Bedrock")
    names = {told: name for name, told in _MIME.items()}
    name = names.get(mime) or (mimetypes.guess_extension(mime) or f".{mime.partition('/')[2]}").lstrip(".")
    like = fields_of(before.get(kind))
    named = {"name": "document"} if kind == "document" else {}
    return {kind: {**named, **like, "format": {"jpg": "jpeg"}.get(name, name), "source": source}}
