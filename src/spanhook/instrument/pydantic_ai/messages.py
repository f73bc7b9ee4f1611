"""Messages of Pydantic AI to the conventions' role/parts form and back.

One of its requests to a model consists of parts with several roles: instructions, prompts and results of tools. Each
part is a message here. What a hook did not change stays the object that it was.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_ai import messages as library
from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import to_jsonable_python

from spanhook.instrument.wire import decoded, encoded, rewrite_objects, text_in
from spanhook.model import Message, copied_dataclass, copies, exact_text

_DEPRECATED = [getattr(library, name) for name in ("RetryPromptPart",) if hasattr(library, name)]
copies(ModelRequest, ModelResponse, BaseToolCallPart, BaseToolReturnPart, *_DEPRECATED)(copied_dataclass)
copies(SystemPromptPart, TextPart, ThinkingPart, UserPromptPart)(copied_dataclass)

Part = dict[str, Any]
Native = Any
"""A part of a request, or a whole response."""

_ROLES = {"system-prompt": "system", "user-prompt": "user", "tool-return": "tool", "builtin-tool-return": "tool"}
_CALLS = ("tool-call", "builtin-tool-call")
_RETRIES = ("retry-prompt", "retry-feedback")


class Piece(NamedTuple):
    """What one message in role/parts form stands for.

    Attributes:
        native: A part of a request, or a response.
        request: The request that it is a part of.
    """

    native: Native
    request: ModelRequest | None = None


def pieces_of(messages: Iterable[Any]) -> Iterator[Piece]:
    """The pieces of messages, in order."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                yield Piece(part, message)
        else:
            yield Piece(message)


def read_all(messages: Iterable[Any]) -> list[Message]:
    """Messages in role/parts form."""
    return [read(piece.native) for piece in pieces_of(messages)]


# ------------------------------------------------------------------------------------------------- reading


def read(native: Native) -> Message:
    """A part of a request, or a response, in role/parts form; a hook may also give a message of one text."""
    if isinstance(native, Mapping):
        return of_text(native)
    if isinstance(native, ModelRequest):
        return {"role": "user", "parts": [part for one in native.parts for part in read(one)["parts"]]}
    if isinstance(native, ModelResponse):
        return {"role": "assistant", "parts": [_said(part) for part in native.parts]}
    kind = getattr(native, "part_kind", "")
    if kind in ("tool-return", "builtin-tool-return"):
        return {"role": "tool", "parts": [_returned(native)]}
    if kind in _RETRIES:
        return _retried(native)
    content = getattr(native, "content", None)
    return {"role": _ROLES.get(kind, "system" if kind else "user"), "parts": list(contents_of(content))}


def _said(part: Any) -> Part:
    """A part of a response."""
    kind = part.part_kind
    if kind == "text":
        return {"type": "text", "content": part.content}
    if kind == "thinking":
        return {"type": "reasoning", "content": part.content}
    if kind in _CALLS:
        arguments = part.args if part.args is not None else {}
        return {"type": "tool_call", "id": part.tool_call_id, "name": part.tool_name, "arguments": decoded(arguments)}
    if kind == "builtin-tool-return":
        return _returned(part)
    return next(contents_of([getattr(part, "content", None)]), {"type": kind})


def _returned(part: Any) -> Part:
    return {"type": "tool_call_response", "id": part.tool_call_id, "response": json_of(part.content)}


def _retried(part: Any) -> Message:
    """What the model is told of its mistake."""
    told = part.model_response()
    if getattr(part, "tool_name", None):
        response: Part = {"type": "tool_call_response", "id": part.tool_call_id, "response": told}
        return {"role": "tool", "parts": [response]}
    return {"role": "user", "parts": [{"type": "text", "content": told}]}


def json_of(value: Any) -> Any:
    """A value as plain data; its text, if it is no data."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    try:
        return to_jsonable_python(value, serialize_unknown=True)
    except Exception:
        return str(value)


def contents_of(content: Any) -> Iterator[Part]:
    if content is None:
        return
    for one in [content] if isinstance(content, str) else content:
        yield content_part(one)


def content_part(given: Any) -> Part:
    """One item of a prompt's content."""
    if isinstance(given, str):
        return {"type": "text", "content": given}
    kind = str(getattr(given, "kind", type(given).__name__))
    if kind.endswith("-url"):
        return {"type": "uri", "modality": kind.removesuffix("-url"), "uri": given.url}
    data = getattr(given, "data", None)
    if isinstance(data, bytes):
        media = str(getattr(given, "media_type", ""))
        modality = media.partition("/")[0]
        modality = modality if modality in ("image", "audio", "video") else "document"
        return {"type": "blob", "modality": modality, "mime_type": media, "content": b64encode(data).decode()}
    text = getattr(given, "content", None)
    return {"type": "text", "content": text} if isinstance(text, str) else {"type": kind}


# ------------------------------------------------------------------------------------------------- writing


def rewritten(messages: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """A hook's version of messages; what it did not change is the same."""

    def made(message: Any, like: Piece | None) -> Iterable[Piece]:
        if isinstance(message, ModelRequest | ModelResponse):
            return pieces_of([message])
        native, request = like or (None, None)
        return [Piece(written(message, native), request)]

    return _joined(rewrite_objects(list(pieces_of(messages)), new, lambda piece: read(piece.native), made))


def _joined(pieces: Iterable[Piece]) -> list[Any]:
    """Requests of parts that follow each other, and responses."""
    messages: list[Any] = []
    parts: list[Any] = []
    around: ModelRequest | None = None

    def close() -> None:
        nonlocal parts, around
        if parts:
            same = around is not None and len(parts) == len(around.parts)
            if same and around is not None and all(a is b for a, b in zip(parts, around.parts, strict=True)):
                messages.append(around)
            else:
                messages.append(ModelRequest(parts=parts) if around is None else replace(around, parts=parts))
        parts, around = [], None

    for native, request in pieces:
        if isinstance(native, ModelResponse):
            close()
            messages.append(native)
            continue
        if request is not None and around is not None and request is not around:
            close()
        around = around if request is None else request
        parts.append(native)
    close()
    return messages


def of_text(message: Any) -> Message:
    """A message in role/parts form, if it is not yet: one whose ``content`` is text, as providers' APIs have it.

    Raises:
        ValueError: It has neither parts nor text.
    """
    if isinstance(message, Mapping) and "parts" in message:
        return dict(message)
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), str):
        raise ValueError("a message is a mapping with `parts`, or with `content` that is text")
    return {"role": message.get("role") or "user", "parts": [{"type": "text", "content": message["content"]}]}


def written(message: Message, like: Native = None) -> Native:
    """A message in role/parts form, or of one text, as Pydantic AI has it.

    Args:
        message: What a hook gave.
        like: What it replaces, whose other fields are kept.
    """
    message = of_text(message)
    role, parts = message.get("role"), list(message["parts"] or ())
    if role == "assistant":
        said = [written_part(part) for part in parts]
        return replace(like, parts=said) if isinstance(like, ModelResponse) else ModelResponse(parts=said)
    if role == "tool":
        return _written_return(parts[0] if parts else {}, message, like)
    if role in ("system", "developer"):
        text = text_in(parts)
        return replace(like, content=text) if isinstance(like, SystemPromptPart) else SystemPromptPart(text)
    if getattr(like, "part_kind", "") in _RETRIES:
        return replace(like, content=text_in(parts))
    content = _written_content(parts, like)
    return replace(like, content=content) if isinstance(like, UserPromptPart) else UserPromptPart(content)


def _written_return(part: Part, message: Message, like: Native) -> Native:
    response = part.get("response", "")
    if getattr(like, "part_kind", "") in _RETRIES:
        return replace(like, content=encoded(response))
    if isinstance(like, ToolReturnPart):
        return replace(like, content=response)
    name = exact_text(message.get("name")) or exact_text(part.get("name"))
    return ToolReturnPart(tool_name=name, content=response, tool_call_id=str(part.get("id") or "call_spanhook"))


def _written_content(parts: Sequence[Part], like: Native) -> Any:
    given = getattr(like, "content", None)
    if all(part.get("type") == "text" for part in parts) and (like is None or isinstance(given, str)):
        return text_in(parts)
    natives = [] if given is None else [given] if isinstance(given, str) else list(given)
    before = [content_part(one) for one in natives]
    return [_written_item(part, before, natives) for part in parts]


def _written_item(part: Part, before: list[Part], natives: list[Any]) -> Any:
    if part in before:
        return natives[before.index(part)]
    if part.get("type") != "text":
        raise ValueError(f"a prompt's part of type {part.get('type')!r} cannot be written; keep it or leave it out")
    return str(part.get("content") or "")


def written_part(part: Part) -> Any:
    """A part of a response.

    Raises:
        ValueError: It is of a type that no model's response has.
    """
    kind = part.get("type")
    if kind == "text":
        return TextPart(content=str(part.get("content") or ""))
    if kind == "reasoning":
        return ThinkingPart(content=str(part.get("content") or ""))
    if kind == "tool_call":
        call_id = {"tool_call_id": part["id"]} if part.get("id") else {}
        return ToolCallPart(tool_name=exact_text(part.get("name")), args=part.get("arguments"), **call_id)
    raise ValueError(f"a model's response cannot have a part of type {kind!r}")
