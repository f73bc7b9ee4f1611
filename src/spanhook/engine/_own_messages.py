"""Converts messages of the application's own code, in any known form, to role/parts form and back.

Known forms are role/parts, a role with ``content`` (as in most clients), and plain text. Content may consist of parts
in OpenAI's or Anthropic's form.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from spanhook.model import (
    Form,
    Message,
    chat_form,
    in_pieces,
    is_media,
    item_form,
    json_text,
    media_part,
    media_wire,
    source_form,
    text_of,
    text_wire,
)


def to_messages(given: Any) -> list[Message]:
    """A request or result as messages; empty if they cannot be known.

    Raises:
        TypeError: It can be read only once, which is up to the call, or a message has an unknown form.
    """
    if given is None:
        return []
    if isinstance(given, str | Mapping):
        return [to_message(given)]
    kind = type(given).__name__
    if isinstance(given, Iterator):
        raise TypeError(f"messages are a {kind}, which can be read only once; make it a list")
    return [to_message(one) for one in given]


def to_message(given: Any, role: str = "user") -> Message:
    """One message in role/parts form; text has the role ``role``.

    Raises:
        TypeError: Its form is unknown.
    """
    if isinstance(given, str):
        return {"role": role, "parts": [{"type": "text", "content": given}]}
    if not isinstance(given, Mapping):
        if not hasattr(given, "content"):
            raise TypeError(
                f"{type(given).__name__} is not a message; give text, or a mapping with 'role' and 'content'"
            )
        names = ("role", "content", "name", "tool_calls", "tool_call_id")
        said: Mapping[str, Any] = {name: getattr(given, name) for name in names if hasattr(given, name)}
    else:
        said = cast("Mapping[str, Any]", given)
    if "parts" in said:
        return dict(said)
    role = said.get("role", role)
    if role in ("tool", "function"):
        told = {"type": "tool_call_response", "id": said.get("tool_call_id"), "response": said.get("content")}
        return {"role": "tool", "parts": [told]}
    message: Message = {"role": role, "parts": [*_parts(said.get("content")), *_calls(said.get("tool_calls"))]}
    if message["parts"] and all(_type(part) == "tool_call_response" for part in message["parts"]):
        message["role"] = "tool"
    message.update((name, said[name]) for name in ("name", "finish_reason") if said.get(name))
    return message


def _parts(content: Any) -> list[Any]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [_part(part) for part in content]


_FIELDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **dict.fromkeys(("text", "input_text", "output_text"), ("text", {"content": "text"})),
    "thinking": ("reasoning", {"content": "thinking"}),
    "tool_use": ("tool_call", {"id": "id", "name": "name", "arguments": "input"}),
    "tool_result": ("tool_call_response", {"id": "tool_use_id", "response": "content"}),
}
"""The conventions' type for a content part, and their names for its fields."""


def _type(part: Any) -> Any:
    return cast("Mapping[str, Any]", part).get("type") if isinstance(part, Mapping) else None


def _part(part: Any) -> Any:
    if isinstance(part, str):
        return {"type": "text", "content": part}
    if not isinstance(part, Mapping):
        return part
    said = cast("Mapping[str, Any]", part)
    kind, fields = _FIELDS.get(str(said.get("type")), ("", {}))
    if kind and all(theirs in said for theirs in fields.values()):
        return {"type": kind, **{ours: said[theirs] for ours, theirs in fields.items()}}
    return media_part(said) or said


def _calls(calls: Any) -> list[Any]:
    found: list[Any] = []
    for call in calls or ():
        function = call.get("function", call)
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            with suppress(ValueError):
                arguments = json.loads(arguments)
        found.append({"type": "tool_call", "id": call.get("id"), "name": function.get("name"), "arguments": arguments})
    return found


def back(changed: Sequence[Any], given: Any) -> Any:
    """Messages that a hook gave, in the form of the application's ``given`` messages; unchanged messages stay the
    application's objects.

    Raises:
        ValueError: That form cannot express one of them.
    """
    if isinstance(given, str):
        return "".join(_text(to_message(one)) for one in changed)
    own: list[Any] = [] if given is None else [given] if isinstance(given, Mapping) else list(given)
    read = [to_message(one) for one in own]
    form, media = _form(own), _media_form(own)
    found: list[Any] = []
    at = 0
    for one in changed:
        message = to_message(one)
        if message in read[at:]:
            at = read.index(message, at)
            found.append(own[at])
            at += 1
        elif form == "content":
            like = own[len(found)] if len(changed) == len(own) else None
            found.append(_with_content(message, like, media))
        else:
            found.append(one if form == "parts" else _text(message))
    return tuple(found) if isinstance(given, tuple) else found


def _form(own: Sequence[Any]) -> str:
    if any(isinstance(one, str) for one in own):
        return "text"
    return "content" if any("parts" not in one for one in own) else "parts"


def _media_form(own: Sequence[Any]) -> Form:
    """The form for media in the application's messages: that of the provider whose format they use."""
    parts = [part for one in own for part in _listed(_mapping(one).get("content"))]
    if any(_type(part) in _INSIDE or "source" in _mapping(part) for part in parts):
        return source_form
    return item_form if any(_type(part) in _ITEMS for part in parts) else chat_form


_ITEMS = ("input_text", "output_text", "input_image", "input_file")
"""Part types that only OpenAI's responses have."""


def _with_content(message: Message, like: Any, media: Form) -> Message:
    """A message with its parts as ``content``: plain text if it has nothing else.

    Args:
        message: What a hook gave.
        like: The application's message that it replaces, if any; unchanged parts stay the application's objects.
        media: How media are written.
    """
    parts = message["parts"]
    role, rest = message["role"], {key: one for key, one in message.items() if key not in ("role", "parts")}
    natives = _listed(_mapping(like).get("content"))
    if any(_type(native) in _INSIDE for native in natives):
        role = _mapping(like).get("role") if role == "tool" else role
        return {"role": role, "content": _content(parts, natives, media), **rest}
    if len(parts) == 1 and parts[0].get("type") == "tool_call_response":
        part = parts[0]
        return {"role": role, "tool_call_id": part.get("id"), "content": part.get("response"), **rest}
    calls = [_as_call(part) for part in parts if part.get("type") == "tool_call"]
    said = [part for part in parts if part.get("type") != "tool_call"]
    if not natives and all(part.get("type") == "text" for part in said):
        content: Any = "".join(str(part["content"]) for part in said)
    else:
        content = _content(said, natives, media)
    return {"role": role, "content": content, **({"tool_calls": calls} if calls else {}), **rest}


_INSIDE = ("tool_use", "tool_result", "thinking")
"""Parts that are in the content in Anthropic's form, and beside it in OpenAI's."""


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _listed(content: Any) -> list[Any]:
    return list(cast("Sequence[Any]", content)) if isinstance(content, list | tuple) else []


def _content(parts: Sequence[Any], natives: Sequence[Any], media: Form) -> list[Any]:
    """Parts in the application's form; unchanged ones stay its own objects."""
    read = [_part(native) for native in natives]
    found: list[Any] = []
    for index, part in enumerate(parts):
        if part in read:
            at = index if index < len(read) and read[index] == part else read.index(part)
            found.append(natives[at])
        else:
            found.append(_written(part, _mapping(natives[index]) if len(parts) == len(natives) else {}, media))
    return found


def _written(part: Mapping[str, Any], like: Mapping[str, Any], media: Form) -> Any:
    """One part, with the other keys of the part it replaces."""
    whole = dict(part)
    if is_media(part):
        return media_wire(whole, media, like or None)
    kind = part.get("type")
    if kind == "text" and (made := text_wire(whole, like)) is not None:
        return made
    name = str(like.get("type"))
    ours = _FIELDS.get(name)
    if ours is None or ours[0] != kind:
        name = next((one for one, (known, _) in _FIELDS.items() if known == kind), "")
    if not name:
        return part
    kept: Mapping[str, Any] = like if like.get("type") == name else {}
    return {**kept, "type": name, **{theirs: part.get(mine) for mine, theirs in _FIELDS[name][1].items()}}


def _as_call(part: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": part.get("name"), "arguments": json_text(part.get("arguments"))}
    return {"id": part.get("id"), "type": "function", "function": function}


def _text(message: Message) -> str:
    if any(part.get("type") != "text" for part in message["parts"]):
        raise ValueError("these messages are plain text, which can hold only text parts")
    return "".join(str(part["content"]) for part in message["parts"])


def last_text(given: Any) -> list[str | None]:
    """What identifies messages: the text of the last one; nothing, which matches no other, if there is none."""
    last: Any = given
    if isinstance(given, list | tuple):  # reading all of them takes longer
        last = cast("Sequence[Any]", given)[-1:]
    messages = [] if isinstance(given, Iterator) else to_messages(last)
    parts: Sequence[Any] = messages[-1]["parts"] if messages else ()
    text = in_pieces([text for part in parts if (text := text_of(_said(part)))])
    return [] if text is None else [text]


_SAID = {"text": "content", "tool_call_response": "response", "tool_result": "content"}


def _said(part: Any) -> Any:
    """The content of a part: text or a tool result, in the conventions' form or Anthropic's."""
    if not isinstance(part, Mapping):
        return None
    fields = cast("Mapping[str, Any]", part)
    return fields.get(_SAID.get(str(fields.get("type")), ""))


def output(result: Any) -> list[Message]:
    """The output of a model or agent in the application's own code, as far as it can be read."""
    if isinstance(result, str):
        return [to_message(result, "assistant")]
    if isinstance(result, Mapping) and ("parts" in result or "content" in result):
        return [to_message(result, "assistant")]
    return []


def tool_output(result: Any) -> list[Message]:
    """The output of a tool in the application's own code."""
    said = result if isinstance(result, str) else json_text(result)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": said}]}]
