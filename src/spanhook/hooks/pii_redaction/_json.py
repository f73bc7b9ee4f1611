"""What stands around a place in a text, if the text is JSON as far as that place.

It knows only what stands before, so a stream of text gives the same as the whole.
"""

import re

_BEGINS = frozenset('{["')
_LEADING = re.compile(r"\A(?:\s|\\+[nrt])+")
_STRUCTURE = re.compile(r"(?:[\s{}\[\],:0-9.eE+-]|true|false|null|\\+[nrt])*")
_BEFORE = re.compile(r"[:\[,](?:\s|\\+[nrt]){0,20}\Z")
_AFTER = re.compile(r"(?:\s|\\+[nrt]){0,20}[\],}]")
_NEAR = 64
_WORD = re.compile(r"[a-z]+\Z")
_DEEPEST = 8

_BLANK, _JSON, _OTHER = range(3)


class Surroundings:
    """Follows a text, and the JSON in strings of its JSON, up to the places that it is asked about."""

    __slots__ = ("_at", "_sorts")

    def __init__(self) -> None:
        self._at = 0
        self._sorts = [_BLANK]  # of the text, and of each string that is open, the one inside the other

    def quote(self, text: str, start: int, end: int) -> str:
        """The quotation mark that a text in place of a number needs; empty if it needs none.

        Args:
            text: The text. Its part before the last place may be another than before, but not shorter.
            start, end: Where the number is, behind the last place.
        """
        self.advance(text, start)
        depth = len(self._sorts) - 1
        if depth > _DEEPEST or any(sort is not _JSON for sort in self._sorts):
            return ""
        if _BEFORE.search(text, max(0, start - _NEAR), start) is None or _AFTER.match(text, end, end + _NEAR) is None:
            return ""
        return "\\" * (2**depth - 1) + '"'

    def advance(self, text: str, to: int) -> None:
        """Follow the text up to a place."""
        at, sorts = self._at, self._sorts
        while at < to and (len(sorts) > 1 or sorts[0] is not _OTHER):
            mark = text.find('"', at, to)
            if mark < 0:
                word = _WORD.search(text, at, to)  # it may be the first part of one
                end = to if word is None or word.end() - word.start() > len("false") else word.start()
                self._between(text[at:end])
                at = end
                break
            begin = mark
            while begin > 0 and text[begin - 1] == "\\":
                begin -= 1
            escapes = mark - begin
            level = (escapes ^ (escapes + 1)).bit_length() - 1
            self._between(text[at : max(at, mark - (2**level - 1))])
            self._mark(level)
            at = mark + 1
        self._at = to if sorts[0] is _OTHER else at

    def cut(self, characters: int) -> None:
        """The text has lost so many characters at its beginning."""
        self._at = max(0, self._at - characters)

    def _between(self, text: str) -> None:
        """Text without a quotation mark that begins or ends a string."""
        sort = self._sorts[-1]
        if sort is _BLANK:
            text = _LEADING.sub("", text)
            if not text:
                return
            sort = self._sorts[-1] = _JSON if text[0] in _BEGINS else _OTHER
        if sort is _JSON and _STRUCTURE.fullmatch(text) is None:
            self._sorts[-1] = _OTHER

    def _mark(self, level: int) -> None:
        """A quotation mark that is escaped so many times."""
        sorts = self._sorts
        depth = len(sorts) - 1
        if level < depth:
            del sorts[level + 1 :]
        elif level > depth:
            sorts[-1] = _OTHER
        else:
            if sorts[-1] is _BLANK:
                sorts[-1] = _JSON
            sorts.append(_BLANK if sorts[-1] is _JSON else _OTHER)
