"""The steps of interactions, and the contents in them; in older versions contents and turns stand on their own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spanhook.instrument.wire import Part, Wire, fields_of, list_of, plain, rewrite, text_in
from spanhook.model import Message, exact_text, is_media, modality_of, text_of

_INPUT, _OUTPUT = "user_input", "model_output"
_MEDIA = ("image", "audio", "video", "document")
_ROLES = {"model": "assistant"}


def items_in(given: Any) -> Sequence[Any]:
    """What is asked, as a list: of steps, of turns or of contents."""
    if isinstance(given, str):
        return [{"type": _INPUT, "content": [{"type": "text", "text": given}]}] if given else []
    return [given] if isinstance(given, dict) else list_of(given)


def to_message(item: Any) -> Message:
    """One of them in role/parts form."""
    told = fields_of(item)
    kind = told.get("type")
    if "role" in told:
        role = exact_text(told["role"])
        return _message(_ROLES.get(role, role), _read_all(told.get("content")))
    if kind in (_INPUT, _OUTPUT):
        return _message("user" if kind == _INPUT else "assistant", _read_all(told.get("content")))
    part = read_part(item)
    if part["type"] == "tool_call_response":
        return _message("tool", [part])
    spoken = part["type"] == "text" or is_media(part)
    return _message("user" if spoken else "assistant", [part])


def _message(role: str, parts: list[Part]) -> Message:
    found = bool(parts) and all(part.get("type") == "tool_call_response" for part in parts)
    return {"role": "tool" if found else role, "parts": parts}


def outputs_in(told: Mapping[str, Any]) -> list[Message]:
    """What a model said: the steps since the last input, or the outputs of older versions, as one message."""
    parts: list[Part] = []
    for item in list_of(told.get("steps")):
        message = to_message(item)
        parts = [] if fields_of(item).get("type") == _INPUT else [*parts, *message["parts"]]
    for item in list_of(told.get("outputs")):
        parts.append(read_part(item))
    return [{"role": "assistant", "parts": parts}] if parts else []


def _read_all(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    return [read_part(one) for one in list_of(content)]


def read_part(content: Any) -> Part:
    """A content, or a step that is one by itself."""
    told = fields_of(content)
    kind = told.get("type")
    if kind == "text":
        return {"type": "text", "content": str(told.get("text") or "")}
    if kind == "thought":
        return {"type": "reasoning", "content": text_in(_read_all(told.get("summary")))}
    if kind == "function_call":
        return {"type": "tool_call", **{name: told.get(name) for name in ("id", "name", "arguments")}}
    if kind == "function_result":
        return {"type": "tool_call_response", "id": told.get("call_id"), "response": told.get("result")}
    for ours, name, theirs in (("blob", "content", "data"), ("uri", "uri", "uri")) if kind in _MEDIA else ():
        value = told.get(theirs)
        if isinstance(value, str):
            mime = str(told.get("mime_type") or "")
            part: Part = {"type": ours, "modality": kind, "mime_type": mime, name: value}
            return part if mime else {key: one for key, one in part.items() if key != "mime_type"}
    return plain(content) if told else {"type": "unknown"}


# ----------------------------------------------------------------------------------------------- writing


def written(given: Any, messages: Sequence[Message]) -> Any:
    """What to ask instead: text if text was asked, otherwise items of the same sort."""
    if isinstance(given, str) and len(messages) == 1 and _is_plain(messages[0]):
        return text_in(messages[0]["parts"])
    before = items_in(given)
    loose = any(fields_of(item).get("type") in ("text", *_MEDIA) for item in before)
    turns = any("role" in fields_of(item) for item in before)

    def items(message: Message, like: Wire | None) -> list[Wire]:
        return list(_items_for(message, like or {}, loose=loose, turns=turns))

    return rewrite(before, messages, to_message, items)


def _is_plain(message: Message) -> bool:
    return message.get("role") == "user" and all(part.get("type") == "text" for part in message.get("parts", [{}]))


def _items_for(message: Message, like: Wire, *, loose: bool, turns: bool) -> Iterator[Wire]:
    """The items for a message; one in the provider's own form stays as it is."""
    if "parts" not in message:
        yield dict(message)
        return
    role = message["role"]
    spoken: list[Wire] = []
    apart: list[Wire] = []
    for part in message["parts"]:
        if part.get("type") != "reasoning":  # only the model may write thoughts
            made = write_part(part, like)
            (spoken if made.get("type") in ("text", *_MEDIA) else apart).append(made)
    if turns:
        kept = {name: one for name, one in like.items() if name not in ("role", "content")} if "role" in like else {}
        yield {**kept, "role": "model" if role == "assistant" else "user", "content": [*spoken, *apart]}
    elif loose and role == "user":
        yield from (*spoken, *apart)
    else:
        kind = _OUTPUT if role == "assistant" else _INPUT
        if spoken:
            kept = like if like.get("type") == kind else {}
            yield {**kept, "type": kind, "content": spoken}
        yield from apart


def write_part(part: Part, like: Wire) -> Wire:
    """A content, or a step, on the wire."""
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": part.get("content") or ""}
    if kind == "tool_call":
        kept = like if like.get("type") == "function_call" else {}
        given = {"id": part.get("id"), "name": part.get("name"), "arguments": part.get("arguments") or {}}
        return {**kept, "type": "function_call", **{name: one for name, one in given.items() if one is not None}}
    if kind == "tool_call_response":
        kept = like if like.get("type") == "function_result" else {}
        return {**kept, "type": "function_result", "call_id": part.get("id"), "result": part.get("response")}
    if not is_media(part):
        return part
    if part["type"] == "file":
        raise ValueError("Google's API names files by their address: use a part of type 'uri'")
    modality = part.get("modality") or modality_of(str(part.get("mime_type") or ""))
    said = {"data": part["content"]} if part["type"] == "blob" else {"uri": part["uri"]}
    mime = {"mime_type": part["mime_type"]} if part.get("mime_type") else {}
    return {"type": modality, **said, **mime}


def texts_in(item: Any) -> list[str]:
    """The texts of an item, including results of functions."""
    fields = {"text": "content", "tool_call_response": "response"}
    said = [part.get(fields[part["type"]]) for part in to_message(item)["parts"] if part.get("type") in fields]
    return [text_of(one) or "" for one in said]


def decoded_arguments(step: Wire) -> Wire:
    """A step whose arguments have arrived as text."""
    written_so_far = step.get("arguments")
    if isinstance(written_so_far, str):
        try:
            return {**step, "arguments": json.loads(written_so_far)}
        except ValueError:
            return {**step, "arguments": {}}
    return step
