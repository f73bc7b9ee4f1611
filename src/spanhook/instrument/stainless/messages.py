"""Parts of messages between a provider's words and the conventions' role/parts form.

What a part cannot say is kept: parts of unknown type stay as the provider writes them, and a message that a hook left
alone goes out as it came.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from spanhook.instrument.stainless.reading import Fields, fields_of, plain
from spanhook.model import Form, Message, chat_form, is_media, media_part, media_wire, text_wire

Wire = dict[str, Any]
Part = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One type of part.

    Attributes:
        type: The conventions' name of it.
        fields: What each of the conventions' fields is called there.
        otherwise: What a part has on the wire where a hook does not say.
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
        kinds: By the type that the provider gives them.
        signed: The conventions' types that only the model may have written: what a hook made of them is left out.
        media: How images and the like are written.
    """

    def __init__(self, kinds: Mapping[str, Kind], signed: Collection[str] = (), media: Form = chat_form) -> None:
        self._kinds, self._signed, self._media = kinds, signed, media
        self._written: dict[str, list[str]] = {}
        for name, kind in kinds.items():
            self._written.setdefault(kind.type, []).append(name)

    def read(self, content: Any) -> Iterator[Part]:
        """The parts of a message's content: text as text, known types as they are called, all else as it is."""
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
        """A part on the wire; one in the provider's own form as it is.

        Args:
            part: What a hook gave.
            like: The one it stands for, whose other keys are kept if it is of the same type.
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
        """A message's content on the wire: parts that were left alone go out as they came.

        Args:
            parts: What a hook gave.
            before: The content that it stands for, if any.
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
    """Messages on the wire for what a hook made of ``natives``; those it left alone go out as they came.

    Args:
        natives: What was to be sent.
        new: What the hook gave, in role/parts form or the provider's own.
        to_message: Reads one.
        from_message: Writes one, given the one it stands for, whose other keys are kept; several where it takes them.
    """
    before = [to_message(native) for native in natives]
    result: list[Any] = []
    for index, message in enumerate(new):
        if index < len(before) and before[index] == message:
            result.append(natives[index])
        elif message in before:
            result.append(natives[before.index(message)])
        else:
            native = natives[index] if len(new) == len(natives) else None
            like = None if native is None or isinstance(native, str) else plain(native)
            result.extend(from_message(message, like))
    return result


def finished(message: Message, reason: Any) -> Message:
    """A message that came back, with why the model stopped where that is known."""
    return {**message, "finish_reason": reason} if reason and isinstance(reason, str) else message


def text_in(parts: Iterable[Part], between: str = "") -> str:
    """The text of parts."""
    return between.join(str(part.get("content", "")) for part in parts if part.get("type") == "text")


def decoded(arguments: Any) -> Any:
    """A tool call's arguments by name; as they are where they are no JSON object."""
    try:
        read = json.loads(arguments)
    except (TypeError, ValueError):
        return arguments
    return read if isinstance(read, dict) else arguments


def encoded(value: Any) -> Any:
    """Arguments or a tool's result as they go on the wire: text and lists of parts as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, dict) and "type" in one for one in value):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def one_prompt(messages: Any) -> Any:
    """The messages of the one prompt that a request has, however they are nested.

    Raises:
        ValueError: There are those of several.
    """
    if messages and isinstance(messages[0], list | tuple):
        if len(messages) != 1:
            raise ValueError(f"the request has one prompt; messages= has those of {len(messages)}")
        return messages[0]
    return messages


def by_prompt(messages: Any, counts: Sequence[int]) -> list[Any]:
    """The messages of each prompt, given nested or one after the other.

    Args:
        messages: What a hook gave.
        counts: How many messages each prompt has.

    Raises:
        ValueError: Nothing tells which belongs to which.
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
        expected: What the answer is, in words of the error.
        key: What all messages of this API have.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, str):
        return [{"role": "assistant", "parts": [{"type": "text", "content": value}]}]
    messages = [value] if isinstance(value, dict) else value
    if not isinstance(messages, list) or not all(isinstance(one, dict) and (not key or key in one) for one in messages):
        raise TypeError(f"{expected}, not {type(value).__name__}")
    return messages
