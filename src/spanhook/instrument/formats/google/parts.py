"""The parts of Google's contents: texts, thoughts, functions and their results, media, code that the provider runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from spanhook.instrument.formats.google.reading import field, name_in
from spanhook.instrument.wire import Part, Wire, fields_of, list_of, plain, rewrite
from spanhook.model import Message, is_media, modality_of, text_of

_ROLES = {"model": "assistant", "function": "tool"}
_WRITTEN_ROLES = {"assistant": "model", "tool": "user", "system": "user"}
_RUN = {
    "executableCode": ("server_tool_call", "code_execution"),
    "codeExecutionResult": ("server_tool_call_response", "code_execution"),
}
"""Tools that the provider runs: the conventions' type and the tool's name."""
_CODE = {kind: name for name, (kind, _) in _RUN.items()}


# ----------------------------------------------------------------------------------------------- reading


def to_message(content: Any) -> Message:
    """A content in role/parts form; one with only results of functions has the role ``tool``."""
    parts = [read_part(part) for part in list_of(field(content, "parts"))]
    found = bool(parts) and all(part.get("type") == "tool_call_response" for part in parts)
    role = str(field(content, "role") or "user")
    return {"role": "tool" if found else _ROLES.get(role, role), "parts": parts}


def read_part(part: Any) -> Part:
    """One part, as JSON or as a model."""
    text = field(part, "text")
    if isinstance(text, str):
        return {"type": "reasoning" if field(part, "thought") is True else "text", "content": text}
    call = field(part, "functionCall")
    if call is not None:
        return {
            "type": "tool_call",
            "id": field(call, "id"),
            "name": field(call, "name"),
            "arguments": field(call, "args"),
        }
    result = field(part, "functionResponse")
    if result is not None:
        return {"type": "tool_call_response", "id": field(result, "id"), "response": field(result, "response")}
    return _media(part) or _run(part)


def _media(part: Any) -> Part | None:
    for name, kind, ours, theirs in (("inlineData", "blob", "content", "data"), ("fileData", "uri", "uri", "fileUri")):
        given = field(part, name)
        value = field(given, theirs)
        if isinstance(value, str):
            mime = field(given, "mimeType")
            mime = mime if isinstance(mime, str) else ""
            made: Part = {"type": kind, "modality": modality_of(mime), "mime_type": mime, ours: value}
            return made if mime else {key: one for key, one in made.items() if key != "mime_type"}
    return None


def _run(part: Any) -> Part:
    for name, (kind, tool) in _RUN.items():
        told = field(part, name)
        if told is not None:
            said = {"type": tool, **plain(told)}
            return (
                {"type": kind, "name": tool, kind: said} if kind == "server_tool_call" else {"type": kind, kind: said}
            )
    whole = plain(part) if fields_of(part) else {}
    return {"type": next(iter(whole), "unknown"), **whole}


# ----------------------------------------------------------------------------------------------- writing


def from_message(message: Any, like: Wire | None = None, names: Mapping[str, str] | None = None) -> list[Wire]:
    """A content on the wire, with the other keys of the content it replaces.

    Args:
        message: What a hook gave, in role/parts form; or a content as the SDK has it.
        like: The content that it replaces.
        names: Names of functions by the id of their call.
    """
    if not isinstance(message, dict):
        return [plain(message)]
    if isinstance(message.get("content"), str) and "parts" not in message:
        message = {"role": message.get("role") or "user", "parts": [{"type": "text", "content": message["content"]}]}
    role = _WRITTEN_ROLES.get(message["role"], message["role"])
    kept = like if like is not None and like.get("role", "user") == role else {}
    return [{**kept, "role": role, "parts": written(message["parts"], kept.get("parts"), names)}]


def written(parts: Sequence[Any], before: Any, names: Mapping[str, str] | None = None) -> list[Any]:
    """Parts on the wire; unchanged ones are sent as they were."""

    def one(part: Part, like: Wire | None) -> list[Wire]:
        # only the model may write thoughts
        return [] if part.get("type") == "reasoning" else [_write(part, like or {}, names or {})]

    return rewrite(list_of(before), parts, read_part, one)


def _write(part: Part, like: Wire, names: Mapping[str, str]) -> Wire:
    """One part; one in Google's own form stays as it is."""
    kind = str(part.get("type") or "")
    if kind == "text":
        return _kept(like, "text", part.get("content") or "")
    if kind == "tool_call":
        said = {"id": part.get("id"), "name": part.get("name"), "args": part.get("arguments") or {}}
        return _kept(like, "functionCall", _told(field(like, "functionCall"), said))
    if kind == "tool_call_response":
        given = part.get("response")
        response = given if isinstance(given, dict) else {"result": given}
        said = {"id": part.get("id"), "name": part.get("name") or names.get(str(part.get("id"))), "response": response}
        return _kept(like, "functionResponse", _told(field(like, "functionResponse"), said))
    if is_media(part):
        return _kept(like, *_written_media(part, like))
    if kind in _CODE:
        said = {name: one for name, one in part[kind].items() if name != "type"}
        return _kept(like, _CODE[kind], said)
    return {name: one for name, one in part.items() if name != "type"} if kind in part else part


def _written_media(part: Part, like: Wire) -> tuple[str, Wire]:
    if part["type"] == "blob":
        name, said = "inlineData", {"mimeType": part.get("mime_type"), "data": part["content"]}
    elif part["type"] == "uri":
        name, said = "fileData", {"mimeType": part.get("mime_type"), "fileUri": part["uri"]}
    else:
        raise ValueError("Google's API names files by their address: use a part of type 'uri'")
    return name, _told(field(like, name), said)


def _told(before: Any, said: Wire) -> Wire:
    """Fields on the wire, with the others of what they replace."""
    kept = {_camel(name): one for name, one in plain(before or {}).items()}
    return {**kept, **{name: one for name, one in said.items() if one is not None}}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _kept(like: Wire, name: str, value: Any) -> Wire:
    """A part with other content, and with what the part it replaces says besides, if that has the same sort."""
    if field(like, name) is None:
        return {name: value}
    return {**like, name_in(like, name): value}


# ----------------------------------------------------------------------------------------------- texts


def texts_in(content: Any) -> list[str]:
    """The texts of a content, including results of functions, even if empty."""
    fields = {"text": "content", "tool_call_response": "response"}
    parts: Iterable[Part] = to_message(content)["parts"]
    said = [part.get(fields[part["type"]]) for part in parts if part.get("type") in fields]
    return [text_of(_alone(one)) or "" for one in said]


def _alone(told: Any) -> Any:
    """A function's result without the object that Google's API wants around it, such as ``{"result": ...}``."""
    values = list(cast("dict[str, Any]", told).values()) if isinstance(told, dict) else []
    return values[0] if len(values) == 1 else told


def calls_in(contents: Iterable[Any]) -> dict[str, str]:
    """Names of functions by the id of their call."""
    parts = (field(part, "functionCall") for content in contents for part in list_of(field(content, "parts")))
    return {str(field(call, "id")): str(field(call, "name")) for call in parts if field(call, "id")}
