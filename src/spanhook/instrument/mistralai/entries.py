"""Entries of conversations to the conventions' role/parts form and back."""

from collections.abc import Sequence
from typing import Any

from spanhook.instrument.formats.openai import chat_message
from spanhook.instrument.mistralai.messages import from_message, read_part
from spanhook.instrument.wire import Fields, Part, Wire, decoded, encoded, fields_of, text_of
from spanhook.instrument.wire import rewrite as rewrite_each
from spanhook.model import Message

_INPUT, _OUTPUT = "message.input", "message.output"


def to_message(entry: Any) -> Message:
    """One entry in role/parts form; text is the user's."""
    if isinstance(entry, str):
        return {"role": "user", "parts": [{"type": "text", "content": entry}] if entry else []}
    told = fields_of(entry)
    kind = text_of(told.get("type"))
    if kind == "function.call":
        return {"role": "assistant", "parts": [_call(told)]}
    if kind == "function.result":
        part = {"type": "tool_call_response", "id": told.get("tool_call_id"), "response": told.get("result")}
        return {"role": "tool", "parts": [part]}
    if kind == "tool.execution":
        return {"role": "assistant", "parts": [_run(told)]}
    if kind == "agent.handoff":
        return {"role": "assistant", "parts": [dict(told)]}
    role = text_of(told.get("role")) or ("user" if kind == _INPUT else "assistant")
    said = told.get("content")
    message = chat_message({"role": role, "content": [said] if isinstance(said, dict) else said})
    return {"role": role, "parts": [read_part(part) for part in message["parts"]]}


def _call(told: Fields) -> Part:
    arguments = decoded(told.get("arguments"))
    return {"type": "tool_call", "id": told.get("tool_call_id"), "name": told.get("name"), "arguments": arguments}


def _run(told: Fields) -> Part:
    """A tool that Mistral ran."""
    call = {"type": text_of(told.get("name")), "arguments": decoded(told.get("arguments"))}
    if told.get("info"):
        call["info"] = told["info"]
    return {"type": "server_tool_call", "id": told.get("id"), "name": told.get("name"), "server_tool_call": call}


def to_messages(inputs: Any) -> list[Message]:
    """What a request adds to a conversation."""
    entries = [inputs] if isinstance(inputs, str) else inputs if isinstance(inputs, list) else []
    return [to_message(entry) for entry in entries]


def from_entry(message: Any, like: Wire | None = None) -> list[Wire]:
    """Entries on the wire for a message in role/parts form; one in Mistral's own form is taken as it is."""
    if "parts" not in message:
        return [dict(message)]
    said: list[Part] = []
    entries: list[Wire] = []
    for part in message["parts"]:
        kind = part.get("type")
        if kind == "tool_call":
            entries.append(
                {
                    **_same(like, "function.call"),
                    "type": "function.call",
                    "tool_call_id": part.get("id") or "call_spanhook",
                    "name": part.get("name"),
                    "arguments": encoded(part.get("arguments") or {}),
                }
            )
        elif kind == "tool_call_response":
            entries.append(
                {
                    **_same(like, "function.result"),
                    "type": "function.result",
                    "tool_call_id": part.get("id"),
                    "result": encoded(part.get("response", "")),
                }
            )
        else:
            said.append(part)
    if said or not entries:
        entries.insert(0, _entry(message["role"], said, like))
    return entries


def _same(like: Wire | None, kind: str) -> Wire:
    return like if like is not None and like.get("type") == kind else {}


def _entry(role: str, parts: Sequence[Part], like: Wire | None) -> Wire:
    kind = _INPUT if role == "user" else _OUTPUT
    before = _same(like, kind)
    wire = from_message({"role": role, "parts": list(parts)}, {**before, "role": role} if before else None)
    return {**wire, "type": kind, "content": wire.get("content") or ""}


def rewrite(inputs: Any, given: Sequence[Any]) -> Any:
    """What a request adds, for a hook's version of it; unchanged entries are sent as they were."""
    if not isinstance(inputs, str):
        return rewrite_each(inputs or (), given, to_message, from_entry)
    if len(given) == 1 and "parts" in given[0] and all(part.get("type") == "text" for part in given[0]["parts"]):
        return "".join(str(part.get("content", "")) for part in given[0]["parts"])
    return [entry for message in given for entry in from_entry(message)]
