"""Messages of chat completions to the conventions' role/parts form and back.

What a part cannot express is kept: parts of unknown type stay in OpenAI's form, and messages or parts that a hook did
not change are sent as they were.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spanhook.instrument.wire import Kind, Part, Parts, Wire, decoded, encoded, fields_of
from spanhook.instrument.wire import rewrite as rewrite_each
from spanhook.model import Message, exact_text


def to_message(wire: Any) -> Message:
    """One message in role/parts form."""
    told = fields_of(wire)
    role = exact_text(told.get("role")) or "assistant"
    content = told.get("content")
    if role in _TOOLS:
        parts: list[Part] = [{"type": "tool_call_response", **_call_id(told), "response": content}]
        role = "tool"
    else:
        parts = [{"type": "reasoning", "content": thought} for thought in _thoughts(told, wire)]
        parts.extend(PARTS.read(content))
        parts.extend(_sound(told))
    refusal = told.get("refusal")
    if refusal:
        parts.append({"type": "refusal", "content": refusal})
    parts.extend(_call(call) for call in told.get("tool_calls") or ())
    legacy = fields_of(told.get("function_call"))
    if legacy:
        parts.append({"type": "tool_call", "name": legacy.get("name"), "arguments": decoded(legacy.get("arguments"))})
    message: Message = {"role": role, "parts": parts}
    if told.get("name"):
        message["name"] = told["name"]
    return message


_TOOLS = ("tool", "function")
"""The role of a tool result, and its name in older requests."""


def _call_id(told: Mapping[str, Any]) -> Part:
    return {"id": told["tool_call_id"]} if told.get("tool_call_id") else {}


def _sound(told: Mapping[str, Any]) -> list[Part]:
    """The model's audio with its transcript, or earlier audio by its id."""
    audio = fields_of(told.get("audio"))
    if audio.get("data"):
        words = audio.get("transcript") if not told.get("content") else ""
        said: list[Part] = [{"type": "text", "content": words}] if words else []
        return [*said, {"type": "blob", "modality": "audio", "content": audio["data"]}]
    return [{"type": "file", "modality": "audio", "file_id": audio["id"]}] if audio.get("id") else []


_THOUGHTS = ("reasoning_content", "reasoning")


def _thoughts(told: Mapping[str, Any], wire: Any) -> Iterable[str]:
    """Reasoning that compatible providers send beside the content."""
    more = getattr(wire, "__pydantic_extra__", None) or {}
    for name in _THOUGHTS:
        thought = told.get(name) or more.get(name)
        if isinstance(thought, str) and thought:
            yield thought
            return


_TEXT = Kind("text", {"content": "text"})
KINDS = {
    "text": _TEXT,
    "input_text": _TEXT,
    "output_text": _TEXT,
    "refusal": Kind("refusal", {"content": "refusal"}),
}
"""Content parts of chat completions and of response items."""
PARTS = Parts(KINDS)


def _call(call: Any) -> Part:
    told = fields_of(call)
    function = fields_of(told.get("function"))
    if function:
        arguments: Any = decoded(function.get("arguments"))
    else:
        function = fields_of(told.get("custom"))
        arguments = function.get("input")
    return {"type": "tool_call", "id": told.get("id"), "name": function.get("name"), "arguments": arguments}


def from_message(message: Message, like: Wire | None = None) -> Wire:
    """A message on the wire for one in role/parts form.

    Args:
        message: What a hook gave; one in OpenAI's own form is taken as it is.
        like: The message it replaces, whose other keys are kept.
    """
    if "parts" not in message:
        return dict(message)
    role, parts = message["role"], list(message["parts"])
    if role == "tool" and like is not None and like.get("role") == "function":
        role = "function"
    wire: Wire = {**like, "role": role} if like is not None and like.get("role") == role else {"role": role}
    wire.pop("name", None)
    if message.get("name"):
        wire["name"] = message["name"]
    _think(wire, [str(part.get("content") or "") for part in parts if part.get("type") == "reasoning"])
    responses = [part for part in parts if part.get("type") == "tool_call_response"]
    if responses:
        if role != "function" or responses[0].get("id"):
            wire["tool_call_id"] = responses[0].get("id") or wire.get("tool_call_id", "")
        wire["content"] = encoded(responses[0].get("response", ""))
        return wire
    calls = [part for part in parts if part.get("type") == "tool_call"]
    known = {call.get("id"): call for call in wire.pop("tool_calls", None) or ()}
    if calls and "function_call" in wire and not calls[0].get("id"):
        wire["function_call"] = {"name": calls[0].get("name"), "arguments": encoded(calls[0].get("arguments") or {})}
    else:
        wire.pop("function_call", None)
        if calls:
            wire["tool_calls"] = [_wire_call(call, known.get(call.get("id"))) for call in calls]
    refusals = [part for part in parts if part.get("type") == "refusal"]
    if "refusal" in wire:
        wire["refusal"] = refusals[0].get("content") if refusals else None
        refusals = []
    said = [part for part in parts if part.get("type") not in ("tool_call", "reasoning", "refusal")] + refusals
    aloud = [part for part in _sound(wire) if part in said]
    said = [part for part in said if part not in aloud]
    if not aloud:
        wire.pop("audio", None)
    wire["content"] = _content(said, like) if said or not (calls or aloud) else None
    return wire


def _think(wire: Wire, thoughts: Sequence[str]) -> None:
    """Put reasoning back where it was; there is no other place for it."""
    place = next((name for name in _THOUGHTS if isinstance(wire.get(name), str) and wire[name]), "")
    if not place:
        return
    for name in _THOUGHTS:
        wire.pop(name, None)
    if thoughts:
        wire[place] = "\n".join(thoughts)


def _wire_call(part: Part, like: Wire | None) -> Wire:
    call: Wire = dict(like) if like is not None else {"id": part.get("id") or "call_spanhook", "type": "function"}
    if "custom" in call:
        call["custom"] = {**call["custom"], "name": part.get("name"), "input": part.get("arguments")}
    else:
        function: Wire = call.get("function") or {}
        call["function"] = {**function, "name": part.get("name"), "arguments": encoded(part.get("arguments") or {})}
    return call


def _content(parts: Sequence[Part], like: Wire | None) -> Any:
    return PARTS.content(parts, like.get("content") if like is not None else None)


def rewrite(natives: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Messages on the wire for a hook's version of ``natives``; unchanged ones are sent as they were."""
    return rewrite_each(natives, new, to_message, lambda message, like: [from_message(message, like)])


def with_system(natives: Sequence[Any], system: str) -> list[Any]:
    """The messages with these instructions first, replacing all existing instructions."""
    rest = [native for native in natives if fields_of(native).get("role") not in _INSTRUCTIONS]
    like = next((fields_of(native) for native in natives if fields_of(native).get("role") in _INSTRUCTIONS), {})
    return [{"role": "system", **like, "content": system}, *rest]


_INSTRUCTIONS = ("system", "developer")


def system_of(messages: Iterable[Message]) -> str:
    """The text of all instructions among messages in role/parts form."""
    return "\n".join(
        str(part.get("content", ""))
        for message in messages
        if message["role"] in _INSTRUCTIONS
        for part in message["parts"]
        if part.get("type") == "text"
    )


def tool_name(tool: Any) -> str:
    """The name of a tool as the model sees it; for OpenAI's own tools, their type."""
    told = fields_of(tool)
    inner = fields_of(told.get("function") or told.get("custom"))
    return exact_text(inner.get("name")) or exact_text(told.get("name")) or exact_text(told.get("type"))
