"""Redacts a text that arrives in pieces: what it releases is what redacting the whole gives, however it was split."""

from collections import Counter

from spanhook.hooks.pii_redaction._finders import open_key
from spanhook.hooks.pii_redaction._json import Surroundings
from spanhook.hooks.pii_redaction._redactor import Redactor, Substitute
from spanhook.hooks.pii_redaction._views import readings

MOST = 32_768
"""The most characters without a space that are held back."""
STEP = 32
"""How many new characters are looked through at once: a provider's chunks are shorter."""
_CONTEXT = 256
"""How many characters before a value may say what it is."""
_BEYOND = 4
"""How many characters after a value may say that it is none."""


class StreamRedactor:
    """Redacts one stream of text.

    It releases text up to a space that nothing to be redacted reaches across, so it holds back the last word, the
    length of the longest value with spaces in it, and private keys up to their last line.

    Args:
        redactor: What finds and replaces.
        substitute: As for ``Redactor.redact``.

    Attributes:
        findings: How many of each entity have been released so far.
    """

    def __init__(self, redactor: Redactor, substitute: Substitute | None = None) -> None:
        self.findings: Counter[str] = Counter()
        self._redactor = redactor
        self._substitute = substitute or redactor.mask
        self._window = redactor.longest + _BEYOND
        self._keys = any(entity.name == "PRIVATE_KEY" for entity in redactor.entities)
        self._text = ""  # what was released and may still be context, and what is held
        self._released = self._new = 0
        self._cuts: list[int] = []
        self._around = Surroundings()

    def feed(self, text: str) -> str:
        """Take a piece of text.

        Returns:
            What can be released, redacted; often nothing.
        """
        self._text += text
        self._new += len(text)
        if self._new < STEP:
            return ""
        self._new = 0
        limit = self._limit()
        return self._release(limit, final=False) if limit > self._released else ""

    def end(self) -> str:
        """The stream has ended: release the rest, redacted."""
        return self._release(len(self._text), final=True)

    def _limit(self) -> int:
        """Up to where the text shows everything that begins there."""
        limit = len(self._text)
        for reading in readings(self._text):
            said, starts = reading.text, reading.starts
            visible = max(0, len(said) - self._window)
            key = open_key(said) if self._keys else -1
            visible = visible if key < 0 else min(visible, key)
            at = visible if starts is None else starts[visible] if visible < len(starts) else len(self._text)
            limit = min(limit, at)
        return limit

    def _release(self, limit: int, *, final: bool) -> str:
        text, done = self._text, self._released
        found = [one for one in self._redactor.find(text) if one.end > done]
        cut = limit
        while not final:
            inside = next((one for one in found if one.start < cut < one.end), None)
            if inside is not None:
                cut = inside.start
            if cut <= done:
                return ""
            if text[cut - 1].isspace():
                break
            cut -= 1
            if limit - cut > MOST or (cut <= done and limit - done > MOST):
                cut = next((one.start for one in found if one.start < limit < one.end), limit)
                break
        pieces: list[str] = []
        at = done
        for one in found:
            if one.start >= cut:
                break
            instead = self._substitute(one.entity, text[max(one.start, at) : one.end])
            quote = self._around.quote(text, one.start, one.end) if text[one.start : one.end].isdigit() else ""
            pieces += text[at : one.start], f"{quote}{instead}{quote}"
            self.findings[one.entity] += 1
            at = one.end
        pieces.append(text[at:cut])
        self._forget(cut)
        return "".join(pieces)

    def _forget(self, cut: int) -> None:
        """Keep what is held, and as much before it as may be context, from an earlier cut on."""
        self._around.advance(self._text, cut)
        self._cuts.append(cut)
        self._released = cut
        keep = max((one for one in self._cuts if one <= cut - _CONTEXT), default=0)
        if keep:
            self._text = self._text[keep:]
            self._around.cut(keep)
            self._released -= keep
            self._cuts = [one - keep for one in self._cuts if one > keep]
