"""Blocks of content, which tools, resources and prompts are made of."""

from collections.abc import Iterable, Mapping
from typing import Any

from spanhook.instrument.mcp.versions import FIRST
from spanhook.model import json_text

Block = Mapping[str, Any]


def plain(value: Any) -> dict[str, Any]:
    """A model, or a mapping, as it is written on the wire."""
    value = getattr(value, "root", value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


def field(value: Any, wire: str, name: str) -> Any:
    """A field of a model of either version, or of what it looks like on the wire."""
    value = getattr(value, "root", value)
    if isinstance(value, Mapping):
        return value.get(wire)
    return getattr(value, wire if FIRST else name, None)


def text(value: str) -> Block:
    return {"type": "text", "text": value}


def as_blocks(value: Any) -> list[Any]:
    """The content that says what a hook gave: text, blocks, or anything that JSON can express."""
    if value is None:
        return []
    if isinstance(value, str):
        return [text(value)]
    several = list(value) if isinstance(value, list | tuple) else [value]
    if several and all(is_block(one) for one in several):
        return [plain(one) for one in several]
    return [text(json_text(value, ensure_ascii=False))]


def is_block(value: Any) -> bool:
    """Whether something is a block of content."""
    if isinstance(value, Mapping):
        return isinstance(value.get("type"), str)
    return hasattr(value, "model_dump") and isinstance(getattr(value, "type", None), str)


def said(blocks: Iterable[Any]) -> str | list[dict[str, Any]]:
    """The texts of blocks, or the blocks themselves if there are others among them."""
    found = list(blocks)
    texts = [field(block, "text", "text") if field(block, "type", "type") == "text" else None for block in found]
    if all(isinstance(one, str) for one in texts):
        return "\n".join(one for one in texts if one is not None)
    return [plain(block) for block in found]


def as_part(block: Any) -> dict[str, Any]:
    """A block as a part of a message."""
    kind = field(block, "type", "type")
    if kind == "text":
        return {"type": "text", "content": field(block, "text", "text")}
    told = plain(block)
    if kind in ("image", "audio"):
        return {"type": "blob", "modality": kind, "mime_type": told.get("mimeType"), "content": told.get("data")}
    return told
