"""The library's messages, read and written as those of chat completions, which they resemble."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from smolagents.agent_types import AgentType
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    tool_role_conversions,
)

from spanhook.instrument.formats.openai import chat_message
from spanhook.instrument.wire import Payload, decoded
from spanhook.model import Message, exact_text, text_of

_ROLES = {"tool-call": "assistant", "tool-response": "user"}
"""Roles of the library's own, and what it makes of them for a provider."""
_ROLE = "smolagents_role"
"""The key that keeps the library's role while a message is in another form."""


def _role(native: Any) -> str:
    role = native.get("role") if isinstance(native, Mapping) else getattr(native, "role", None)
    return exact_text(getattr(role, "value", role)) or "assistant"


def _field(native: Any, name: str) -> Any:
    if isinstance(native, Mapping):
        return cast("Mapping[str, Any]", native).get(name)
    return getattr(native, name, None)


def wire_of(native: Any) -> Payload:
    """A message of the library's, a dict or an object, as one of chat completions."""
    role = _role(native)
    wire: Payload = {"role": _ROLES.get(role, role), "content": _field(native, "content"), _ROLE: role}
    calls = _field(native, "tool_calls")
    if calls:
        wire["tool_calls"] = [_wire_call(call) for call in calls]
    return wire


def _wire_call(call: Any) -> Payload:
    function = _field(call, "function")
    said = {"name": _field(function, "name"), "arguments": _field(function, "arguments")}
    return {"id": _field(call, "id"), "type": "function", "function": said}


def read(native: Any) -> Message:
    """A message in role/parts form; ``native`` is the library's or one of chat completions."""
    return chat_message(wire_of(native))


def native_of(wire: Mapping[str, Any]) -> ChatMessage:
    """A message of the library's for one of chat completions. Its text is a list of parts, which every model takes."""
    content, role = wire.get("content"), exact_text(wire.get(_ROLE) or wire["role"])
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return ChatMessage(role=MessageRole(role), content=content, tool_calls=tool_calls(wire.get("tool_calls") or ()))


def tool_calls(wires: Iterable[Mapping[str, Any]]) -> list[ChatMessageToolCall] | None:
    """Tool calls of the library's for those of a chat completion; ``None`` if there are none."""
    return [
        ChatMessageToolCall(
            id=str(one.get("id") or "call_spanhook"),
            type="function",
            function=ChatMessageToolCallFunction(
                name=one["function"]["name"], arguments=decoded(one["function"].get("arguments"))
            ),
        )
        for one in wires
    ] or None


def as_text(value: Any) -> str:
    """A result as text; an image or sound by its type, because the library writes a file to make text of it."""
    return f"<{type(value).__name__}>" if isinstance(value, AgentType) and not isinstance(value, str) else str(value)


def last_text(natives: Sequence[Any], conversions: Mapping[Any, Any]) -> str | None:
    """The text of the last message that a provider is sent: the library merges messages of one role.

    Args:
        natives: The messages.
        conversions: The model's own conversions of roles; the library's if empty.
    """
    contents: list[Any] = []
    last = ""
    for native in reversed(natives):
        role = _sent_as(native, conversions or tool_role_conversions)
        if contents and role != last:
            break
        contents.insert(0, _field(native, "content"))
        last = role
    return text_of(_merged(contents)) if len(contents) > 1 else text_of(contents[0]) if contents else None


def _sent_as(native: Any, conversions: Mapping[Any, Any]) -> str:
    role = _field(native, "role")
    if isinstance(native, Mapping):
        role = MessageRole(role)
    sent = conversions.get(role, role)  # the library looks up what it has: equal text is not found as a role
    return str(getattr(sent, "value", sent))


def _merged(contents: Sequence[Any]) -> list[Any]:
    """Contents as one; a text that follows another is its next line."""
    merged = _parts(contents[0])
    for part in (part for content in contents[1:] for part in _parts(content)):
        if merged and merged[-1].get("type") == part.get("type") == "text":
            merged[-1] = {**merged[-1], "text": f"{merged[-1]['text']}\n{part['text']}"}
        else:
            merged.append(part)
    return merged


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
