"""Messages of Agent Framework to the conventions' role/parts form and back.

What a hook did not change stays the object that it was.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent_framework import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Message,
)

from spanhook.instrument.agent_framework.contents import Part, content_of, part_of
from spanhook.instrument.wire import messages_in, rewrite_objects
from spanhook.model import Message as Said
from spanhook.model import copied, copies, exact_text

_EXPECTED = "an answer is text, a message or a response of the library's, or messages in role/parts form"
_RAW = "raw_representation"


@copies(AgentResponse, AgentResponseUpdate, ChatResponse, ChatResponseUpdate, Content, Message)
def _twin(given: Any) -> Any:
    """A copy of a message, of what it is made of, or of a response; what it was made from is shared."""
    twin = copy.copy(given)
    twin.__dict__.update({name: copied(value) for name, value in vars(given).items() if name != _RAW})
    return twin


def natives(given: Any) -> list[Any]:
    """What was given to an agent or a client, as a list of messages."""
    if given is None:
        return []
    items = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [Message("user", [one]) if isinstance(one, str | Content) else one for one in items]


def read_all(given: Any) -> list[Said]:
    """Messages in role/parts form."""
    return [read(one) for one in natives(given)]


def read(message: Any) -> Said:
    """One message in role/parts form; a hook may also give text, or a message of one text."""
    if isinstance(message, str):
        return {"role": "user", "parts": [{"type": "text", "content": message}]}
    if isinstance(message, Mapping):
        return _of_text(message)
    return {"role": exact_text(message.role), "parts": [part_of(one) for one in message.contents]}


def _of_text(message: Mapping[str, Any]) -> Said:
    if "parts" in message:
        return dict(message)
    if not isinstance(message.get("content"), str):
        raise ValueError("a message is a mapping with `parts`, or with `content` that is text")
    return {"role": message.get("role") or "user", "parts": [{"type": "text", "content": message["content"]}]}


# ------------------------------------------------------------------------------------------------- writing


def rewritten(messages: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """A hook's version of messages; what it did not change is the same."""

    def made(message: Any, native: Any) -> list[Any]:
        return [written(message, native)] if isinstance(message, Mapping) else natives(message)

    return rewrite_objects(messages, new, read, made)


def written(message: Mapping[str, Any], like: Any = None) -> Any:
    """A message in role/parts form, or of one text, as the library has it.

    Args:
        message: What a hook gave.
        like: What it replaces, whose other fields are kept.

    Raises:
        ValueError: It has a part that cannot be written.
    """
    told = _of_text(message)
    like = like if isinstance(like, Message) else None
    contents = list(_contents(told["parts"] or (), like))
    role = exact_text(told.get("role")) or "user"
    if like is None:
        return Message(role, contents)
    twin = copy.copy(like)
    twin.role, twin.contents, twin.raw_representation = role, contents, None
    return twin


def _contents(parts: Iterable[Part], like: Any) -> Iterator[Any]:
    before = [(part_of(one), one) for one in (like.contents if like is not None else ())]
    for part in parts:
        same = next((one for told, one in before if told == part), None)
        yield same if same is not None else content_of(part)


def said_in(value: Any) -> list[Any]:
    """Messages of an assistant for what a hook answers.

    Raises:
        TypeError: It is none of what an answer may be.
    """
    if isinstance(value, Message):
        return [value]
    if isinstance(value, AgentResponse | ChatResponse):
        return list(value.messages)
    if isinstance(value, list) and value and all(isinstance(one, Message) for one in value):
        return list(value)
    return [written({"role": "assistant", **one}) for one in messages_in(value, _EXPECTED)]
