"""The check of callers who edit the chunks of a stream in place: neither hooks nor totals are about what they made."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from spanhook.cli.conformance.checks.cells import NONE, OK, PATIENCE, Cell, Way, Wrong, brief, operations_of
from spanhook.cli.conformance.checks.ending import stream_in
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.subject import Body
from spanhook.gating import Hooks
from spanhook.model import Operation
from spanhook.testing import recorder

_COUNT = re.compile("token", re.IGNORECASE)
_DEEPEST = 8
_ATOMS = (str, bytes, int, float, bool, type, type(None))
_EDITED = "edited"


def edited(way: Way) -> Cell:
    """What a caller makes of a stream's texts and counts reaches neither hooks nor totals."""
    opened = way.subject.opened.get(way.name)
    if opened is None or way.subject.kind != "llm.call":
        return NONE
    expected, found = (_seen(way, opened, edits=edits) for edits in (False, True))
    if found.used != expected.used:
        raise Wrong(f"the caller edited chunks, and {expected.used} tokens became {found.used}")
    if found.told != expected.told and not found.passed_on:
        raise Wrong(f"the caller edited chunks, and {brief(repr(expected.told))} became {brief(repr(found.told))}")
    return Cell(OK)


@dataclass
class _Seen:
    """What was seen of a stream that is read to its end.

    Attributes:
        told: What hooks saw.
        used: The tokens that were counted, those of the prompt and the others.
        passed_on: The library itself says in later chunks what the caller has made of earlier ones.
    """

    told: list[str] = field(default_factory=list[str])
    used: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    passed_on: bool = False


def _seen(way: Way, opened: Callable[[Any], Any], *, edits: bool) -> _Seen:
    hooks, found = Hooks(), _Seen()

    @hooks.after("llm.call", timeout=PATIENCE)
    def look(op: Operation) -> None:
        found.told.append(op.response.text)

    def edit(chunk: Any) -> None:
        found.passed_on = found.passed_on or _EDITED in repr(chunk)
        if edits:
            _edit(chunk, way.subject.said)

    thing = way.subject.make(Body())
    with recorder(hooks) as seen:
        run(_read(opened, thing, edit))
    found.used = [(op.usage.input_tokens, op.usage.output_tokens) for op in operations_of(way, seen)]
    return found


async def _read(opened: Callable[[Any], Any], thing: Any, edit: Callable[[Any], None]) -> None:
    stream, is_async = await stream_in(opened, thing)
    if is_async:
        async for chunk in stream:
            edit(chunk)
    else:
        for chunk in stream:
            edit(chunk)


def _edit(value: Any, said: str, depth: int = 0) -> None:
    """Edit every count of tokens in a value, and every piece of ``said``."""
    if depth > _DEEPEST or isinstance(value, _ATOMS):
        return
    for where, name, one in _fields(value):
        if type(one) is int and isinstance(name, str) and _COUNT.search(name):
            where[name] = 1
        elif isinstance(one, str) and len(one) > 1 and one.strip() and one.strip() in said:
            where[name] = _EDITED
        else:
            _edit(one, said, depth + 1)


def _fields(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """What a value consists of: where it can be set, by which key, and it."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        yield from ((items, index, one) for index, one in enumerate([*items]))
        return
    if isinstance(value, tuple):
        yield from (({}, None, one) for one in cast("tuple[Any, ...]", value))
        return
    extra, own = getattr(value, "__pydantic_extra__", None), getattr(value, "__dict__", None)
    for held in (cast("dict[Any, Any]", one) for one in (value, own, extra) if isinstance(one, dict)):
        yield from ((held, key, one) for key, one in [*held.items()])
