"""What identifies a request, so that its transport is recognized: the last text of each prompt."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Self, cast

from spanhook.diagnostics import internal
from spanhook.model._current import current_record
from spanhook.model.adapter import Adapter
from spanhook.model.arguments import Args, Kwargs
from spanhook.model.record import Record

Carried = list[str | None]
"""The last text of each prompt, or ``None`` for a prompt without text, such as a lone image."""


class Pieces(str):
    """The text of a message in pieces. It equals the text of all pieces, and of any number of the last ones.

    Frameworks merge messages, such as a user's text after a tool's result.
    """

    __slots__ = ("ends",)
    ends: frozenset[str]

    def __new__(cls, pieces: Iterable[str]) -> Self:
        said = list(pieces)
        made = super().__new__(cls, "".join(said))
        made.ends = frozenset(accumulate(reversed(said), lambda end, piece: piece + end))
        return made

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Pieces):
            return str.__str__(self) in other.ends or str.__str__(other) in self.ends
        return (other is None or isinstance(other, str)) and (other or "") in self.ends

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def in_pieces(pieces: Sequence[str]) -> str | None:
    """The text of a message in pieces; ``None`` if there is none."""
    return Pieces(pieces) if len(pieces) > 1 else (pieces[0] or None) if pieces else None


libraries = Counter({"builtins": 1})
"""The packages whose classes are no application's, Python's own and those of bound libraries: how often each is."""


def in_order(arguments: Mapping[str, Any]) -> str:
    """A tool's arguments as text, which is the same for every library that passes them on."""
    return repr(sorted(arguments.items()))


def carried_by(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    """What identifies a request; ``[None]``, which matches hardly any other, if it cannot be read."""
    if adapter.nesting.carries is None:
        return [None]
    try:
        return adapter.nesting.carries(instance, args, kwargs)
    except Exception as error:
        internal.report("extract.carries", error)
        return [None]


def note_gated(op: Record) -> None:
    """Note what the gates are asked about: callbacks and overrides may later change it in place."""
    adapter, instance = op.adapter, op.instance
    if not (_is_the_applications(instance) if adapter.reenters else adapter.nesting.carries):
        return
    try:
        if adapter.nesting.goes_on is None or adapter.nesting.goes_on(instance):
            op.gated = _asked(adapter, instance, op.args, op.kwargs)
    except Exception as error:
        internal.report("extract.carries", error)
        op.gated = [None]


def gated_by(op: Record) -> Carried:
    """What an operation's gates were asked about."""
    return op.gated if op.gated is not None else carried_by(op.adapter, op.instance, op.args, op.kwargs)


def goes_on(op: Record, args: Args, kwargs: Kwargs) -> bool:
    """Whether a call of the same sort on the same instance, made inside ``op``, does what ``op`` was asked to do."""
    if op.adapter.reenters:
        if op.coverage in (None, "observed"):
            return True  # nobody was asked about this, or would be about anything else
    elif op.adapter.nesting.carries is None:
        return True
    try:
        own = op.gated if op.gated is not None else _asked(op.adapter, op.instance, op.args, op.kwargs)
        return all(one in own for one in _asked(op.adapter, op.instance, args, kwargs))
    except Exception as error:
        internal.report("extract.carries", error)
        return False


def runs_on(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> bool:
    """Whether a call only goes on with the one that it is made in: an override calls what it overrides, or one method
    another, or it is tried again. One that asks for something else is a call of its own.
    """
    op = current_record()
    inside = op is not None and op.adapter is adapter and op.instance is instance and op.called and not op.ended
    return op is not None and inside and goes_on(op, args, kwargs)


def _is_the_applications(instance: Any) -> bool:
    """Whether a class is an application's, so that an override may edit what was asked before it passes that on.

    Only then is it worth writing down, since it may be a whole state or a document.
    """
    cls = instance if isinstance(instance, type) else type(instance)
    return not libraries[cls.__module__.partition(".")[0]]


def _asked(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    """What a call asks for: all that its gates read of it, if nothing else identifies it.

    Of what has been read as messages, these alone, because libraries put it into other forms between their methods.
    """
    if adapter.nesting.carries is not None:
        return adapter.nesting.carries(instance, args, kwargs)
    request = adapter.reading.request(instance, args, kwargs)
    native = request.lent_inputs
    is_read = bool(request.messages) and not isinstance(cast("object", native), Mapping)
    is_empty = isinstance(cast("object", native), list | tuple) and not native
    return [repr((request.messages, request.arguments, None if is_read or is_empty else native))]


def text_of(content: Any) -> str | None:
    """The text of a message's content, whether that is text or a list of parts; ``None`` if it has none."""
    if isinstance(content, str):
        return content or None
    parts = content
    if not isinstance(content, Sequence):
        return None
    texts: list[str] = []
    for part in parts:
        text = fields = part
        if isinstance(part, dict):
            text = fields.get("text")
            source = told = fields.get("source")
            if text is None and isinstance(source, dict) and told.get("type") == "text":  # a text document
                text = told.get("data")
            elif text is None and fields.get("type") == "tool_result":
                text = text_of(fields.get("content"))
        if isinstance(text, str):
            texts.append(text)
    return "".join(texts) or None
