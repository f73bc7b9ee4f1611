"""LangChain messages to the conventions' role/parts form and back.

What a part cannot express is kept: parts of unknown type are LangChain's own content blocks, and messages and blocks
that a hook did not change stay as they were.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.outputs import ChatResult, Generation, LLMResult
from langchain_core.prompt_values import PromptValue

from spanhook.instrument.langchain_core.tool_calls import block_part, blocks_for, call_parts, fields_for
from spanhook.model import (
    Message,
    block_form,
    copied_model,
    copies,
    is_media,
    media_part,
    media_wire,
    text_wire,
)

copies(BaseMessage, ChatResult, Document, Generation, LLMResult, PromptValue)(copied_model)

_SPOKEN = frozenset((AIMessage, HumanMessage, SystemMessage))
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool"}


def to_message(message: BaseMessage) -> Message:
    """One message in role/parts form."""
    kind = message.type
    role = getattr(message, "role", None) if kind == "chat" else _ROLES.get(kind, kind)
    parts: list[dict[str, Any]]
    is_spoken = type(message) in _SPOKEN  # `isinstance` takes four times as long, and most messages are of these
    if not is_spoken and isinstance(message, ToolMessage):
        parts = [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.content}]
    elif not is_spoken and isinstance(message, FunctionMessage):
        parts = [{"type": "tool_call_response", "response": message.content}]
    else:
        calls = call_parts(message)
        parts = [{"type": "reasoning", "content": thought} for thought in _thoughts(message).values()]
        parts += _parts(message.content, calls)
        parts += calls
    converted: Message = {"role": role, "parts": parts}
    name = message.name or message.additional_kwargs.get("name")
    if name:
        converted["name"] = name
    return converted


def _thoughts(message: BaseMessage) -> dict[str, str]:
    """Reasoning that integrations keep beside the content, by location."""
    if not message.additional_kwargs or not isinstance(message, AIMessage):
        return {}
    found: dict[str, str] = {}
    for place in ("reasoning_content", "reasoning"):
        thought = message.additional_kwargs.get(place)
        if isinstance(thought, dict):
            told = thought.get("summary")
            pieces = [one.get("text") for one in told if isinstance(one, dict)] if isinstance(told, list) else ()
            thought = "\n".join(str(piece) for piece in pieces)
        if isinstance(thought, str) and thought:
            found[place] = thought
    return found


def _parts(content: Any, calls: Sequence[dict[str, Any]] = ()) -> Iterable[dict[str, Any]]:
    if isinstance(content, str):
        if content:
            yield {"type": "text", "content": content}
        return
    for block in content:
        if isinstance(block, str):
            yield {"type": "text", "content": block}
        elif block.get("type") == "text":
            yield {"type": "text", "content": block.get("text", "")}
        elif (thought := _thought(block)) is not None:
            yield {"type": "reasoning", "content": thought}
        else:
            part = media_part(block) or block_part(block, calls)
            if part is not None:
                yield part


def _thought(block: dict[str, Any]) -> str | None:
    """The text of a reasoning block in the form of LangChain, Anthropic or OpenAI's responses; ``None`` for others."""
    kind = block.get("type")
    said = block.get("reasoning" if kind == "reasoning" else "thinking")
    if kind in ("reasoning", "thinking") and isinstance(said, str):
        return said
    lists = (block.get(name) for name in ("summary", "content")) if kind == "reasoning" else ()
    told = [one for several in lists if isinstance(several, list) for one in several if isinstance(one, dict)]
    pieces = [one["text"] for one in told if isinstance(one.get("text"), str)]
    return "\n".join(pieces) if pieces else None


def from_message(message: Message, like: BaseMessage | None = None) -> BaseMessage:
    """A LangChain message for one in role/parts form.

    Args:
        message: What a hook gave; one in LangChain's own form is taken as it is.
        like: The message it replaces, whose id and metadata are kept.

    Raises:
        ValueError: LangChain has no message for the role, or the message has no content.
    """
    if "parts" not in message:
        return as_native(message)
    role, parts, name = message["role"], message["parts"], message.get("name")
    if isinstance(like, FunctionMessage) and role == "tool":
        return like.model_copy(update=_named({"content": _tool_content(parts)}, name or like.name, like))
    if isinstance(like, ToolMessage) and role == "tool":
        update = {"content": _tool_content(parts), "tool_call_id": _call_id(parts) or like.tool_call_id}
        return like.model_copy(update=_named(update, name, like))
    if like is not None and to_message(like)["role"] != role:
        like = None
    calls = [part for part in parts if part.get("type") == "tool_call"]
    fields = fields_for(calls, like) if role == "assistant" else {}
    said = [part for part in parts if part.get("type") != "tool_call"]
    if isinstance(like, AIMessage):
        said = _keep_thoughts(said, like, fields)
    content = _content([*said, *blocks_for(calls, like)], like)
    if like is not None:
        return like.model_copy(update=_named({"content": content, **fields}, name, like))
    if role == "system":
        return SystemMessage(content=content, name=name)
    if role == "user":
        return HumanMessage(content=content, name=name)
    if role == "assistant":
        return AIMessage(content=content, name=name, **fields)
    if role == "tool":
        return ToolMessage(content=_tool_content(parts), tool_call_id=_call_id(parts) or "", name=name)
    if not isinstance(role, str):
        raise ValueError(f"a message needs a role such as 'user', not {role!r}")
    return ChatMessage(role=role, content=content, name=name)


def as_native(message: Any) -> BaseMessage:
    """A message that a hook gave in LangChain's own form: one of its objects, ``{"role", "content"}``, plain text.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(message, dict) and not {"content", "tool_calls"} & message.keys():
        raise ValueError('a message needs "parts" or "content"')
    return convert_to_messages([message])[0]


def read(message: Any) -> Message:
    """A message that a hook gave in LangChain's own form, in role/parts form."""
    return to_message(as_native(message))


def _named(update: dict[str, Any], name: Any, like: BaseMessage) -> dict[str, Any]:
    more = update.get("additional_kwargs", like.additional_kwargs)
    if "name" in more:
        update["additional_kwargs"] = {key: one for key, one in more.items() if key != "name"}
    return {**update, "name": name}


def _keep_thoughts(parts: list[dict[str, Any]], like: AIMessage, fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Put reasoning back beside the content, if it was kept there; return the other parts.

    Reasoning that providers have signed stays as they wrote it, or is removed.
    """
    places = _thoughts(like)
    if not places:
        return parts
    there = [part for part in parts if part.get("type") == "reasoning"]
    same_number = len(there) == len([part for part in to_message(like)["parts"] if part["type"] == "reasoning"])
    more = dict(fields.get("additional_kwargs", like.additional_kwargs))
    rest = list(parts)
    for index, (place, thought) in enumerate(places.items()):
        part = next((one for one in there if one.get("content") == thought), there[index] if same_number else None)
        if part is None:
            del more[place]
            continue
        rest.remove(part)
        if isinstance(more[place], str):
            more[place] = part.get("content")
    fields["additional_kwargs"] = more
    return rest


def _content(parts: Sequence[dict[str, Any]], like: BaseMessage | None) -> Any:
    if all(part.get("type") == "text" for part in parts) and (like is None or isinstance(like.content, str)):
        return "".join(part["content"] for part in parts)
    known = like.content if like is not None and isinstance(like.content, list) else ()
    before = [block if isinstance(block, dict) else {} for block in known] if len(known) == len(parts) else []
    content: list[Any] = []
    for index, part in enumerate(parts):
        block = _as_it_was(part, known) or _block(part, before[index] if before else {})
        content.extend(() if block is None else (block,))
    return content


def _as_it_was(part: dict[str, Any], known: Sequence[Any]) -> Any:
    """The original block that reads like this part, with what a part cannot express."""
    if part.get("type") not in ("text", "reasoning") and not is_media(part):
        return None
    return next((block for block in known if isinstance(block, dict) and list(_parts([block])) == [part]), None)


def _block(part: dict[str, Any], like: dict[str, Any]) -> dict[str, Any] | None:
    """The block for a part, with the other keys of the block it replaces; ``None`` if it cannot be expressed."""
    if is_media(part):
        return media_wire(part, block_form, like or None)
    if part.get("type") == "text":
        return text_wire(part, like) or {"type": "text", "text": part["content"]}
    if part.get("type") == "reasoning":
        signed = like.get("type") in _SIGNED and "reasoning" not in like
        return None if signed else {"type": "reasoning", "reasoning": part["content"]}
    return part


_SIGNED = ("thinking", "reasoning")
"""Blocks in providers' own forms that only the model may write."""


def _call_id(parts: Iterable[dict[str, Any]]) -> str | None:
    return next((part.get("id") for part in parts if part.get("type") == "tool_call_response"), None)


def _tool_content(parts: Iterable[dict[str, Any]]) -> Any:
    for part in parts:
        if part.get("type") == "tool_call_response":
            return as_content(part.get("response"))
        if part.get("type") == "text":
            return part["content"]
    return ""


def as_content(value: Any) -> Any:
    """A value as the content of a message: text and lists of content blocks as they are, everything else as JSON."""
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


def rewrite(natives: Sequence[BaseMessage], new: Sequence[Any]) -> list[BaseMessage]:
    """LangChain messages for a hook's version of ``natives``; unchanged ones stay the same objects."""
    before = [to_message(native) for native in natives]
    result: list[BaseMessage] = []
    for index, message in enumerate(new):
        if not isinstance(message, dict):
            result.append(as_native(message))
        elif index < len(before) and before[index] == message:
            result.append(natives[index])
        elif message in before:
            result.append(natives[before.index(message)])
        else:
            same_place = natives[index] if len(new) == len(natives) else None
            result.append(from_message(message, same_place))
    return result


def with_system(natives: Sequence[BaseMessage], system: str) -> list[BaseMessage]:
    """The messages with these instructions first, replacing all existing instructions."""
    rest = [native for native in natives if to_message(native)["role"] != "system"]
    return [SystemMessage(content=system), *rest]


def system_of(messages: Iterable[Message]) -> str:
    """The text of all instructions among messages in role/parts form."""
    return "\n".join(
        str(part.get("content", ""))
        for message in messages
        if message["role"] == "system"
        for part in message["parts"]
        if part.get("type") == "text"
    )
