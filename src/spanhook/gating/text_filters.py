"""Filters of streamed text: what hooks with ``stream="window"`` do with the text of one stream."""

from collections.abc import Callable
from typing import Protocol

from spanhook.errors import HookError
from spanhook.gating._refusals import returned_refusal

MOST = 65_536
"""The most characters that are held back."""
_TRIES = 4
_FAR = 256
"""How far before the window a space is looked for, to cut there."""


class TextFilter(Protocol):
    """Filters one text that arrives in pieces, such as a message or the arguments of a tool call.

    What the calls return, joined, is the text that the consumer gets. They may raise ``Reject``, which ends the stream.
    If it has a method ``unread``, that is called instead of ``end`` if the stream has stopped early; it returns what
    telemetry may have of the rest.

    Attributes:
        reason: What the decision says if it has changed the text; no content.
    """

    @property
    def reason(self) -> str: ...

    def feed(self, text: str) -> str:
        """Take a piece of text; return what may go out now, often nothing."""
        ...

    def end(self) -> str:
        """The text is complete: return the rest."""
        ...


class Windowed:
    """A filter made of a function of whole texts: the last ``window`` characters are held back.

    Text goes out up to a place where cutting it makes no difference: rewriting both halves gives what rewriting the
    whole does. So nothing that the function finds is cut in two, unless it is longer than the window.

    Args:
        function: Returns the text as it may go out, or raises ``Reject``.
        window: As many characters as the longest text that the function must see in one piece.
    """

    reason = ""

    def __init__(self, function: Callable[[str], str], window: int) -> None:
        self._function, self._window = function, window
        self._held = ""

    def feed(self, text: str) -> str:
        self._held = held = self._held + text
        if len(held) > MOST:
            raise HookError(f"{MOST} characters are held back, and there is no place to cut them")
        whole = self._asked(held)
        limit = len(held) - self._window
        if limit <= 0:
            return ""
        for cut in self._cuts(limit):
            head = self._asked(held[:cut])
            if whole == head + self._asked(held[cut:]):
                self._held = held[cut:]
                return head
        return ""

    def end(self) -> str:
        held, self._held = self._held, ""
        return self._asked(held) if held else ""

    def _asked(self, text: str) -> str:
        made = self._function(text)
        if not isinstance(made, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            refusal = returned_refusal(made)
            wrong = HookError(f"text() returned a {type(made).__name__}, expected the text as it may go out")
            raise wrong if refusal is None else refusal
        return made

    def _cuts(self, limit: int) -> list[int]:
        """Where to cut: after spaces, the last one first, and then at the limit."""
        found: list[int] = []
        at = limit
        while len(found) < _TRIES and at > max(0, limit - _FAR):
            if self._held[at - 1].isspace():
                found.append(at)
            at -= 1
        return [*found, limit]
