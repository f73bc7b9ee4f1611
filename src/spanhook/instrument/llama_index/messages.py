"""The library's messages to the conventions' role/parts form and back.

What a hook did not change stays the object that it was. Some integrations keep what a model asks for beside a message's
blocks, in its ``additional_kwargs``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from llama_index.core.base.llms.types import (
    AudioBlock,
    CachePoint,
    ChatMessage,
    ChatResponse,
    CitableBlock,
    CitationBlock,
    CompletionResponse,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from spanhook.instrument.wire import decoded, encoded, fields_of, last_text, messages_in, rewrite_objects
from spanhook.model import Carried, Message, copied_model, copies, exact_text

copies(
    *(AudioBlock, CachePoint, ChatMessage, ChatResponse, CitableBlock, CitationBlock, CompletionResponse),
    *(DocumentBlock, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock),
)(copied_model)

Part = dict[str, Any]
_ROLES = {"chatbot": "assistant", "model": "assistant", "function": "tool"}
"""Roles of some providers, in the conventions' terms."""
_ASKED, _ANSWERS = "tool_calls", "tool_call_id"
"""Where integrations keep, beside the blocks, what a model asks for, and to what a tool's message is the answer."""
_EXPECTED = "a model's answer is text, a message or a response of LlamaIndex, or messages in role/parts form"


def read(message: Any) -> Message:
    """One message in role/parts form; a hook may also give a message of one text."""
    if isinstance(message, str):
        return {"role": "user", "parts": [_text(message)]}
    if isinstance(message, Mapping):
        return _of_text(cast("Mapping[str, Any]", message))
    role = _role_of(message)
    return {"role": role, "parts": list(_answered(message) if role == "tool" else _said(message))}


def read_all(messages: Any) -> list[Message]:
    """Messages in role/parts form."""
    return [read(one) for one in messages or ()]


def _role_of(message: Any) -> str:
    role = exact_text(getattr(message.role, "value", message.role))
    return _ROLES.get(role, role)


def _text(text: Any) -> Part:
    return {"type": "text", "content": text}


def _said(message: Any) -> Iterator[Part]:
    """What a message says, block by block, and what it asks for."""
    asks = False
    for block in message.blocks:
        asks = asks or isinstance(block, ToolCallBlock)
        yield _part(block)
    for call in () if asks else message.additional_kwargs.get(_ASKED) or ():
        told = fields_of(call)
        function = fields_of(told.get("function")) or told
        arguments = decoded(function.get("arguments") or {})
        yield {"type": "tool_call", "id": told.get("id"), "name": function.get("name"), "arguments": arguments}


def _answered(message: Any) -> Iterator[Part]:
    """What a tool has returned: its text as one answer, and what is no text."""
    texts = [one.text for one in message.blocks if isinstance(one, TextBlock)]
    if texts:
        answers = message.additional_kwargs.get(_ANSWERS)
        yield {"type": "tool_call_response", "id": answers, "response": "\n".join(texts)}
    yield from (_part(one) for one in message.blocks if not isinstance(one, TextBlock))


def _part(block: Any) -> Part:
    if isinstance(block, TextBlock):
        return _text(block.text)
    if isinstance(block, ToolCallBlock):
        arguments = decoded(block.tool_kwargs or {})
        return {"type": "tool_call", "id": block.tool_call_id, "name": block.tool_name, "arguments": arguments}
    if isinstance(block, ThinkingBlock):
        return {"type": "reasoning", "content": block.content or ""}
    return _medium(block)


def _medium(block: Any) -> Part:
    """An image, sound, video or document; any other block with the fields that it has."""
    kind = str(getattr(block, "block_type", None) or type(block).__name__.removesuffix("Block").lower())
    mime = next((getattr(block, name, None) for name in (f"{kind}_mimetype", "format")), None)
    data = getattr(block, kind, None) or getattr(block, "data", None)
    if isinstance(data, bytes):
        return {"type": "blob", "modality": kind, "mime_type": mime, "content": data.decode("ascii", "replace")}
    url = getattr(block, "url", None)
    if url is not None:
        return {"type": "uri", "modality": kind, "mime_type": mime, "uri": str(url)}
    path = getattr(block, "path", None)
    if path is not None:
        return {"type": "file", "modality": kind, "mime_type": mime, "file_id": str(path)}
    return {"type": kind, **{name: encoded(one) for name, one in fields_of(block).items() if name != "block_type"}}


def system_of(messages: Iterable[Any]) -> str:
    """The instructions among messages."""
    told = (read(one) for one in messages if _role_of(one) in ("system", "developer"))
    return "\n\n".join(text_of_parts(one["parts"]) for one in told)


def text_of_parts(parts: Iterable[Part]) -> str:
    """The text of a message, in which each block stands for itself."""
    return "\n".join(str(one.get("content") or "") for one in parts if one.get("type") == "text")


def carried_by(messages: Sequence[Any]) -> Carried:
    """The text of the last message, by which a client's request is recognized."""
    return last_text(messages, read)


# ------------------------------------------------------------------------------------------------- writing


def rewritten(messages: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """A hook's version of messages; what it did not change is the same."""
    return rewrite_objects(messages, new, read, lambda message, native: [written(message, native)])


def instructed(messages: Sequence[Any], system: str) -> list[Any]:
    """Messages with these instructions in place of others."""
    rest = [one for one in messages if _role_of(one) not in ("system", "developer")]
    return [ChatMessage(role=MessageRole.SYSTEM, content=system), *rest] if system else rest


def _of_text(message: Mapping[str, Any]) -> Message:
    if "parts" in message:
        return dict(message)
    if not isinstance(message.get("content"), str):
        raise ValueError("a message is a mapping with `parts`, or with `content` that is text")
    return {"role": message.get("role") or "user", "parts": [_text(message["content"])]}


def written(message: Any, like: Any = None) -> Any:
    """A message in role/parts form, or of one text, as the library has it.

    Args:
        message: What a hook gave; one of the library's own stays as it is.
        like: What it replaces, whose other fields are kept.

    Raises:
        ValueError: It has a part that cannot be written.
    """
    if isinstance(message, ChatMessage):
        return message
    told = read(message)
    parts: list[Part] = list(told["parts"] or ())
    blocks, others = _blocks(parts, like), dict(like.additional_kwargs) if like is not None else {}
    if any(part.get("type") == "tool_call_response" for part in parts):
        others[_ANSWERS] = next((part.get("id") for part in parts if part.get("id")), others.get(_ANSWERS))
    if like is not None and _asks(parts) != _asks(read(like)["parts"]):
        others.pop(_ASKED, None)
        others.pop("function_call", None)
    role = like.role if like is not None and _role_of(like) == told["role"] else MessageRole(told["role"])
    if like is not None:
        return like.model_copy(update={"role": role, "blocks": blocks, "additional_kwargs": others})
    return ChatMessage(role=role, blocks=blocks, additional_kwargs=others)


def _asks(parts: Iterable[Part]) -> list[Part]:
    return [one for one in parts if one.get("type") == "tool_call"]


def _blocks(parts: Iterable[Part], like: Any) -> list[Any]:
    before = [(_part(one), one) for one in (like.blocks if like is not None else ())]
    aside = (
        [] if like is None or any(isinstance(one, ToolCallBlock) for _, one in before) else _asks(read(like)["parts"])
    )
    made: list[Any] = []
    for part in parts:
        if part in aside:
            continue  # it stays where it is, beside the blocks
        same = next((one for told, one in before if told == part), None)
        made.append(same if same is not None else _block(part))
    return made


def _block(part: Part) -> Any:
    kind = part.get("type")
    if kind == "text":
        return TextBlock(text=str(part.get("content") or ""))
    if kind == "tool_call_response":
        return TextBlock(text=str(encoded(part.get("response", ""))))
    if kind == "tool_call":
        arguments = decoded(part.get("arguments") or {})
        return ToolCallBlock(tool_call_id=part.get("id"), tool_name=exact_text(part.get("name")), tool_kwargs=arguments)
    raise ValueError(f"a part of type {kind!r} cannot be written; keep it or leave it out")


def answer_of(value: Any) -> Any:
    """The message of a model that gives this answer: text, a message of the library's, or one in role/parts form.

    Raises:
        TypeError: It is none of these, or several messages.
    """
    if isinstance(value, ChatMessage):
        return value
    messages = messages_in(value, _EXPECTED)
    if len(messages) != 1:
        raise TypeError(f"{_EXPECTED}, and one message, not {len(messages)}")
    return written({**messages[0], "role": "assistant"})
