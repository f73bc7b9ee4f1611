"""Streams that are released piece by piece, each after a verdict about all that has arrived of its text."""

from collections.abc import Callable

from spanhook.hooks import _agent_context as contract
from spanhook.model import Operation

INCREMENTAL = "incremental"
FINAL = "stop"
Ask = Callable[[str, str], None]


class Passing:
    """A text that is let pass."""

    reason = ""

    def feed(self, text: str) -> str:
        return text

    def end(self) -> str:
        return ""


class Segments:
    """The texts of one stream.

    Args:
        least: How many characters at least are told at once.
        ask: Asks about what has arrived of a text, with the reason that the contract gives for its end.
    """

    def __init__(self, least: int, ask: Ask) -> None:
        self._least, self._ask = least, ask
        self._texts: list[Text] = []

    @staticmethod
    def passing() -> Passing:
        """A filter that lets all pass."""
        return Passing()

    @property
    def residue(self) -> str | None:
        """What has arrived of a text that has not come to its end; ``None`` if there is none."""
        return next((one.arrived for one in self._texts if not one.ended), None)

    def text(self) -> "Text":
        """The filter of another text of the stream."""
        made = Text(self._least, self._ask)
        self._texts.append(made)
        return made

    def covers(self, op: Operation) -> bool:
        """Whether verdicts have been given about all of a result, as it is: a single text."""
        told = contract.response_of(list(op.response.messages), op.response.finish_reasons)
        ended = [one for one in self._texts if one.ended]
        return len(self._texts) == len(ended) == 1 and told == {
            "content": ended[0].whole,
            "tool_calls": [],
            "finish_reason": FINAL,
        }


class Text:
    """One text. The last piece is held back until more arrives, or the text ends.

    Attributes:
        whole: What has arrived and been told.
        ended: Whether it has come to its end.
    """

    reason = ""

    def __init__(self, least: int, ask: Ask) -> None:
        self.whole = self._held = ""
        self.ended = False
        self._least, self._ask = least, ask

    @property
    def arrived(self) -> str:
        """All that has arrived."""
        return self.whole + self._held

    def feed(self, text: str) -> str:
        """Take a piece; release the one before it."""
        out = ""
        if len(self._held) >= self._least:
            out = self._told(INCREMENTAL)
        self._held += text
        return out

    def end(self) -> str:
        """Release the rest."""
        self.ended = True
        return self._told(FINAL)

    def unread(self) -> str:
        """The stream has stopped early: nobody gets the rest."""
        return ""

    def _told(self, finish_reason: str) -> str:
        held, self._held = self._held, ""
        self.whole += held
        self._ask(self.whole, finish_reason)
        return held
