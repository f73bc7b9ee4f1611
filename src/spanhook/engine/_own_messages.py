"""Messages of the application's own code, in whichever form it has them, to role/parts form and back.

Known are role/parts, a role with ``content`` (as most clients take it), and plain text.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from spanhook.model import Message, in_pieces, text_of


def to_messages(given: Any) -> list[Message]:
    """What a request or a result says, as messages; none where that is not to be known.

    Raises:
        TypeError: It can be read only once, which is for the call to do, or a message is none that is known.
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
        TypeError: It is none that is known.
    """
    if isinstance(given, str):
        return {"role": role, "parts": [{"type": "text", "content": given}]}
    if not isinstance(given, Mapping):
        if not hasattr(given, "content"):
            raise TypeError(f"{type(given).__name__} is no message; give text, or a mapping with 'role' and 'content'")
        names = ("role", "content", "name", "tool_calls", "tool_call_id")
        said: Mapping[str, Any] = {name: getattr(given, name) for name in names if hasattr(given, name)}
    else:
        said = cast("Mapping[str, Any]", given)
    if "parts" in said:
        return dict(said)
    role = said.get("role", role)
    if role == "tool":
        told = {"type": "tool_call_response", "id": said.get("tool_call_id"), "response": said.get("content")}
        return {"role": role, "parts": [told]}
    message: Message = {"role": role, "parts": [*_parts(said.get("content")), *_calls(said.get("tool_calls"))]}
    if said.get("name"):
        message["name"] = said["name"]
    return message


def _parts(content: Any) -> list[Any]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    if isinstance(part, str):
        return {"type": "text", "content": part}
    if isinstance(part, Mapping):
        said = cast("Mapping[str, Any]", part)
        if said.get("type") == "text" and "text" in said:
            return {"type": "text", "content": said["text"]}
        return said
    return part


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
    """Messages that a hook gave, in the form of those ``given`` by the application; those left alone are its own.

    Raises:
        ValueError: That form cannot say one of them.
    """
    if isinstance(given, str):
        return "".join(_text(to_message(one)) for one in changed)
    own: list[Any] = [] if given is None else [given] if isinstance(given, Mapping) else list(given)
    read = [to_message(one) for one in own]
    form = _form(own)
    found: list[Any] = []
    at = 0
    for one in changed:
        message = to_message(one)
        if message in read[at:]:
            at = read.index(message, at)
            found.append(own[at])
            at += 1
        else:
            found.append(one if form == "parts" else _text(message) if form == "text" else _with_content(message))
    return tuple(found) if isinstance(given, tuple) else found


def _form(own: Sequence[Any]) -> str:
    if any(isinstance(one, str) for one in own):
        return "text"
    return "content" if any("parts" not in one for one in own) else "parts"


def _with_content(message: Message) -> Message:
    """A message with its parts as ``content``, which is text where it says nothing else."""
    parts = message["parts"]
    role, rest = message["role"], {key: one for key, one in message.items() if key not in ("role", "parts")}
    if len(parts) == 1 and parts[0].get("type") == "tool_call_response":
        part = parts[0]
        return {"role": role, "tool_call_id": part.get("id"), "content": part.get("response"), **rest}
    calls = [_as_call(part) for part in parts if part.get("type") == "tool_call"]
    said = [part for part in parts if part.get("type") != "tool_call"]
    if all(part.get("type") == "text" for part in said):
        content: Any = "".join(str(part["content"]) for part in said)
    else:
        content = [{"type": "text", "text": part["content"]} if part.get("type") == "text" else part for part in said]
    return {"role": role, "content": content, **({"tool_calls": calls} if calls else {}), **rest}


def _as_call(part: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": part.get("name"), "arguments": json.dumps(part.get("arguments"))}
    return {"id": part.get("id"), "type": "function", "function": function}


def _text(message: Message) -> str:
    if any(part.get("type") != "text" for part in message["parts"]):
        raise ValueError("these messages are plain text, which cannot say anything else")
    return "".join(str(part["content"]) for part in message["parts"])


def last_text(given: Any) -> list[str | None]:
    """What messages carry: the text of the last one; nothing where there is none, which is like no other."""
    last: Any = given
    if isinstance(given, list | tuple):  # to read them all takes longer
        last = cast("Sequence[Any]", given)[-1:]
    messages = [] if isinstance(given, Iterator) else to_messages(last)
    parts: Sequence[Any] = messages[-1]["parts"] if messages else ()
    text = in_pieces([text for part in parts if (text := text_of(_said(part)))])
    return [] if text is None else [text]


_SAID = {"text": "content", "tool_call_response": "response", "tool_result": "content"}


def _said(part: Any) -> Any:
    """What a part says, be it text or what a tool has returned, in its own form or Anthropic's."""
    if not isinstance(part, Mapping):
        return None
    fields = cast("Mapping[str, Any]", part)
    return fields.get(_SAID.get(str(fields.get("type")), ""))


def output(result: Any) -> list[Message]:
    """What a model or an agent of the application's own has said, as far as that is to be known."""
    if isinstance(result, str):
        return [to_message(result, "assistant")]
    if isinstance(result, Mapping) and ("parts" in result or "content" in result):
        return [to_message(result, "assistant")]
    return []


def tool_output(result: Any) -> list[Message]:
    """What a tool of the application's own has returned."""
    said = result if isinstance(result, str) else json.dumps(result, default=str)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": said}]}]
