"""Tool calls in a model's message, wherever LangChain and its integrations keep them.

They are in ``tool_calls`` and, if their arguments could not be parsed, in ``invalid_tool_calls``; integrations fall
back on the provider's form in ``additional_kwargs``; and in many content formats there is also a block for each.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from spanhook.model import json_text

Part = dict[str, Any]

_ONLY = "__arg1"
"""LangChain's name for the argument of a tool that takes plain text."""
_RAW = ("tool_calls", "function_call")
_WITHOUT = frozenset((HumanMessage, SystemMessage))
"""Messages without fields for tool calls: looking for one would raise inside of Pydantic."""
_BLOCKS = {
    "tool_use": ("id", "input"),
    "tool_call": ("id", "args"),
    "invalid_tool_call": ("id", "args"),
    "function_call": ("call_id", "arguments"),
    "custom_tool_call": ("call_id", "input"),
}
"""Content blocks that represent tool calls: the keys of their id and arguments."""


def call_parts(message: BaseMessage) -> list[Part]:
    """The tool calls with which a model's message will be sent."""
    if type(message) in _WITHOUT and not message.__pydantic_extra__:
        return []
    known = [
        *(getattr(message, "tool_calls", None) or ()),
        *(getattr(message, "invalid_tool_calls", None) or ()),
    ]
    if known:
        return [_part(call.get("id"), call.get("name"), call.get("args")) for call in known]
    if not isinstance(message, AIMessage):
        return []
    raw = message.additional_kwargs.get("tool_calls")
    if raw:
        return [_raw_part(call) for call in raw if isinstance(call, Mapping)]
    legacy = message.additional_kwargs.get("function_call")
    if isinstance(legacy, Mapping):
        return [{"type": "tool_call", "name": legacy.get("name"), "arguments": arguments_of(legacy.get("arguments"))}]
    return []


def _part(identifier: Any, name: Any, arguments: Any) -> Part:
    if isinstance(arguments, Mapping):
        arguments = {**arguments}
    return {"type": "tool_call", "id": identifier, "name": name, "arguments": arguments}


def _raw_part(call: Mapping[str, Any]) -> Part:
    function = call.get("function") or call.get("custom") or {}
    return _part(call.get("id"), function.get("name"), arguments_of(function.get("arguments", function.get("input"))))


def arguments_of(given: Any) -> Any:
    """Arguments by name; unchanged if they are not a JSON object."""
    if not isinstance(given, str):
        return given
    try:
        read = json.loads(given)
    except ValueError:
        return given
    return read if isinstance(read, dict) else given


def block_part(block: Mapping[str, Any], listed: Sequence[Part]) -> Part | None:
    """A content block for a tool call as a part; ``None`` if the call is already listed."""
    where = _BLOCKS.get(str(block.get("type")))
    if where is None:
        return dict(block)
    identifier, arguments = where
    if block.get(identifier) and any(part.get("id") == block[identifier] for part in listed):
        return None
    if block["type"] in ("tool_call", "invalid_tool_call"):
        return _part(block.get(identifier), block.get("name"), block.get(arguments))
    return dict(block)


# ----------------------------------------------------------------------------------------------- and back


def fields_for(parts: Sequence[Part], like: BaseMessage | None) -> dict[str, Any]:
    """The fields of a model's message for its tool calls, and for the data sent with them.

    Args:
        parts: The tool calls that a hook wants.
        like: The message that contained them.
    """
    fields: dict[str, Any] = {"tool_calls": [], "invalid_tool_calls": []}
    if isinstance(like, AIMessage):
        if call_parts(like) == list(parts):
            return {}
        fields["additional_kwargs"] = {name: one for name, one in like.additional_kwargs.items() if name not in _RAW}
        if hasattr(like, "tool_call_chunks"):
            fields["tool_call_chunks"] = []
        if len(parts) == 1 and "id" not in parts[0] and "function_call" in like.additional_kwargs:
            said = {"name": parts[0].get("name"), "arguments": _text(parts[0].get("arguments"))}
            fields["additional_kwargs"]["function_call"] = said
            return fields
    errors = {call.get("id"): call.get("error") for call in getattr(like, "invalid_tool_calls", None) or ()}
    for part in parts:
        arguments = arguments_of(part.get("arguments") or {})
        call = {"id": part.get("id"), "name": part["name"], "args": arguments}
        if isinstance(arguments, Mapping):
            fields["tool_calls"].append({**call, "args": {**arguments}, "type": "tool_call"})
        else:
            call |= {"args": _text(arguments), "error": errors.get(part.get("id")), "type": "invalid_tool_call"}
            fields["invalid_tool_calls"].append(call)
    return fields


def blocks_for(parts: Sequence[Part], like: BaseMessage | None) -> Iterator[Part]:
    """The content blocks of the remaining tool calls, updated."""
    kept = {part["id"]: part for part in parts if part.get("id")}
    content = like.content if like is not None and isinstance(like.content, list) else ()
    for block in content:
        if not isinstance(block, dict) or block.get("type") not in _BLOCKS:
            continue
        identifier, arguments = _BLOCKS[block["type"]]
        part = kept.get(block.get(identifier))
        if part is not None:
            given = part.get("arguments") or {}
            if isinstance(block.get(arguments), str):
                custom = given.get(_ONLY) if isinstance(given, Mapping) else None
                given = custom if isinstance(custom, str) else _text(given)
            yield {**block, "name": part.get("name"), arguments: given}


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json_text(arguments or {}, ensure_ascii=False)
