"""LangChain messages to the conventions' role/parts form and back.

What a part cannot say is kept: parts of unknown type are LangChain's own content blocks, and a message that a hook left
alone stays the object it was.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatResult, Generation, LLMResult
from langchain_core.prompt_values import PromptValue

from spanhook.copying import copied_model, copies
from spanhook.shape import Message

copies(BaseMessage, ChatResult, Document, Generation, LLMResult, PromptValue)(copied_model)

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}


def to_message(message: BaseMessage) -> Message:
    """One message in role/parts form."""
    kind = message.type
    role = getattr(message, "role", None) if kind == "chat" else _ROLES.get(kind, kind)
    parts: list[dict[str, Any]]
    if isinstance(message, ToolMessage):
        parts = [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.content}]
    else:
        parts = list(_parts(message.content))
    for call in getattr(message, "tool_calls", None) or ():
        parts.append({"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": dict(call["args"])})
    converted: Message = {"role": role, "parts": parts}
    if message.name:
        converted["name"] = message.name
    return converted


def _parts(content: Any) -> Iterable[dict[str, Any]]:
    if isinstance(content, str):
        if content:
            yield {"type": "text", "content": content}
        return
    for block in content:
        if isinstance(block, str):
            yield {"type": "text", "content": block}
        elif block.get("type") == "text":
            yield {"type": "text", "content": block.get("text", "")}
        elif block.get("type") == "reasoning" and isinstance(block.get("reasoning"), str):
            yield {"type": "reasoning", "content": block["reasoning"]}
        else:
            yield dict(block)


def from_message(message: Message, like: BaseMessage | None = None) -> BaseMessage:
    """A LangChain message for one in role/parts form.

    Args:
        message: What a hook gave.
        like: The message it stands for, whose id and metadata are kept.

    Raises:
        ValueError: The role is none that LangChain has a message for.
    """
    role, parts = message["role"], message.get("parts", ())
    if isinstance(like, ToolMessage) and role == "tool":
        return like.model_copy(update={"content": _tool_content(parts)})
    calls = [
        {"id": part.get("id"), "name": part["name"], "args": part.get("arguments") or {}, "type": "tool_call"}
        for part in parts
        if part.get("type") == "tool_call"
    ]
    content = _content([part for part in parts if part.get("type") != "tool_call"], like)
    if like is not None and to_message(like)["role"] == role:
        update: dict[str, Any] = {"content": content}
        if isinstance(like, AIMessage):
            update["tool_calls"] = calls
        return like.model_copy(update=update)
    name = message.get("name")
    if role == "system":
        return SystemMessage(content=content, name=name)
    if role == "user":
        return HumanMessage(content=content, name=name)
    if role == "assistant":
        return AIMessage(content=content, name=name, tool_calls=calls)
    if role == "tool":
        call_id = next((part.get("id") for part in parts if part.get("type") == "tool_call_response"), None)
        return ToolMessage(content=_tool_content(parts), tool_call_id=call_id or "", name=name)
    if not isinstance(role, str):
        raise ValueError(f"a message needs a role such as 'user', not {role!r}")
    return ChatMessage(role=role, content=content, name=name)


def _content(parts: Sequence[dict[str, Any]], like: BaseMessage | None) -> Any:
    if all(part.get("type") == "text" for part in parts) and (like is None or isinstance(like.content, str)):
        return "".join(part["content"] for part in parts)
    return [_block(part) for part in parts]


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "text", "text": part["content"]}
    if part.get("type") == "reasoning":
        return {"type": "reasoning", "reasoning": part["content"]}
    return part


def _tool_content(parts: Iterable[dict[str, Any]]) -> Any:
    for part in parts:
        if part.get("type") == "tool_call_response":
            return as_content(part.get("response"))
        if part.get("type") == "text":
            return part["content"]
    return ""


def as_content(value: Any) -> Any:
    """A value as the content of a message: text and lists of content blocks as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(_is_block(one) for one in value):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def _is_block(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and "type" in value)


def rewrite(natives: Sequence[BaseMessage], new: Sequence[Message]) -> list[BaseMessage]:
    """LangChain messages for what a hook made of ``natives``; those it left alone stay the same objects."""
    before = [to_message(native) for native in natives]
    result: list[BaseMessage] = []
    for index, message in enumerate(new):
        if isinstance(message, BaseMessage):
            result.append(message)
        elif index < len(before) and before[index] == message:
            result.append(natives[index])
        elif message in before:
            result.append(natives[before.index(message)])
        else:
            same_place = natives[index] if len(new) == len(natives) else None
            result.append(from_message(message, same_place))
    return result


def with_system(natives: Sequence[BaseMessage], system: str) -> list[BaseMessage]:
    """The messages with this system message in front, in place of the one that may be there."""
    rest = list(natives[1:]) if natives and isinstance(natives[0], SystemMessage) else list(natives)
    return [SystemMessage(content=system), *rest]
