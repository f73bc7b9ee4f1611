"""What Mistral's messages have beyond OpenAI's: the model's thinking is a part of the content."""

from collections.abc import Sequence
from typing import Any

from spanhook.instrument.formats.openai import chat_message, chat_wire
from spanhook.instrument.wire import Part, Wire, fields_of, list_of, text_of
from spanhook.instrument.wire import rewrite as rewrite_each
from spanhook.model import Message


def to_message(wire: Any) -> Message:
    """One message in role/parts form."""
    message = chat_message(wire)
    return {**message, "parts": [read_part(part) for part in message["parts"]]}


def read_part(part: Part) -> Part:
    """A part in the conventions' form, if it is the model's thinking."""
    return {"type": "reasoning", "content": thought_in(part)} if part.get("type") == "thinking" else part


def thought_in(part: Any) -> str:
    """The text of a part with the model's thinking."""
    said = fields_of(part).get("thinking")
    return said if isinstance(said, str) else "".join(text_of(fields_of(one).get("text")) for one in list_of(said))


def write_part(part: Part) -> Part:
    """A part on the wire, if it is the model's thinking."""
    if part.get("type") != "reasoning":
        return part
    return {"type": "thinking", "thinking": [{"type": "text", "text": str(part.get("content") or "")}]}


def on_the_wire(message: Any) -> Any:
    """A message that a hook gave, with the model's thinking as Mistral writes it."""
    if not isinstance(message, dict) or "parts" not in message:
        return message
    return {**message, "parts": [write_part(part) for part in message["parts"]]}


def from_message(message: Any, like: Wire | None = None) -> Wire:
    """A message on the wire for one in role/parts form; one in Mistral's own form is taken as it is."""
    if "parts" not in message:
        return dict(message)
    thoughts = {thought_in(part): part for part in list_of((like or {}).get("content")) if thought_in(part)}
    parts = [_kept(part, thoughts) for part in message["parts"]]
    return chat_wire({**message, "parts": parts}, like)


def _kept(part: Part, thoughts: dict[str, Any]) -> Part:
    """Thinking that did not change is sent as it was, with its signature."""
    return thoughts.get(part.get("content") or "") or write_part(part) if part.get("type") == "reasoning" else part


def rewrite(natives: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Messages on the wire for a hook's version of ``natives``; unchanged ones are sent as they were."""
    return rewrite_each(natives, new, to_message, lambda message, like: [from_message(message, like)])
