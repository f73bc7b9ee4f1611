"""Results of tools, resources and prompts: what they say, and results that say what a hook answered."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from mcp import types

from spanhook import semconv
from spanhook.instrument.mcp.content import as_blocks, as_part, field, plain, said, text
from spanhook.model import Message, copied_model, copies, json_text

Schema = Mapping[str, Any] | None
"""A tool's schema for the structured part of its results; ``None`` if it has none, or if it is not known."""
_ANSWER = "result"
"""The one field of the schemas that the SDK makes for functions that do not return an object."""


def _models() -> tuple[type[Any], ...]:
    """The models that results consist of; version 1 wraps those that servers give in another one."""
    return (
        types.Result,
        types.TextContent,
        types.ImageContent,
        types.AudioContent,
        types.EmbeddedResource,
        types.ResourceLink,
        types.ResourceContents,
        types.PromptMessage,
        types.Annotations,
        *((one,) if isinstance(one := getattr(types, "ServerResult", None), type) else ()),
    )


copies(*_models())(copied_model)


# ----------------------------------------------------------------------------------------------- tools


def fault(result: Any) -> str:
    return semconv.TOOL_ERROR if field(result, "isError", "is_error") is True else ""


def tool_output(result: Any) -> list[Message]:
    blocks = field(result, "content", "content")
    if not isinstance(blocks, list):  # no result yet, but a task, or a question to the client
        return []
    told = said(blocks)
    if not told and (structured := field(result, "structuredContent", "structured_content")) is not None:
        told = json_text(structured, ensure_ascii=False)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": told}]}]


def tool_result(value: Any, schema: Schema, *, strict: bool) -> dict[str, Any]:
    """The result that says ``value``, as on the wire.

    Args:
        value: Text, blocks of content, an object, or a whole result.
        schema: What the structured part has to look like.
        strict: Whether a result that lacks it is of no use.

    Raises:
        TypeError: There is a schema, and ``value`` cannot be written accordingly.
    """
    if _is_result(value, "content"):
        return plain(value)
    told: dict[str, Any] = {"content": as_blocks(value), "isError": False}
    structured = _structured(value, schema)
    if structured is not None:
        told["structuredContent"] = structured
    elif schema is not None and strict:
        raise TypeError("the tool has an output schema; answer with an object or a whole result")
    return told


def tool_amended(result: Any, value: Any, schema: Schema, *, strict: bool) -> dict[str, Any]:
    """``tool_result`` for a value that replaces ``result``: an error stays one unless the value is a whole result."""
    if _is_result(value, "content"):
        return plain(value)
    before = plain(result)
    structured = before.get("structuredContent")
    if schema is None and isinstance(structured, Mapping):
        schema = {"properties": dict.fromkeys(structured)}
    failed = before.get("isError") is True
    told = tool_result(value, schema, strict=strict and not failed)
    kept = {name: before[name] for name in ("_meta", "resultType") if name in before}
    return {**kept, **told, "isError": failed}


def tool_refused(reason: str) -> dict[str, Any]:
    """The error result that tells the model why."""
    return {"content": [text(f"Tool call rejected: {reason}")], "isError": True}


def _structured(value: Any, schema: Schema) -> Any:
    wraps = schema is not None and set(schema.get("properties") or ()) == {_ANSWER}
    if isinstance(value, Mapping):
        return {_ANSWER: dict(value)} if wraps and _ANSWER not in value else dict(value)
    if wraps:
        return {_ANSWER: value if _is_plain(value) else json.loads(json_text(value))}
    if schema is None or not isinstance(value, str):
        return None
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def _is_result(value: Any, name: str) -> bool:
    """Whether a hook gave a whole result, as a model or as it is written on the wire."""
    value = getattr(value, "root", value)
    if isinstance(value, Mapping):
        return isinstance(value.get(name), list) and not isinstance(value.get("type"), str)
    return isinstance(value, types.Result)


# ----------------------------------------------------------------------------------------------- resources


def resource_output(result: Any) -> list[Message]:
    contents = field(result, "contents", "contents")
    if not isinstance(contents, list):
        return []
    parts: list[dict[str, Any]] = []
    for one in contents:
        found = field(one, "text", "text")
        if found is not None:
            parts.append({"type": "text", "content": found})
        else:
            told = plain(one)
            parts.append({"type": "blob", "mime_type": told.get("mimeType"), "content": told.get("blob")})
    return [{"role": "tool", "parts": parts}]


def resource_result(value: Any, uri: str) -> dict[str, Any]:
    """The result that says ``value``: text, bytes, or a whole result."""
    if _is_result(value, "contents"):
        return plain(value)
    if isinstance(value, bytes):
        return {"contents": [{"uri": uri, "blob": b64encode(value).decode()}]}
    if not isinstance(value, str):
        value = json_text(value, ensure_ascii=False)
    return {"contents": [{"uri": uri, "text": value}]}


# ----------------------------------------------------------------------------------------------- prompts


def prompt_output(result: Any) -> list[Message]:
    messages = field(result, "messages", "messages")
    if not isinstance(messages, list):
        return []
    return [
        {"role": field(one, "role", "role"), "parts": [as_part(field(one, "content", "content"))]} for one in messages
    ]


def prompt_result(value: Any) -> dict[str, Any]:
    """The result that says ``value``: text, messages, or a whole result."""
    if _is_result(value, "messages"):
        return plain(value)
    messages = list(value) if isinstance(value, list | tuple) else [value]
    return {"messages": [made for one in messages for made in _as_messages(one)]}


def _as_messages(message: Any) -> list[dict[str, Any]]:
    if isinstance(message, str):
        return [{"role": "user", "content": text(message)}]
    told = plain(message)
    role = "assistant" if told.get("role") == "assistant" else "user"
    if "parts" in told:
        blocks = [text(str(part.get("content", ""))) for part in told["parts"]]
    else:
        given = told.get("content")
        blocks = as_blocks(given)
    return [{"role": role, "content": block} for block in blocks]
