"""The contents of the library's messages as the conventions' parts, and back."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_framework import Content

from spanhook.instrument.wire import decoded, encoded
from spanhook.model import exact_text

Part = dict[str, Any]
_HIDDEN = {"additional_properties", "annotations", "raw_representation"}


def _text(content: Any) -> Part:
    return {"type": "text", "content": content.text or ""}


def _reasoning(content: Any) -> Part:
    return {"type": "reasoning", "content": content.text or ""}


def _call(content: Any) -> Part:
    arguments = content.arguments
    told = dict(arguments) if isinstance(arguments, Mapping) else decoded(arguments)
    return {"type": "tool_call", "id": content.call_id, "name": content.name, "arguments": told}


def _result(content: Any) -> Part:
    items = content.items or ()
    told = content.result
    if any(one.type != "text" for one in items):
        told = [part_of(one) for one in items]
    return {"type": "tool_call_response", "id": content.call_id, "response": told}


def _media(content: Any) -> Part:
    mime = content.media_type
    about = {"modality": str(mime or "").partition("/")[0] or None, "mime_type": mime}
    uri = str(content.uri or "")
    if uri.startswith("data:"):
        return {"type": "blob", **about, "content": uri.partition(",")[2]}
    return {"type": "uri", **about, "uri": uri}


_READ: dict[str, Callable[[Any], Part]] = {
    "text": _text,
    "text_reasoning": _reasoning,
    "function_call": _call,
    "function_result": _result,
    "data": _media,
    "uri": _media,
}


def part_of(content: Any) -> Part:
    """A content as a part; one that the conventions do not know as the library writes it."""
    read = _READ.get(content.type)
    return content.to_dict(exclude=_HIDDEN) if read is None else read(content)


def content_of(part: Part) -> Any:
    """A part as a content.

    Raises:
        ValueError: It cannot be written.
    """
    kind = part.get("type")
    if kind == "text":
        return Content.from_text(str(part.get("content") or ""))
    if kind == "reasoning":
        return Content.from_text_reasoning(text=str(part.get("content") or ""))
    if kind == "tool_call":
        arguments = part.get("arguments")
        arguments = arguments if isinstance(arguments, Mapping | str) else {}
        return Content.from_function_call(str(part.get("id") or ""), exact_text(part.get("name")), arguments=arguments)
    if kind == "tool_call_response":
        return Content.from_function_result(str(part.get("id") or ""), result=encoded(part.get("response", "")))
    if kind == "uri":
        return Content.from_uri(str(part.get("uri") or ""), media_type=part.get("mime_type"))
    if kind == "blob" and isinstance(part.get("content"), str):
        return Content.from_uri(f"data:{part.get('mime_type')};base64,{part['content']}", media_type=part["mime_type"])
    raise ValueError(f"a part of type {kind!r} cannot be written; keep it or leave it out")
