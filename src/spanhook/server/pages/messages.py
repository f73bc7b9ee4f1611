"""What was sent to a model or a tool and came back, as text, from attributes in the format of the GenAI conventions."""

import json
from typing import Any, Literal, NamedTuple, cast

from spanhook import semconv
from spanhook.server.pages.formats import LONGEST, pretty

_MOST = 200
_ATTRIBUTES = (
    (semconv.GEN_AI_SYSTEM_INSTRUCTIONS, "system"),
    (semconv.GEN_AI_INPUT_MESSAGES, "input"),
    (semconv.GEN_AI_OUTPUT_MESSAGES, "output"),
)
_OF_TOOLS = ((semconv.GEN_AI_TOOL_CALL_ARGUMENTS, "arguments"), (semconv.GEN_AI_TOOL_CALL_RESULT, "result"))


class Message(NamedTuple):
    """A message.

    Attributes:
        role: Whose it is, such as ``user``; ``arguments`` and ``result`` of tools.
        text: Its text.
        form: ``text``, or ``data`` for JSON.
    """

    role: str
    text: str
    form: Literal["text", "data"] = "text"


def messages_of(attributes: dict[str, Any]) -> list[Message]:
    """The messages in attributes; none if content was not captured."""
    found = list[Message]()
    for name, role in _ATTRIBUTES:
        value = _read(attributes.get(name))
        if value is not None:
            found.extend(_messages(value, role))
    for name, role in _OF_TOOLS:
        if attributes.get(name) is not None:
            found.append(Message(role, pretty(attributes[name])[:LONGEST], "data"))
    return [one for one in found if one.text][:_MOST]


def _messages(value: Any, role: str) -> list[Message]:
    if not isinstance(value, list):
        return [Message(role, _cut(value))]
    found, loose = list[Message](), list[Any]()
    for one in cast("list[Any]", value):
        parts = _get(one, "parts")
        if isinstance(parts, list):
            found.extend(_parts(cast("list[Any]", parts), str(_get(one, "role") or role)))
        else:
            loose.append(one)
    return [*found, *_parts(loose, role)]


def _parts(parts: list[Any], role: str) -> list[Message]:
    return [_part(one, role) for one in parts]


def _part(part: Any, role: str) -> Message:
    kind, content = _get(part, "type"), _get(part, "content")
    if kind in ("text", "reasoning") and isinstance(content, str):
        return Message(f"{role} (reasoning)" if kind == "reasoning" else role, content[:LONGEST])
    if kind == "tool_call":
        return Message(f"{role} calls {_get(part, 'name')}", _cut(_get(part, "arguments")), "data")
    if kind == "tool_call_response":
        response = _get(part, "response")
        return Message(f"{role} response", _cut(_get(part, "result") if response is None else response), "data")
    return Message(role, _cut(part), "data" if isinstance(part, dict | list) else "text")


def _get(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _cut(value: Any) -> str:
    return "" if value is None else pretty(value)[:LONGEST]


def _read(value: Any) -> Any:
    """An attribute is plain data, or the same as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
