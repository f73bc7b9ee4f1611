"""Messages of fast-agent to the conventions' role/parts form and back.

What a hook did not change stays the object that it was.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from fast_agent.mcp.helpers.content_helpers import tool_result_text_for_llm
from fast_agent.mcp.prompt_message_extended import PromptMessageExtended
from mcp import types

from spanhook.instrument.wire import decoded, rewrite_objects, text_in
from spanhook.model import Message, copied_model, copies, exact_text

copies(PromptMessageExtended)(copied_model)

Part = dict[str, Any]
_FALLBACK = "call_spanhook"
_FIELDS = types.CallToolResult.model_fields
_STRUCTURED = "structured_content" if "structured_content" in _FIELDS else "structuredContent"
"""Models are told this part of a result in place of its text."""


def listed(messages: Any) -> list[Any]:
    """What was given to an agent or a model, as a list: a text or a message, or several."""
    if messages is None:
        return []
    return list(messages) if isinstance(messages, list | tuple) else [messages]


def read_all(messages: Iterable[Any]) -> list[Message]:
    """Messages in role/parts form."""
    return [read(message) for message in messages]


def read(message: Any) -> Message:
    """One message in role/parts form; a hook may also give a message of one text."""
    if isinstance(message, str):
        return {"role": "user", "parts": [{"type": "text", "content": message}]}
    if isinstance(message, Mapping):
        return _of_text(message)
    role = "tool" if getattr(message, "tool_results", None) else exact_text(message.role)
    return {"role": role, "parts": list(_parts(message))}


def _parts(message: Any) -> Iterator[Part]:
    for call_id, result in (getattr(message, "tool_results", None) or {}).items():
        yield {"type": "tool_call_response", "id": call_id, "response": result_text(result)}
    content = message.content
    for block in content if isinstance(content, list) else [content]:
        yield _part(block)
    for call_id, call in (getattr(message, "tool_calls", None) or {}).items():
        arguments = call.params.arguments or {}
        yield {"type": "tool_call", "id": call_id, "name": call.params.name, "arguments": arguments}


def _part(block: Any) -> Part:
    if block.type == "text":
        return {"type": "text", "content": block.text}
    told = plain(block)
    if block.type in ("image", "audio"):
        return {"type": "blob", "modality": block.type, "mime_type": told.get("mimeType"), "content": told.get("data")}
    return told


def field(value: Any, name: str, earlier: str) -> Any:
    """A field of a model of MCP's, which version 1 of its SDK names as it is written on the wire."""
    known = _fields(type(value))
    name = name if name in known else earlier
    return getattr(value, name) if name in known else None


@cache
def _fields(model: type[Any]) -> frozenset[str]:
    """The names of a model's fields; asking a model for others takes long."""
    return frozenset(model.model_fields)


def plain(model: Any) -> dict[str, Any]:
    """A model of MCP's as it is written on the wire."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def result_text(result: Any) -> Any:
    """What models are told of a tool's result: its text, or its blocks if there are others among them."""
    if all(block.type == "text" for block in result.content):
        return tool_result_text_for_llm(result)
    return [plain(block) for block in result.content]


# ------------------------------------------------------------------------------------------------- writing


def rewritten(messages: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """A hook's version of messages; what it did not change is the same."""

    def made(message: Any, native: Any) -> list[Any]:
        return [written(message, native)] if isinstance(message, Mapping) else [message]

    return rewrite_objects(messages, new, read, made)


def _of_text(message: Mapping[str, Any]) -> Message:
    if "parts" in message:
        return dict(message)
    if not isinstance(message.get("content"), str):
        raise ValueError("a message is a mapping with `parts`, or with `content` that is text")
    return {"role": message.get("role") or "user", "parts": [{"type": "text", "content": message["content"]}]}


def written(message: Mapping[str, Any], like: Any = None) -> Any:
    """A message in role/parts form, or of one text, as fast-agent has it.

    Args:
        message: What a hook gave.
        like: What it replaces, whose other fields are kept.

    Raises:
        ValueError: It has a part that cannot be written.
    """
    message = _of_text(message)
    parts = list(message["parts"] or ())
    role = "assistant" if message.get("role") == "assistant" else "user"
    like = like if isinstance(like, PromptMessageExtended) else None
    results = {
        str(part.get("id") or _FALLBACK): _written_result(part, like)
        for part in parts
        if part.get("type") == "tool_call_response"
    }
    changes: dict[str, Any] = {
        "role": role,
        "content": [_block(part, like) for part in parts if part.get("type") not in _ELSEWHERE],
        "tool_calls": _written_calls(parts) or None,
        "tool_results": results or None,
    }
    return PromptMessageExtended(**changes) if like is None else like.model_copy(update=changes)


_ELSEWHERE = ("tool_call", "tool_call_response", "reasoning")


def _block(part: Part, like: Any) -> Any:
    if part.get("type") == "text":
        return types.TextContent(type="text", text=str(part.get("content") or ""))
    for block in like.content if like is not None else ():
        if _part(block) == part:
            return block
    raise ValueError(f"a part of type {part.get('type')!r} cannot be written; keep it or leave it out")


def _written_calls(parts: Iterable[Part]) -> dict[str, Any]:
    calls = (part for part in parts if part.get("type") == "tool_call")
    return {
        str(part.get("id") or _FALLBACK): types.CallToolRequest(
            method="tools/call",
            params=types.CallToolRequestParams(
                name=exact_text(part.get("name")), arguments=decoded(part.get("arguments") or {})
            ),
        )
        for part in calls
    }


def _written_result(part: Part, like: Any) -> Any:
    before = ((like.tool_results if like is not None else None) or {}).get(part.get("id"))
    response = part.get("response", "")
    if before is not None and result_text(before) == response:
        return before
    text = response if isinstance(response, str) else text_in([{"type": "text", "content": str(response)}])
    content: Any = [types.TextContent(type="text", text=text)]
    if before is not None:
        return before.model_copy(update={"content": content, _STRUCTURED: None})
    return types.CallToolResult(content=content)
