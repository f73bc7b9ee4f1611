"""Converts message parts between a provider's form and the conventions' role/parts form.

What a part cannot express is kept: parts of unknown type stay as the provider writes them, and messages that a hook did
not change are sent as they were.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from spanhook.instrument.wire.reading import Fields, fields_of, plain
from spanhook.model import (
    Carried,
    Form,
    Message,
    chat_form,
    in_pieces,
    is_media,
    json_text,
    media_part,
    media_wire,
    text_wire,
)

Wire = dict[str, Any]
Part = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One type of part.

    Attributes:
        type: The conventions' name of the type.
        fields: The provider's name for each of the conventions' fields.
        otherwise: Default values on the wire.
    """

    type: str
    fields: Mapping[str, str]
    otherwise: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def read(self, told: Fields) -> Part:
        said = {ours: told.get(theirs) for ours, theirs in self.fields.items()}
        if "content" in said:
            said["content"] = said["content"] or ""
        return {"type": self.type, **said}


class Parts:
    """The parts of a provider's messages.

    Args:
        kinds: The types of part, by the provider's name.
        signed: The conventions' types that only the model may write: a hook's changes to them are left out.
        media: How media are written.
    """

    def __init__(self, kinds: Mapping[str, Kind], signed: Collection[str] = (), media: Form = chat_form) -> None:
        self._kinds, self._signed, self._media = kinds, signed, media
        self._written: dict[str, list[str]] = {}
        for name, kind in kinds.items():
            self._written.setdefault(kind.type, []).append(name)

    def read(self, content: Any) -> Iterator[Part]:
        """The parts of a message's content: text as text, known types under the conventions' names, everything else as
        it is.
        """
        if isinstance(content, str):
            if content:
                yield {"type": "text", "content": content}
            return
        for part in content or ():
            yield self.read_one(part)

    def read_one(self, part: Any) -> Part:
        """One part, as text, as a model or as JSON."""
        if isinstance(part, str):
            return {"type": "text", "content": part}
        told = fields_of(part)
        kind = self._kinds.get(str(told.get("type")))
        if kind is not None:
            return kind.read(told)
        whole = plain(part)
        return media_part(whole) or whole

    def write(self, part: Part, like: Wire | None = None, name: str = "") -> Wire:
        """A part on the wire; one in the provider's own form stays as it is.

        Args:
            part: What a hook gave.
            like: The part it replaces, whose other keys are kept if it has the same type.
            name: The provider's name of its type, if it has several.
        """
        kind = part.get("type")
        if is_media(part):
            return media_wire(part, self._media, like)
        if kind == "text" and like is not None and (made := text_wire(part, like)) is not None:
            return made
        names = self._written.get(str(kind))
        if names is None:
            return part
        if like is not None and like.get("type") in names:
            made, name = dict(like), like["type"]
        else:
            made, name = {}, name if name in names else names[0]
        fields, otherwise = self._kinds[name].fields, self._kinds[name].otherwise
        said = {theirs: part.get(ours) for ours, theirs in fields.items()}
        if "response" in fields:
            said[fields["response"]] = encoded(part.get("response", ""))
        told = {key: value for key, value in said.items() if value is not None}
        return {"type": name, **otherwise, **made, **told}

    def content(self, parts: Sequence[Part], before: Any, name: str = "") -> Any:
        """A message's content on the wire: unchanged parts are sent as they were.

        Args:
            parts: What a hook gave.
            before: The content that it replaces, if any.
            name: The provider's name of text, if it has several.
        """
        if not isinstance(before, list) and all(part.get("type") == "text" for part in parts):
            return text_in(parts)
        natives = before if isinstance(before, list) else []

        def written(part: Part, like: Wire | None) -> list[Wire]:
            return [] if part.get("type") in self._signed else [self.write(part, like, name)]

        return rewrite(natives, parts, self.read_one, written)


def rewrite(
    natives: Sequence[Any],
    new: Sequence[Any],
    to_message: Callable[[Any], Message],
    from_message: Callable[[Any, Wire | None], Sequence[Wire]],
) -> list[Any]:
    """Messages on the wire for a hook's version of ``natives``; unchanged ones are sent as they were.

    Args:
        natives: The original messages.
        new: What the hook gave, in role/parts form or the provider's own.
        to_message: Reads a message.
        from_message: Writes a message, given the one it replaces, whose other keys are kept; may return several.
    """

    def written(message: Any, native: Any) -> Sequence[Wire]:
        return from_message(message, None if native is None or isinstance(native, str) else plain(native))

    return rewrite_objects(natives, new, to_message, written)


def rewrite_objects(
    natives: Sequence[Any],
    new: Sequence[Any],
    to_message: Callable[[Any], Message],
    from_message: Callable[[Any, Any], Iterable[Any]],
) -> list[Any]:
    """``rewrite`` for messages that are a library's own objects: unchanged ones stay the objects that they were.

    Args:
        natives: The original messages.
        new: What the hook gave, in role/parts form or as the library's objects.
        to_message: Reads a message.
        from_message: Makes a message of what the hook gave, given the object that it replaces, or ``None``; may return
            several.
    """
    before = [to_message(native) for native in natives]
    result: list[Any] = []
    for index, message in enumerate(new):
        if index < len(before) and before[index] == message:
            result.append(natives[index])
        elif message in before:
            result.append(natives[before.index(message)])
        else:
            result.extend(from_message(message, natives[index] if len(new) == len(natives) else None))
    return result


def last_text(natives: Sequence[Any], to_message: Callable[[Any], Message]) -> Carried:
    """The text of the last message, in the pieces of which clients make messages of their own.

    Args:
        natives: The messages.
        to_message: Reads a message.
    """
    if not natives:
        return [None]
    parts = to_message(natives[-1])["parts"]
    texts = (part.get("content" if part["type"] == "text" else "response") for part in parts)
    return [in_pieces([text for text in texts if isinstance(text, str) and text])]


def finished(message: Message, reason: Any) -> Message:
    """An output message, with why the model stopped if that is known."""
    return {**message, "finish_reason": reason} if reason and isinstance(reason, str) else message


def text_in(parts: Iterable[Part], between: str = "") -> str:
    """The text of parts."""
    return between.join(str(part.get("content", "")) for part in parts if part.get("type") == "text")


def decoded(arguments: Any) -> Any:
    """A tool call's arguments by name; unchanged if they are not a JSON object."""
    try:
        read = json.loads(arguments)
    except (TypeError, ValueError):
        return arguments
    return read if isinstance(read, dict) else arguments


def encoded(value: Any) -> Any:
    """Arguments or a tool result as on the wire: text and lists of parts as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, dict) and "type" in one for one in value):
        return value
    return json_text(value, ensure_ascii=False)


def one_prompt(messages: Any) -> Any:
    """The messages of a request's single prompt, nested or not.

    Raises:
        ValueError: There are several prompts.
    """
    if messages and isinstance(messages[0], list | tuple):
        if len(messages) != 1:
            raise ValueError(f"the request has one prompt; messages= has {len(messages)}")
        return messages[0]
    return messages


def by_prompt(messages: Any, counts: Sequence[int]) -> list[Any]:
    """The messages of each prompt, given nested or one after the other.

    Args:
        messages: What a hook gave.
        counts: How many messages each prompt has.

    Raises:
        ValueError: It is not clear which messages belong to which prompt.
    """
    if messages and isinstance(messages[0], list | tuple):
        if len(messages) == len(counts):
            return list(messages)
    elif len(counts) == 1:
        return [messages]
    elif len(messages) == sum(counts):
        return [messages[end - count : end] for end, count in zip(accumulate(counts), counts, strict=True)]
    raise ValueError(f"the request has {len(counts)} prompts of {sum(counts)} messages; messages= has {len(messages)}")


def messages_in(value: Any, expected: str, *, key: str = "") -> list[Any]:
    """The messages that a hook answered with: text, one message, or several.

    Args:
        value: What it gave.
        expected: What the answer may be, for the error message.
        key: A key that all messages of this API have.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, str):
        return [{"role": "assistant", "parts": [{"type": "text", "content": value}]}]
    messages = [value] if isinstance(value, dict) else value
    if not isinstance(messages, list) or not all(isinstance(one, dict) and (not key or key in one) for one in messages):
        raise TypeError(f"{expected}, not {type(value).__name__}")
    return messages
