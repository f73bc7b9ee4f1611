"""Items of the Responses API to the conventions' role/parts form and back.

An item is one message here. What a part cannot express is kept: items and parts of unknown type stay in OpenAI's form,
and items that a hook did not change are sent as they were.
"""

from collections.abc import Sequence
from typing import Any

from spanhook.instrument.formats.openai.messages import KINDS
from spanhook.instrument.wire import Part, Parts, Wire, decoded, encoded, fields_of, plain
from spanhook.instrument.wire import rewrite as rewrite_each
from spanhook.model import Message, exact_text, is_media, item_form, made_form, media_part, media_wire, text_of

PARTS = Parts(KINDS, media=item_form)
"""Content types of message items."""
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def to_messages(given: Any) -> list[Message]:
    """The input of a request in role/parts form."""
    if isinstance(given, str):
        return [{"role": "user", "parts": [{"type": "text", "content": given}]}]
    return [to_message(item) for item in given or ()]


def to_message(item: Any) -> Message:
    """One item in role/parts form."""
    told = fields_of(item)
    kind = told.get("type") or "message"
    if "role" in told and kind == "message":
        return {"role": exact_text(told["role"]), "parts": list(PARTS.read(told.get("content")))}
    if kind in _OUTPUTS:
        part = {"type": "tool_call_response", "id": told.get("call_id"), "response": _plain_output(told.get("output"))}
        return {"role": "tool", "parts": [part]}
    return {"role": "tool" if kind.endswith("_output") else "assistant", "parts": [output_part(item)]}


def last_text(given: Any) -> str | None:
    """The text, or tool result, of the last message in a request's input, where an item may be only a part."""
    if isinstance(given, str):
        return given or None
    called = False
    for item in reversed(given or ()):
        told = fields_of(item)
        kind = told.get("type") or "message"
        if kind in _OUTPUTS:
            return None if called else text_of(told.get("output"))
        if kind == "message":
            return text_of(told.get("content")) if not called or told.get("role") == "assistant" else None
        if kind.endswith("_output"):
            return None
        called = True
    return None


def output_part(item: Any) -> Part:
    """An item that is not a message, as a message part."""
    told = fields_of(item)
    kind = told.get("type")
    if kind in _CALLS:
        arguments = decoded(told.get("arguments")) if kind == "function_call" else told.get("input")
        return {"type": "tool_call", "id": told.get("call_id"), "name": told.get("name"), "arguments": arguments}
    if kind == "reasoning":
        thoughts = [*(told.get("summary") or ()), *(told.get("content") or ())]
        return {"type": "reasoning", "content": "\n".join(str(fields_of(one).get("text") or "") for one in thoughts)}
    whole = plain(item)
    return media_part(whole) or whole


def _plain_output(output: Any) -> Any:
    return output if output is None or isinstance(output, str) else [plain(part) for part in output]


def rewrite(given: Any, new: Sequence[Any]) -> Any:
    """The request input for a hook's version of ``given``; unchanged items are sent as they were."""
    if isinstance(given, str):
        if len(new) == 1 and "parts" in new[0] and new[0]["role"] == "user":
            parts = new[0]["parts"]
            if all(part.get("type") == "text" for part in parts):
                return "".join(part["content"] for part in parts)
        natives: list[Any] = [{"role": "user", "content": given}]
    else:
        natives = list(given or ())
    return rewrite_each(natives, new, to_message, from_message)


def from_message(message: Message, like: Wire | None = None) -> list[Wire]:
    """The items for a message in role/parts form; one in OpenAI's own form is taken as it is.

    Args:
        message: What a hook gave.
        like: The item it replaces, whose other keys are kept.
    """
    if "parts" not in message:
        return [dict(message)]
    role, items, said = message["role"], list[Wire](), list[Part]()
    for part in message["parts"]:
        kind = part.get("type")
        if kind == "tool_call":
            items.append(_call(part, like))
        elif kind == "tool_call_response":
            items.append(_output(part, like))
        elif kind == "reasoning":
            if like is not None and like.get("type") == "reasoning":
                items.append(like)  # it is signed, so only the model may write it
        elif is_media(part) and _is_made(role, part, like):
            items.append(media_wire(part, made_form, like))
        elif kind in _SAID or is_media(part):
            said.append(part)
        else:
            items.append(dict(part))  # an item that is not a message
    if said:
        items.insert(0, _message(role, said, like if like is not None and like.get("role") == role else None))
    return items


def _is_made(role: str, part: Part, like: Wire | None) -> bool:
    """Whether it is a picture that the model generated, which is a separate item."""
    if like is not None and like.get("type") == "image_generation_call":
        return True
    return role == "assistant" and part["type"] == "blob"


_SAID = ("text", "refusal", "input_text", "output_text", "input_image", "input_file", "input_audio", "image_url")
"""The parts of messages; everything else is a separate item."""


def _message(role: str, parts: list[Part], like: Wire | None) -> Wire:
    item: Wire = dict(like) if like is not None else {"role": role}
    text = "output_text" if role == "assistant" else "input_text"
    return {**item, "content": PARTS.content(parts, item.get("content"), text)}


def _call(part: Part, like: Wire | None) -> Wire:
    item: Wire = dict(like) if like is not None and like.get("type") in _CALLS else {"type": "function_call"}
    item["call_id"] = part.get("id") or item.get("call_id") or "call_spanhook"
    item["name"] = part.get("name")
    given = part.get("arguments")
    item[_CALLS[item["type"]]] = encoded({} if given is None else given)
    return item


def _output(part: Part, like: Wire | None) -> Wire:
    item: Wire = dict(like) if like is not None and like.get("type") in _OUTPUTS else {"type": _OUTPUTS[0]}
    item["call_id"] = part.get("id") or item.get("call_id") or ""
    item["output"] = encoded(part.get("response", ""))
    return item
