"""Finds what is to be redacted in a text, and writes the text without it. Knows no hooks, messages or streams."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from spanhook.hooks.pii_redaction._entities import SHORTENED, Entity
from spanhook.hooks.pii_redaction._json import Surroundings
from spanhook.hooks.pii_redaction._views import Reading, readings

_DIGIT = re.compile(r"[0-9]")
_MARKS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One value in a text.

    Attributes:
        start, end: Where it is.
        entity: What it is.
    """

    start: int
    end: int
    entity: str


Substitute = Callable[[str, str], str]
"""What stands in place of a value: called with the name of its entity and the value as it stands in the text."""


class Redactor:
    """Redacts texts. It keeps nothing between them, and may be used by several threads.

    Args:
        entities: What to look for. Of findings that overlap, the one of the earlier entity names the mask.
        allow: Values to let through, in any case and with any separators, and domains whose addresses are.
        keep_last: How many of the last characters of numbers a mask shows.
    """

    def __init__(self, entities: Sequence[Entity], allow: Iterable[str] = (), keep_last: int = 0) -> None:
        self.entities = tuple(entities)
        self.keep_last = keep_last
        self.longest = max((entity.longest for entity in entities), default=0)
        self._rank = {entity.name: rank for rank, entity in enumerate(entities)}
        given = [one.strip().casefold() for one in allow]
        self._domains = tuple(one.lstrip("@") for one in given if _MARKS.sub("", one) and "@" not in one.lstrip("@"))
        self._allowed = frozenset(_plain(one) for one in given)

    def redact(self, text: str, substitute: Substitute | None = None) -> tuple[str, Counter[str]]:
        """A text without what was found in it, and how many of each entity that was.

        Everything around the findings stays as it is. In JSON, a mask for a bare number is in quotes.

        Args:
            text: The text.
            substitute: What stands in place of a value; by default its mask.
        """
        found = self.find(text)
        if not found:
            return text, Counter()
        substitute = substitute or self.mask
        pieces: list[str] = []
        done = 0
        around = Surroundings()
        for one in found:
            instead = substitute(one.entity, text[one.start : one.end])
            quote = around.quote(text, one.start, one.end) if text[one.start : one.end].isdigit() else ""
            pieces += text[done : one.start], f"{quote}{instead}{quote}"
            done = one.end
        pieces.append(text[done:])
        return "".join(pieces), Counter(one.entity for one in found)

    def redact_together(
        self, texts: Sequence[str], substitute: Substitute | None = None
    ) -> tuple[list[str], Counter[str]]:
        """Texts that a reader sees as one, each without what was found in it or across it and those beside it.

        What stands in place of a value that begins in one text and ends in another is in the first.
        """
        substitute = substitute or self.mask
        pieces = list(texts)
        whole = "".join(pieces)
        starts = [0]
        for piece in pieces:
            starts.append(starts[-1] + len(piece))
        counts = Counter[str]()
        for one in reversed(self.find(whole)):
            first = bisect_right(starts, one.start, 0, len(pieces)) - 1
            if one.end <= starts[first + 1]:
                continue  # within one text: redacted there, or no such value by itself
            counts[one.entity] += 1
            for index in range(bisect_left(starts, one.end, 0, len(pieces)) - 1, first - 1, -1):
                begins = max(one.start - starts[index], 0)
                ends = min(one.end - starts[index], starts[index + 1] - starts[index])
                if begins < ends:
                    instead = substitute(one.entity, whole[one.start : one.end]) if index == first else ""
                    pieces[index] = pieces[index][:begins] + instead + pieces[index][ends:]
        return pieces, counts

    def find(self, text: str) -> list[Finding]:
        """What is in a text, in order; findings that overlap are one."""
        found: list[Finding] = []
        for reading in readings(text):
            found.extend(self._in(reading, text))
        return self._joined(found) if len(found) > 1 else found

    def mask(self, entity: str, value: str) -> str:
        """What stands in place of a value: its entity in brackets."""
        if self.keep_last and entity in SHORTENED:
            return f"[{entity} {_MARKS.sub('', value)[-self.keep_last :]}]"
        return f"[{entity}]"

    def _in(self, reading: Reading, text: str) -> Iterable[Finding]:
        said = reading.text
        digits = -1
        for entity in self.entities:
            needs = entity.needs
            for one in needs:  # a generator for `any` would take twice the time
                if one in said:
                    break
            else:
                if needs:
                    continue
            if entity.digits:
                if digits < 0:
                    digits = _digits(said)
                if digits < entity.digits:
                    continue
            for start, end in entity.find(said):
                if start < end and not self._lets_through(entity.name, said[start:end]):
                    begins, ends = reading.span(start, end)
                    if begins < ends <= len(text):
                        yield Finding(begins, ends, entity.name)

    def _lets_through(self, entity: str, value: str) -> bool:
        if not self._allowed:
            return False
        value = value.casefold()
        if _plain(value) in self._allowed:
            return True
        if entity != "EMAIL":
            return False
        domain = value.rpartition("@")[2]
        return any(domain == one or domain.endswith(f".{one}") for one in self._domains)

    def _joined(self, found: list[Finding]) -> list[Finding]:
        found.sort(key=lambda one: (one.start, -one.end, self._rank[one.entity]))
        joined = [found[0]]
        for one in found[1:]:
            last = joined[-1]
            if one.start >= last.end:
                joined.append(one)
                continue
            longer = last if last.end - last.start >= one.end - one.start else one
            if (one.start, one.end) == (last.start, last.end) and self._rank[one.entity] < self._rank[last.entity]:
                longer = one
            joined[-1] = Finding(last.start, max(last.end, one.end), longer.entity)
        return joined


def _plain(value: str) -> str:
    return _MARKS.sub("", value.casefold())


def _digits(text: str) -> int:
    """How many digits a text has, counted up to the most that is asked."""
    count = 0
    for _ in _DIGIT.finditer(text):
        count += 1
        if count == _ENOUGH:
            break
    return count


_ENOUGH = 16
