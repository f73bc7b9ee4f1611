"""Messages of Haystack to the conventions' role/parts form and back.

What a hook did not change stays the object that it was.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from haystack.dataclasses import ChatMessage, ChatRole, TextContent, ToolCall, ToolCallResult

from spanhook.instrument.wire import decoded, encoded, rewrite_objects
from spanhook.model import Message, copied_dataclass, copies, exact_text

copies(ChatMessage, TextContent, ToolCall, ToolCallResult)(copied_dataclass)

Part = dict[str, Any]


def listed(messages: Any) -> list[Any]:
    """What was given to an agent or a generator, as a list: a text or a message, or several."""
    if messages is None:
        return []
    return list(messages) if isinstance(messages, list | tuple) else [messages]


def natives(messages: Any) -> list[Any]:
    """The same, with each text as a message of its own."""
    return [ChatMessage.from_user(one) if isinstance(one, str) else one for one in listed(messages)]


def read_all(messages: Iterable[Any]) -> list[Message]:
    """Messages in role/parts form."""
    return [read(message) for message in messages]


def read(message: Any) -> Message:
    """One message in role/parts form; a hook may also give a message of one text."""
    if isinstance(message, str):
        return {"role": "user", "parts": [{"type": "text", "content": message}]}
    if isinstance(message, Mapping):
        return _of_text(message)
    return {"role": message.role.value, "parts": [_part(one) for one in message._content]}


def _part(content: Any) -> Part:
    if isinstance(content, TextContent):
        return {"type": "text", "content": content.text}
    if isinstance(content, ToolCall):
        return {"type": "tool_call", "id": content.id, "name": content.tool_name, "arguments": content.arguments}
    if isinstance(content, ToolCallResult):
        return {"type": "tool_call_response", "id": content.origin.id, "response": _result(content.result)}
    if hasattr(content, "reasoning_text"):
        return {"type": "reasoning", "content": content.reasoning_text}
    kind = type(content).__name__.removesuffix("Content").lower()
    data = getattr(content, "base64_image", None) or getattr(content, "base64_data", None)
    return {"type": "blob", "modality": kind, "mime_type": getattr(content, "mime_type", None), "content": data}


def _result(result: Any) -> Any:
    if isinstance(result, str):
        return result
    return [_part(one) for one in result] if isinstance(result, list | tuple) else encoded(result)


def system_of(messages: Iterable[Any]) -> str:
    """The instructions among messages."""
    return "\n\n".join(one.text or "" for one in messages if isinstance(one, ChatMessage) and one.is_from("system"))


def text_of(message: Any) -> str:
    """All text of a message."""
    return "".join(message.texts) if isinstance(message, ChatMessage) else ""


# ------------------------------------------------------------------------------------------------- writing


def rewritten(messages: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """A hook's version of messages; what it did not change is the same."""

    def made(message: Any, native: Any) -> list[Any]:
        return [written(message, native)] if isinstance(message, Mapping) else natives(message)

    return rewrite_objects(messages, new, read, made)


def instructed(messages: Sequence[Any], system: str) -> list[Any]:
    """Messages with these instructions in place of others."""
    rest = [one for one in messages if not (isinstance(one, ChatMessage) and one.is_from("system"))]
    return [ChatMessage.from_system(system), *rest] if system else rest


def _of_text(message: Mapping[str, Any]) -> Message:
    if "parts" in message:
        return dict(message)
    if not isinstance(message.get("content"), str):
        raise ValueError("a message is a mapping with `parts`, or with `content` that is text")
    return {"role": message.get("role") or "user", "parts": [{"type": "text", "content": message["content"]}]}


def written(message: Mapping[str, Any], like: Any = None) -> Any:
    """A message in role/parts form, or of one text, as Haystack has it.

    Args:
        message: What a hook gave.
        like: What it replaces, whose other fields are kept.

    Raises:
        ValueError: It has a part that cannot be written.
    """
    told = _of_text(message)
    like = like if isinstance(like, ChatMessage) else None
    role = ChatRole(told.get("role") or "user")
    content = list(_contents(told["parts"] or (), like))
    if like is not None:
        return replace(like, _role=role, _content=content)
    return ChatMessage(_role=role, _content=content)


def _contents(parts: Iterable[Part], like: Any) -> Iterator[Any]:
    before = [(_part(one), one) for one in (like._content if like is not None else ())]
    for part in parts:
        same = next((one for told, one in before if told == part), None)
        yield same if same is not None else _content(part, [one for _, one in before])


def _content(part: Part, before: Sequence[Any]) -> Any:
    kind = part.get("type")
    if kind == "text":
        return TextContent(text=str(part.get("content") or ""))
    if kind == "tool_call":
        arguments = decoded(part.get("arguments") or {})
        return ToolCall(tool_name=exact_text(part.get("name")), arguments=arguments, id=part.get("id"))
    if kind == "tool_call_response":
        origin = next(
            (one.origin for one in before if isinstance(one, ToolCallResult) and one.origin.id == part.get("id")),
            ToolCall(tool_name=exact_text(part.get("name")), arguments={}, id=part.get("id")),
        )
        response = part.get("response", "")
        return ToolCallResult(result=encoded(response), origin=origin, error=False)
    raise ValueError(f"a part of type {kind!r} cannot be written; keep it or leave it out")
