"""The texts of updates: what the model says and thinks, and the arguments of its tool calls."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from spanhook.model import ChunkText, Leaf, Route, exact_text

_TEXT = frozenset(("text", "text_reasoning"))
_WITHOUT_TEXT = frozenset(("usage",))


class UpdateTexts:
    """Reads and writes them; see ``Adapter.texts``."""

    def read(self, chunk: Any) -> ChunkText:
        grows: list[Leaf] = []
        for place, content in enumerate(chunk.contents):
            route: Route = ("contents", place)
            if content.type in _TEXT:
                if content.text:
                    grows.append(Leaf((content.type,), (*route, "text"), content.text))
            elif content.type == "function_call":
                grows.extend(_arguments(content, route))
            elif content.type not in _WITHOUT_TEXT:
                raise TypeError(f"no text can be read from a content of type {content.type!r}")
        return ChunkText(tuple(grows))

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        if not texts:
            return _without_raw(chunk)
        contents: list[Any] = list(chunk.contents)
        for route, text in texts.items():
            place, name = _place(route)
            contents[place] = _with(contents[place], name, text)
        return _with(chunk, "contents", contents)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        place, name = _place(leaf.route)
        return _with(chunk, "contents", [_with(chunk.contents[place], name, text)])


def _place(route: Route) -> tuple[int, str]:
    """Which content a text is in, and where there."""
    _, place, name = route
    return int(place), exact_text(name)


def _arguments(content: Any, route: Route) -> Iterable[Leaf]:
    if isinstance(content.arguments, str):
        if content.arguments:
            yield Leaf(("arguments", content.call_id or ""), (*route, "arguments"), content.arguments)
    elif content.arguments:
        raise TypeError("the arguments of a tool call are no text")


def _with(given: Any, name: str, value: Any) -> Any:
    twin = _without_raw(given)
    setattr(twin, name, value)
    return twin


def _without_raw(given: Any) -> Any:
    """A copy that does not show what it was made of."""
    twin = copy.copy(given)
    twin.raw_representation = None
    return twin


TEXTS = UpdateTexts()
