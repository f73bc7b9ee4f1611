"""Checks that a rewritten call says what a hook asked for, by reading it again as the next gate will.

Knows no library. Both sides are normalized first: text in pieces equals the whole text, arguments as JSON equal
objects, and a message equals the several messages that an API writes for it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from spanhook.errors import HookError
from spanhook.model.adapter import Adapter
from spanhook.model.arguments import Args, Kwargs
from spanhook.model.copying import alike
from spanhook.model.failures import Said
from spanhook.model.media import MEDIA, is_media, media_part
from spanhook.model.request import Change, Message, Request

_INSTRUCTIONS = ("system", "developer")
_ORDER = {"reasoning": 0, "refusal": 2, "tool_call": 3}
_TEXTS = frozenset(("text", "reasoning", "refusal"))
_KINDS = frozenset((*_TEXTS, *MEDIA, "tool_call", "tool_call_response"))
_SAID_OF_MEDIA = frozenset(("type", "modality", "mime_type", "filename"))
"""Details of a part that not every API can express, or that only some need."""
_MISSING = object()


def check(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs, change: Change) -> None:
    """Read a call that was just rewritten, and compare it with the request.

    Args:
        adapter: How the call reads.
        instance, args, kwargs: The call as it would be made.
        change: What the hook asked for.

    Raises:
        HookError: The call does not say that; the message names what is missing, or what should have been removed.
    """
    try:
        request = adapter.reading.request(instance, args, kwargs)
    except Exception as error:
        said = f"the call that op.replace() made for {adapter.layer} cannot be read"
        raise HookError(Said.of(f"{said}: {error}", f"{said}: {type(error).__name__}")) from error
    for said, name in _lost(adapter, instance, request, change):
        what = f"{said} of op.replace() would not arrive: {adapter.kind} of {adapter.layer} cannot express it"
        raise HookError(Said.of(f"{what} ({name})" if name else what, what))


Lost = Iterator[tuple[str, str]]
"""What does not arrive, and a detail of it, which may quote the call."""


def _lost(adapter: Adapter, instance: Any, request: Request, change: Change) -> Lost:
    if change.model is not None and request.model not in (change.model, adapter.editing.bare_model(change.model)):
        yield "model=", f"the call asks for {request.model!r}"
    if change.system is not None and request.system != change.system:
        yield "system=", ""
    if change.messages is not None:
        without = _INSTRUCTIONS if change.system is not None else ()
        asked = _entries(_flat(change.messages), adapter, without)
        yield from _lost_messages(asked, _entries(request.messages, adapter, without))
    if change.arguments is not None:
        yield from _lost_arguments(change.arguments, request.arguments, _optional(adapter, instance))
    if change.inputs is not None:
        yield from _lost_inputs(change, request._inputs)


# ----------------------------------------------------------------------------------------------- arguments, inputs


def _optional(adapter: Adapter, instance: Any) -> Mapping[str, Any] | None:
    """The arguments a call may have although they were not asked for; ``None`` if it may have any."""
    if adapter.kind != "tool.execute":
        return None
    return {} if adapter.reading.defaults is None else adapter.reading.defaults(instance)


def _lost_arguments(asked: Mapping[str, Any], there: Mapping[str, Any], optional: Mapping[str, Any] | None) -> Lost:
    for name, value in asked.items():
        if not _same(value, there.get(name, _MISSING)):
            yield "part of arguments=", f"{name!r}"
    if optional is None:
        return
    for name, value in there.items():
        if name not in asked and not (name in optional and _same(value, optional[name])):
            yield "the removal of an argument in arguments=", f"{name!r}"


def _lost_inputs(change: Change, there: Any) -> Lost:
    asked = change.inputs
    if change.messages is None and change.system is None:
        if not _same(asked, there):
            yield "inputs=", ""
    elif isinstance(asked, Mapping):  # a state, whose messages are compared separately
        state = cast("Mapping[str, Any]", asked)
        arrived = cast("Mapping[str, Any]", there if isinstance(there, Mapping) else {})
        for name, value in state.items():
            if name != "messages" and not _same(value, arrived.get(name, _MISSING)):
                yield "part of inputs=", f"{name!r}"


def _same(asked: Any, there: Any) -> bool:
    if asked is there or alike(asked, there):
        return True
    return there is not _MISSING and _plain(asked) == _plain(there)


def _plain(value: Any) -> str:
    """A value as in JSON: tuples become lists and all keys are text."""
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


# ----------------------------------------------------------------------------------------------- messages


class Entry(NamedTuple):
    """One part of a message.

    Attributes:
        where: Index of the message, and of the part in it.
        fields: What it says, by name.
    """

    where: tuple[int, int]
    fields: dict[str, Any]

    def __str__(self) -> str:
        kind = self.fields["type"]
        return f"messages[{self.where[0]}], part {self.where[1]}{f' ({kind})' if kind in _KINDS else ''}"


def _lost_messages(asked: Iterable[Entry], there: Iterable[Entry]) -> Lost:
    rest = iter(there)
    for entry in asked:
        found = next(rest, None)
        if found is None:
            yield f"{entry} in messages=", "it is missing"
            return
        for name in {**entry.fields, **found.fields}:
            value = entry.fields.get(name, _MISSING)
            if found.fields.get(name, _MISSING) != value and not (name == "id" and value is None):
                yield f"{entry} in messages=", name
                return
    for found in rest:
        yield "the removal of a part in messages=", f"{found.fields['role']}: {found.fields['type']}"


def _flat(messages: Sequence[Any]) -> Iterator[Any]:
    for message in messages:
        if isinstance(message, list | tuple):
            yield from message
        else:
            yield message


def _entries(messages: Iterable[Any], adapter: Adapter, without: Sequence[str]) -> Iterator[Entry]:
    """What messages say, part by part, in an order that every API keeps."""
    for index, given in enumerate(messages):
        message = _read(given, adapter)
        if message["role"] in without:
            continue
        parts = [(at, _fields(part)) for at, part in enumerate(message["parts"])]
        parts.sort(key=lambda pair: _ORDER.get(pair[1]["type"], 1))
        last: Entry | None = None
        for at, fields in parts:
            if fields["type"] in _TEXTS and not fields["content"]:
                continue
            if last is not None and _goes_on(last.fields, fields):
                last.fields["content"] += fields["content"]
                continue
            if last is not None:
                yield last
            # A tool's result is one whatever role an API gives its message.
            role = "tool" if fields["type"] == "tool_call_response" else message["role"]
            last = Entry((index, at), {"role": role, "message name": message.get("name") or None, **fields})
        if last is not None:
            yield last
        elif message.get("name"):
            yield Entry((index, 0), {"role": message["role"], "message name": message["name"], "type": ""})


def _goes_on(before: dict[str, Any], fields: dict[str, Any]) -> bool:
    """Whether both are plain text, which may be written as one."""
    return before["type"] == fields["type"] == "text" and before.keys() - fields.keys() == {"role", "message name"}


def _read(given: Any, adapter: Adapter) -> Message:
    """A message in role/parts form, whatever form a hook gave it in."""
    if isinstance(given, Mapping) and "parts" in given:
        return _with_role(cast("Mapping[str, Any]", given))
    if adapter.reading.message is not None:
        return adapter.reading.message(given)
    if isinstance(given, str):
        return {"role": "user", "parts": [{"type": "text", "content": given}]}
    fields = cast("Mapping[str, Any]", given)
    return {"role": fields["role"], "parts": [{"type": "text", "content": fields["content"]}]}


def _with_role(message: Mapping[str, Any]) -> Message:
    """A message in role/parts form; one with tool results has the role ``tool``, whatever role an API gives it."""
    found = any(part.get("type") == "tool_call_response" for part in message["parts"])
    return {**message, "role": "tool"} if found else {**message}


def _fields(part: Mapping[str, Any]) -> dict[str, Any]:
    part = media_part(part) or part
    if is_media(part):
        told = {name: _plain(one) for name, one in part.items() if name not in _SAID_OF_MEDIA and one is not None}
        return {"type": part["type"], **told}
    kind = part.get("type")
    kind = kind if isinstance(kind, str) else ""
    known: dict[str, Any] = {"type": kind}
    if kind in _TEXTS:
        known["content"] = str(part.get("content") or "")
    elif kind == "tool_call":
        given = part.get("arguments")
        arguments = _read_json(given) if isinstance(given, str) else given
        known |= {"id": part.get("id") or None, "name": part.get("name")}
        known["arguments"] = _plain(arguments if isinstance(arguments, Mapping) else given or {})
    elif kind == "tool_call_response":
        given = part.get("response")
        known |= {"id": part.get("id") or None, "response": _plain(_read_json(given) if given else "")}
    more = {name: _plain(one) for name, one in part.items() if name not in known and one is not None}
    return {**known, **more}


def _read_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
