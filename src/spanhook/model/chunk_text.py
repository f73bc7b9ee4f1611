"""The text in the chunks of a stream: finding it, and replacing it, whatever the library's types.

Chunks are read as JSON: every string in them is text, except under names that say what something is or where it
belongs. So a field that a provider adds tomorrow is read too.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

from spanhook.model.encoding import exact_text

Channel = tuple[Hashable, ...]
"""What a text belongs to, such as one choice's content: texts of one channel, in order, are one text."""
Route = tuple[str | int, ...]
"""Where a string stands in a chunk: attributes, keys and positions."""

NO_TEXT = frozenset(
    (
        *("id", "item_id", "call_id", "tool_call_id", "response_id", "type", "object", "role", "name", "namespace"),
        *("index", "model", "status", "phase", "event", "finish_reason", "stop_reason", "service_tier"),
        *("signature", "encrypted_content", "thought_signature", "data", "partial_image_b64", "b64_json"),
        *("media_type", "mime_type", "format", "voice", "system_fingerprint", "obfuscation", "file_id"),
    )
)
"""Names whose strings are no text."""
_PLAIN = (type(None), bool, int, float)


class Leaf(NamedTuple):
    """One text in a chunk."""

    channel: Channel
    route: Route
    text: str


def _never(_channel: Channel) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ChunkText:
    """What one chunk says.

    Attributes:
        grows: Texts that continue their channels.
        whole: Texts that are complete, or repeat what channels have said.
        ends: Whether a channel ends with this chunk.
    """

    grows: Sequence[Leaf] = ()
    whole: Sequence[Leaf] = ()
    ends: Callable[[Channel], bool] = field(default=_never)


class Texts(Protocol):
    """How a library's chunks are read and rewritten; see ``Adapter.texts``."""

    def read(self, chunk: Any) -> ChunkText:
        """What a chunk says.

        Raises:
            TypeError: It may contain text where none can be read.
        """
        ...

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        """A copy of a chunk with other texts, and without what else would show the original ones."""
        ...

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        """A chunk that only adds ``text`` to the channel of ``leaf``, which was in ``chunk``."""
        ...


def leaves(value: Any, route: Route = (), channel: Channel = ()) -> Iterator[Leaf]:
    """The texts in a value.

    Args:
        value: Strings, dicts, lists, models and dataclasses.
        route, channel: Where it stands in its chunk, and what it belongs to.

    Raises:
        TypeError: It is, or contains, an object of another type.
    """
    if isinstance(value, str):
        if value:
            yield Leaf(channel, route, value)
    elif isinstance(value, _PLAIN):
        return
    elif isinstance(value, list | tuple):
        for position, one in enumerate(cast("Sequence[Any]", value)):
            own = _place(one)
            yield from leaves(one, (*route, position), (*channel, position if own is None else own))
    else:
        for name, one in fields_in(value):
            if name not in NO_TEXT and one is not None:
                yield from leaves(one, (*route, name), (*channel, name))


def fields_in(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a dict, model or dataclass.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, Mapping):
        yield from cast("Mapping[str, Any]", value).items()
        return
    kind = cast("type[Any]", type(value))
    if not hasattr(kind, "__pydantic_fields_set__") and not is_dataclass(kind):
        raise TypeError(f"no text can be read from {kind.__name__}")
    yield from cast("dict[str, Any]", vars(value)).items()
    more = getattr(value, "__pydantic_extra__", None)
    if more:
        yield from more.items()


def _place(value: Any) -> Any:
    """The ``index`` of an item, which says what it continues."""
    fields = cast("Mapping[str, Any]", value)
    found = fields.get("index") if isinstance(value, Mapping) else getattr(value, "index", None)
    return found if isinstance(found, int | str) else None


def with_texts(value: Any, texts: Mapping[Route, Any]) -> Any:
    """A copy of a value with these strings, or other values, in their places; what does not change is shared."""
    if not texts:
        return value
    if () in texts:
        return texts[()]
    inside: dict[str | int, dict[Route, Any]] = {}
    for route, text in texts.items():
        inside.setdefault(route[0], {})[route[1:]] = text
    if isinstance(value, list | tuple):
        copy = list(cast("Sequence[Any]", value))
        for position, more in inside.items():
            copy[cast("int", position)] = with_texts(copy[cast("int", position)], more)
        return copy if isinstance(value, list) else tuple(copy)
    changed: dict[str, Any] = {
        exact_text(name): with_texts(_field(value, exact_text(name)), more) for name, more in inside.items()
    }
    if isinstance(value, Mapping):
        return {**cast("Mapping[str, Any]", value), **changed}
    if hasattr(value, "model_copy"):
        return value.model_copy(update=changed)
    return replace(value, **changed)


def _field(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    own = cast("dict[str, Any]", vars(value))
    more = cast("dict[str, Any]", getattr(value, "__pydantic_extra__", None) or {})
    return own[name] if name in own else more.get(name)


def nested(channel: Sequence[Hashable], text: str) -> Any:
    """The smallest value with ``text`` in this channel, as ``leaves`` reads it."""
    value: Any = text
    for step in reversed(channel):
        if isinstance(step, int):
            value = [{"index": step, **value} if isinstance(value, dict) else value]
        else:
            value = {step: value}
    return value


class PlainTexts:
    """The texts of chunks that are strings, dicts, lists, models or dataclasses, without any other meaning."""

    def read(self, chunk: Any) -> ChunkText:
        return ChunkText(tuple(leaves(chunk)))

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        others = {one.route: "" for one in leaves(chunk) if one.route != leaf.route}
        return with_texts(chunk, {**others, leaf.route: text})
