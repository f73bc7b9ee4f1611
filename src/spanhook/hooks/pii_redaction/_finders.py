"""Where values of each sort stand in a text, by patterns and checksums.

Every pattern starts at a fixed or rare character and has no repeat within a repeat without a bound, so that no text
makes it slow. Knows nothing of hooks.
"""

import re
import string
from collections.abc import Callable, Iterator
from itertools import pairwise

from spanhook.hooks.pii_redaction import _checksums as checks

Span = tuple[int, int]
Finder = Callable[[str], Iterator[Span]]


_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")
_LOCAL = re.compile(r"[\w.!#$&'*+/=?^`{|}~%-]{1,64}\Z")
_DOMAIN = re.compile(r"@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_](?:[\w-]{0,61}[^\W_])")
_TRIMMED = "'`*/=?|{}&.!#$^~"


def matches(pattern: str, is_one: Callable[[str], bool] | None = None, flags: int = 0) -> Finder:
    """A finder for matches of a pattern, or of its first group; what ``is_one`` refuses is searched again from its
    second character on.

    Args:
        pattern: A regular expression.
        is_one: Called with the match in upper case and without separators.
        flags: Those of ``re``.
    """
    compiled = re.compile(pattern, flags)
    group = 1 if compiled.groups else 0

    def find(text: str) -> Iterator[Span]:
        at = 0
        while (found := compiled.search(text, at)) is not None:
            start, end = found.span(group)
            if is_one is None or is_one(_SEPARATORS.sub("", text[start:end]).upper()):
                yield start, end
                at = max(end, found.start() + 1)
            else:
                at = found.start() + 1

    return find


def emails(text: str) -> Iterator[Span]:
    """Addresses, found from their ``@`` to both sides."""
    for found in _DOMAIN.finditer(text):
        before = _LOCAL.search(text, max(0, found.start() - 64), found.start())
        if before is None:
            continue
        local = before[0]
        start = found.start() - len(local.lstrip(_TRIMMED))
        if start < found.start():
            yield start, found.end()


# Patterns look behind from their second character on: those that begin with a character are found several times faster.
_CARD_RUN = re.compile(r"\d(?<!\d\d)(?:[\s.-]{0,8}\d){11,}")
_GROUP = re.compile(r"\d+")
_TIGHT = frozenset((*" .-", *(one + other for one in " .-" for other in " .-")))
_SPACES = f"{string.whitespace}-"
_MOST_DIGITS = 19
_PRINTED = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3))
"""The digits of each group of a number, as cards have them."""


def cards(text: str) -> Iterator[Span]:
    """Card numbers that begin and end with groups of digits, whatever digits stand beside them.

    Groups with tabs or line breaks between them may be cells of a table. They are a number only if they are printed so
    on cards, and if no group of four digits stands beside them that is not of such a number, too.
    """
    for run in _CARD_RUN.finditer(text):
        groups = _CardGroups(
            text, [(run.start() + one.start(), run.start() + one.end()) for one in _GROUP.finditer(run[0])]
        )
        first = 0
        while first < len(groups.spans):
            last = groups.card(first)
            if last:
                yield groups.spans[first][0], groups.spans[last - 1][1]
                first = last - 1
            first += 1


class _CardGroups:
    """Groups of digits that follow each other.

    Args:
        text: The text.
        spans: Where in it the groups are.
    """

    def __init__(self, text: str, spans: list[Span]) -> None:
        self.spans = spans
        self._text = text
        self._sizes = [end - start for start, end in spans]
        self._between = [text[one[1] : other[0]] for one, other in pairwise(spans)]
        self._tight_after = [one in _TIGHT for one in self._between]

    def card(self, first: int) -> int:
        """Behind which group the longest card number ends that begins with this one; 0 if there is none."""
        if self._text[self.spans[first][0]] not in checks.CARD_BEGINNINGS:
            return 0
        return self._tight(first) or self._wide(first)

    def _tight(self, first: int) -> int:
        """One with nothing but a space, a dash or a dot or two between its groups."""
        digits, ends = "", list[tuple[int, str]]()
        for at in range(first, len(self.spans)):
            if at > first and not self._tight_after[at - 1]:
                break
            digits += self._text[slice(*self.spans[at])]
            if len(digits) > _MOST_DIGITS:
                break
            ends.append((at + 1, digits))
        return next((end for end, digits in reversed(ends) if len(digits) >= 12 and checks.card(digits)), 0)

    def _wide(self, first: int) -> int:
        """One with spaces and line breaks between its groups."""
        end = self._printed(first)
        if not end or {*self._sizes[first:end]} - {3, 4}:  # the other shapes are of cards alone
            return end
        before = first == 0 or self._sizes[first - 1] != 4 or any(self._printed(first - n) == first for n in (4, 5))
        after = end == len(self.spans) or self._sizes[end] != 4 or self._printed(end)
        return end if before and after else 0

    def _printed(self, first: int) -> int:
        for shape in _PRINTED:
            end = first + len(shape)
            if first >= 0 and tuple(self._sizes[first:end]) == shape:
                spaces = not "".join(self._between[first : end - 1]).strip(_SPACES)
                if spaces and checks.card("".join(self._text[start:stop] for start, stop in self.spans[first:end])):
                    return end
        return 0


_IBAN_START = re.compile(r"[A-Za-z][A-Za-z](?<![A-Za-z0-9]..)[ -]?\d[ -]?\d")
_IBAN_NEXT = re.compile(r"(?:[\s-]{0,2}[A-Za-z0-9]){8,29}")
_BREAK = re.compile(r"[^\S ]")


def ibans(text: str) -> Iterator[Span]:
    """IBANs, each as long as its country's are; over tabs and line breaks if it is written in groups of four."""
    for found in _IBAN_START.finditer(text):
        said = _SEPARATORS.sub("", found[0]).upper()
        length = checks.IBAN_LENGTHS.get(said[:2])
        rest = _IBAN_NEXT.match(text, found.end()) if length else None
        if length is None or rest is None:
            continue
        end = found.end()
        while end < rest.end() and len(said) < length:
            if text[end].isalnum():
                said += text[end].upper()
            end += 1
        if not checks.iban(said) or text[end : end + 1].isalnum():
            continue
        written = text[found.start() : end]
        if _BREAK.search(written) is None or all(len(group) == 4 for group in written.split()[:-1]):
            yield found.start(), end


_PLUS = re.compile(r"\+(?<![\w+].)[1-9]\d{0,2}(?:[ .()/-]{0,3}\d){6,14}(?![\w-])")
_DOUBLE_ZERO = re.compile(r"00(?<![\w+]..)(?<!\d[ -]..)[1-9]\d{0,2}(?=\d*[ .()/-])(?:[ .()/-]{0,3}\d){6,14}(?![\w-])")
_AMERICAN = re.compile(
    r"[(\d](?<![\w.$€£-].)(?:(?<=1)[ .-]?[(\d])?(?:(?<=\()[2-9]\d{2}\)[ .-]?|(?<=[2-9])\d{2}[ .-])"
    r"[2-9]\d{2}[ .-]\d{4}(?![\w-]|\.\d)"
)


def phones(text: str) -> Iterator[Span]:
    for pattern in (_PLUS, _DOUBLE_ZERO, _AMERICAN):
        at = 0
        while (found := pattern.search(text, at)) is not None:
            if sum(char.isdigit() for char in found[0]) >= 8:
                yield found.span()
                at = found.end()
            else:
                at = found.start() + 1


_SSN = re.compile(r"\d(?<![\w-].)\d{2}(?:-(?!00)\d{2}-| (?!00)\d{2} |\.(?!00)\d{2}\.)(?!0000)\d{4}(?![\w-])")


def social_security_numbers(text: str) -> Iterator[Span]:
    """Those of the United States, in areas that exist."""
    return (found.span() for found in _SSN.finditer(text) if found[0][:3] not in ("000", "666") and found[0][0] != "9")


_PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(
    r"(?:(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}|[A-Za-z-]{3,20}: [^\n]{1,100}))*(?:\s*[A-Za-z0-9+/=]+)?"
)
PEM_LIMIT = 16_384
"""The most characters of a private key between its first and last line."""


def private_keys(text: str) -> Iterator[Span]:
    """Keys from their first line to their last; of one without a last line, the lines that look like it."""
    at = 0
    while (begin := _PEM.search(text, at)) is not None:
        end = _PEM_END.search(text, begin.end(), begin.end() + PEM_LIMIT)
        body = end or _PEM_BODY.match(text, begin.end(), begin.end() + PEM_LIMIT)
        at = body.end() if body is not None else begin.end()
        yield begin.start(), at


def open_key(text: str) -> int:
    """Where a private key begins whose last line may still come; -1 if there is none."""
    ended = 0
    for end in _PEM_END.finditer(text):
        ended = end.end()
    at = text.find("-----BEGIN ", ended)
    return at if at >= 0 and len(text) - at <= PEM_LIMIT + 200 else -1


_V4 = re.compile(r"\d(?<![\w.].)\d{0,2}(?:\.\d{1,3}){3}(?!\w|\.\d)")
_V6_HINT = re.compile(r":[0-9A-Fa-f]{0,4}:")
_V6 = re.compile(r"[0-9A-Fa-f:](?<![\w:.].)[0-9A-Fa-f:]{1,38}:(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4})(?![\w:])")


def ip_addresses(text: str) -> Iterator[Span]:
    patterns = (_V4,) if _V6_HINT.search(text) is None else (_V4, _V6)
    for pattern in patterns:
        for found in pattern.finditer(text):
            if checks.ip_address(found[0]):
                yield found.span()


_MRZ = re.compile(r"(?<![A-Z0-9<])[A-Z0-9<]{9}\d[A-Z<]{3}\d{7}[MFX<]\d{7}[A-Z0-9<]{14}[\d<]\d(?![A-Z0-9<])")


def passports(text: str) -> Iterator[Span]:
    return (found.span() for found in _MRZ.finditer(text) if checks.machine_readable_passport(found[0]))


def all_of(*finders: Finder) -> Finder:
    def find(text: str) -> Iterator[Span]:
        for finder in finders:
            yield from finder(text)

    return find


def secret(pattern: str) -> Finder:
    """A secret with a fixed beginning, to its last character."""
    return matches(rf"(?<![A-Za-z0-9])(?:{pattern})")


def number(pattern: str, is_one: Callable[[str], bool] | None = None) -> Finder:
    """A number or code that stands by itself."""
    return matches(rf"(?<![\w-])(?:{pattern})(?![\w-])", is_one, re.IGNORECASE)
