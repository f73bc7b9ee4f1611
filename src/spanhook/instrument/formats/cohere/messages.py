"""Messages of chat to the conventions' role/parts form and back.

A plan that the model made before it calls tools, and its thinking, are parts of type ``reasoning``.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from spanhook.instrument.wire import Kind, Part, Parts, Wire, decoded, encoded, fields_of, list_of, text_of
from spanhook.instrument.wire import rewrite as rewrite_each
from spanhook.model import Message

PARTS = Parts({"text": Kind("text", {"content": "text"}), "thinking": Kind("reasoning", {"content": "thinking"})})


def to_message(wire: Any) -> Message:
    """One message in role/parts form."""
    told = fields_of(wire)
    role, content = text_of(told.get("role")) or "assistant", told.get("content")
    if role == "tool":
        part = {"type": "tool_call_response", "id": told.get("tool_call_id"), "response": content}
        return {"role": "tool", "parts": [part]}
    plan = told.get("tool_plan")
    parts: list[Part] = [{"type": "reasoning", "content": plan}] if isinstance(plan, str) and plan else []
    parts.extend(PARTS.read(content))
    parts.extend(_call(call) for call in list_of(told.get("tool_calls")))
    return {"role": role, "parts": parts}


def _call(call: Any) -> Part:
    told = fields_of(call)
    function = fields_of(told.get("function"))
    arguments = decoded(function.get("arguments"))
    return {"type": "tool_call", "id": told.get("id"), "name": function.get("name"), "arguments": arguments}


def from_message(message: Any, like: Wire | None = None) -> Wire:
    """A message on the wire for one in role/parts form; one in Cohere's own form is taken as it is."""
    if "parts" not in message:
        return dict(message)
    role, parts = message["role"], list(message["parts"])
    wire: Wire = {**like} if like is not None and like.get("role") == role else {"role": role}
    results = [part for part in parts if part.get("type") == "tool_call_response"]
    if results:
        content = encoded(results[0].get("response", ""))
        return {**wire, "role": "tool", "tool_call_id": results[0].get("id"), "content": content}
    calls = [part for part in parts if part.get("type") == "tool_call"]
    known = {call.get("id"): call for call in list_of(wire.pop("tool_calls", None))}
    had_plan = bool(wire.pop("tool_plan", None))
    if calls:
        wire["tool_calls"] = [_wire_call(call, known.get(call.get("id"))) for call in calls]
    said = [part for part in parts if part.get("type") != "tool_call"]
    if said and said[0].get("type") == "reasoning" and (had_plan or (calls and like is None)):
        wire["tool_plan"] = said.pop(0).get("content") or ""
    if said or not calls:
        wire["content"] = PARTS.content(said, like.get("content") if like is not None else None)
    else:
        wire.pop("content", None)
    return wire


def _wire_call(part: Part, like: Any) -> Wire:
    made: Wire = dict(like) if like else {"id": part.get("id") or "call_spanhook", "type": "function"}
    function = {"name": part.get("name"), "arguments": encoded(part.get("arguments") or {})}
    return {**made, "function": {**fields_of(made.get("function")), **function}}


def rewrite(natives: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Messages on the wire for a hook's version of ``natives``; unchanged ones are sent as they were."""
    return rewrite_each(natives, new, to_message, lambda message, like: [from_message(message, like)])


def with_system(natives: Sequence[Any], system: str) -> list[Any]:
    """The messages with these instructions first, in place of all that were there."""
    rest = [native for native in natives if fields_of(native).get("role") != "system"]
    return [{"role": "system", "content": system}, *rest]


def system_of(messages: Iterable[Message]) -> str:
    """The text of all instructions among messages in role/parts form."""
    parts = (part for message in messages if message["role"] == "system" for part in message["parts"])
    return "\n".join(str(part.get("content", "")) for part in parts if part.get("type") == "text")


def tool_name(tool: Any) -> str:
    """The name of a tool as the model sees it, in either version of the API."""
    told = fields_of(tool)
    return text_of(fields_of(told.get("function")).get("name") or told.get("name"))
