"""Messages in role/parts form without what is to be redacted. What tells the parts apart stays as it is."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from spanhook.hooks.pii_redaction._values import changed
from spanhook.model import MediaPlace, Message, is_media, media_fields

Texts = Callable[[list[str]], list[str]]
"""Redacts texts that a reader sees as one."""

_KEPT = frozenset(("type", "id", "modality", "mime_type", "file_id"))
_ALSO_KEPT = {"tool_call": frozenset(("name",)), "blob": frozenset(("content",))}


def redacted(messages: Sequence[Message], change: Callable[[str], str], together: Texts) -> list[Message]:
    """Messages with every text in them redacted.

    Reasoning that would have to change is left out: its signature would no longer fit.

    Args:
        messages: As in ``op.request.messages``.
        change: Redacts one text.
        together: Redacts the texts of parts that follow each other.
    """
    return [_message(message, change, together) for message in messages]


def has_media(messages: Sequence[Message]) -> bool:
    """Whether there are images, sounds or files in messages."""
    return any(is_media(part) for message in messages for part in message["parts"])


def plain_text(messages: Sequence[Message]) -> str:
    """The text of a single message that is nothing but text; empty otherwise."""
    parts: list[dict[str, Any]] = messages[0]["parts"] if len(messages) == 1 else [{}]
    return "".join(part["content"] for part in parts) if all(_is_text(part) for part in parts) else ""


def _message(message: Message, change: Callable[[str], str], together: Texts) -> Message:
    parts: list[dict[str, Any]] = []
    for part in message["parts"]:
        new = _part(part, change)
        if new is not None:
            parts.append(new)
    said = [index for index, part in enumerate(parts) if _is_text(part)]
    if len(said) > 1:
        for run in _runs(said):
            texts = together([parts[index]["content"] for index in run])
            for index, text in zip(run, texts, strict=True):
                parts[index] = {**parts[index], "content": text}
    return {**message, "parts": parts}


def _is_text(part: dict[str, Any]) -> bool:
    return part.get("type") == "text" and isinstance(part.get("content"), str)


def _runs(indices: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return [run for run in runs if len(run) > 1]


def _part(part: Any, change: Callable[[str], str]) -> Any:
    if not isinstance(part, dict):
        return changed(part, change)
    fields = cast("dict[str, Any]", part)
    kind = fields.get("type")
    kept = {*_KEPT, *media_fields(fields)} | _ALSO_KEPT.get(str(kind), frozenset())
    new: dict[str, Any] = {}
    for name, one in fields.items():
        place = None if kind == "tool_call" else MediaPlace(name, fields)
        new[name] = one if name in kept else changed(one, change, place)
    if kind == "reasoning" and new != fields:
        return None
    return new
