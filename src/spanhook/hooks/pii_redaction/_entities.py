"""What can be redacted by name: where each sort of value may stand in a text, and how to tell that it is one.

Every pattern starts at a fixed or rare character and has no repeat within a repeat without a bound, so that no text
makes it slow. Knows nothing of hooks.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spanhook.hooks.pii_redaction import _checksums as checks

Span = tuple[int, int]
Finder = Callable[[str], Iterator[Span]]


@dataclass(frozen=True, slots=True)
class Entity:
    """One sort of value.

    Attributes:
        name: What the mask says.
        find: Gives the spans of such values in a text.
        needs: A text without any of these strings has none; empty if any text may have some.
        digits: The fewest digits that a text with one has.
        longest: The most characters that one with spaces in it has; 0 if it has no spaces.
    """

    name: str
    find: Finder
    needs: tuple[str, ...] = ()
    digits: int = 0
    longest: int = 0


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


def _emails(text: str) -> Iterator[Span]:
    """Addresses, found from their ``@`` to both sides."""
    for found in _DOMAIN.finditer(text):
        before = _LOCAL.search(text, max(0, found.start() - 64), found.start())
        if before is None:
            continue
        local = before[0]
        start = found.start() - len(local.lstrip(_TRIMMED))
        if start < found.start():
            yield start, found.end()


_CARD_RUN = re.compile(r"(?<!\d)\d(?:[ .-]{0,2}\d){11,}")
_GROUP = re.compile(r"\d+")


def _cards(text: str) -> Iterator[Span]:
    """Card numbers that begin and end with groups of digits, whatever digits stand beside them."""
    for run in _CARD_RUN.finditer(text):
        groups = [(run.start() + one.start(), run.start() + one.end()) for one in _GROUP.finditer(run[0])]
        first = 0
        while first < len(groups):
            for last in range(min(first + 19, len(groups)), first, -1):
                digits = "".join(text[start:end] for start, end in groups[first:last])
                if 12 <= len(digits) <= 19 and checks.card(digits):
                    yield groups[first][0], groups[last - 1][1]
                    first = last - 1
                    break
            first += 1


_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[ -]?\d[ -]?\d")
_IBAN_NEXT = re.compile(r"(?:[ -]{0,2}[A-Za-z0-9]){8,29}")


def _ibans(text: str) -> Iterator[Span]:
    """IBANs, each as long as its country's are."""
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
        if checks.iban(said) and not text[end : end + 1].isalnum():
            yield found.start(), end


_PHONE = re.compile(
    r"(?<![\w+])(?:\+|(?<!\d[ -])00)[1-9]\d{0,2}(?:[ .()/-]{0,3}\d){6,14}(?![\w-])"
    r"|(?<![\w.$€£-])(?:1[ .-]?)?(?:\([2-9]\d{2}\)[ .-]?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}(?![\w-]|\.\d)"
)


def _phones(text: str) -> Iterator[Span]:
    at = 0
    while (found := _PHONE.search(text, at)) is not None:
        said = found[0]
        if sum(char.isdigit() for char in said) >= 8 and (said[:2] != "00" or not said.isdigit()):
            yield found.span()
            at = found.end()
        else:
            at = found.start() + 1


_PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(
    r"(?:(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}|[A-Za-z-]{3,20}: [^\n]{1,100}))*(?:\s*[A-Za-z0-9+/=]+)?"
)
PEM_LIMIT = 16_384
"""The most characters of a private key between its first and last line."""


def _private_keys(text: str) -> Iterator[Span]:
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


_ADDRESS = re.compile(
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"
    r"|(?<![\w:.])[0-9A-Fa-f:]{2,39}:(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4})(?![\w:])"
)


def _ip_addresses(text: str) -> Iterator[Span]:
    return (found.span() for found in _ADDRESS.finditer(text) if checks.ip_address(found[0]))


_MRZ = re.compile(r"(?<![A-Z0-9<])[A-Z0-9<]{9}\d[A-Z<]{3}\d{7}[MFX<]\d{7}[A-Z0-9<]{14}[\d<]\d(?![A-Z0-9<])")


def _passports(text: str) -> Iterator[Span]:
    return (found.span() for found in _MRZ.finditer(text) if checks.machine_readable_passport(found[0]))


def _all(*finders: Finder) -> Finder:
    def find(text: str) -> Iterator[Span]:
        for finder in finders:
            yield from finder(text)

    return find


def _secret(pattern: str) -> Finder:
    """A secret with a fixed beginning, to its last character."""
    return matches(rf"(?<![A-Za-z0-9])(?:{pattern})")


def _number(pattern: str, is_one: Callable[[str], bool] | None = None) -> Finder:
    """A number or code that stands by itself."""
    return matches(rf"(?<![\w-])(?:{pattern})(?![\w-])", is_one, re.IGNORECASE)


_W = r"[A-Za-z0-9_-]"

PERSONAL = (
    Entity("EMAIL", _emails, ("@",)),
    Entity("PHONE", _phones, digits=8, longest=75),
    Entity("CREDIT_CARD", _cards, digits=12, longest=60),
    Entity("IBAN", _ibans, digits=4, longest=110),
    Entity(
        "US_SSN",
        _number(r"(?!000|666|9\d\d)\d{3}(?:-(?!00)\d{2}-| (?!00)\d{2} |\.(?!00)\d{2}\.)(?!0000)\d{4}"),
        digits=9,
        longest=11,
    ),
    Entity("IP_ADDRESS", _ip_addresses, (".", ":"), digits=1),
)
"""Personal data that is redacted unless settings say otherwise."""

SECRETS = (
    Entity(
        "AWS_KEY",
        _all(
            _secret(r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
            matches(
                r"(?i:aws_?(?:secret)?_?(?:access)?_?key)[\"']?[ :=]{1,4}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
            ),
        ),
        ("AKIA", "ASIA", "ABIA", "ACCA", "AGPA", "AIDA", "AIPA", "ANPA", "ANVA", "AROA", "aws", "AWS"),
    ),
    Entity(
        "GCP_KEY",
        _secret(rf"AIza{_W}{{35}}|ya29\.[A-Za-z0-9_.-]{{20,}}|GOCSPX-{_W}{{28}}"),
        ("AIza", "ya29.", "GOCSPX-"),
    ),
    Entity("ANTHROPIC_KEY", _secret(rf"sk-ant-{_W}{{20,}}"), ("sk-ant-",)),
    Entity("OPENAI_KEY", _secret(rf"sk-(?!ant-)(?:proj-|svcacct-|admin-)?(?=[A-Za-z_-]*\d){_W}{{20,}}"), ("sk-",)),
    Entity(
        "GITHUB_TOKEN",
        _secret(r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}"),
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    Entity(
        "SLACK_TOKEN",
        _all(
            _secret(r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
            matches(r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})"),
        ),
        ("xox", "xapp-", "hooks.slack.com"),
    ),
    Entity(
        "STRIPE_KEY",
        _secret(r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}"),
        ("_live_", "_test_", "whsec_"),
    ),
    Entity(
        "API_KEY",
        _secret(
            rf"glpat-{_W}{{20,}}|SG\.{_W}{{22}}\.{_W}{{43}}|npm_[A-Za-z0-9]{{36}}|pypi-{_W}{{50,}}|hf_[A-Za-z0-9]{{30,}}"
            rf"|dop_v1_[0-9a-f]{{64}}|gsk_[A-Za-z0-9]{{40,}}|xai-[A-Za-z0-9]{{40,}}|AccountKey=[A-Za-z0-9+/]{{86}}=="
        ),
        ("glpat-", "SG.", "npm_", "pypi-", "hf_", "dop_v1_", "gsk_", "xai-", "AccountKey="),
    ),
    Entity("JWT", _secret(rf"eyJ{_W}{{8,}}\.eyJ{_W}{{8,}}\.{_W}*"), ("eyJ",)),
    Entity("PRIVATE_KEY", _private_keys, ("-----BEGIN ",)),
    Entity(
        "URL_CREDENTIALS",
        matches(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://([^\s/?#@:\"'<>]{0,256}:[^\s/?#\"'<>]{1,256})@(?=[\w\[])"),
        ("://",),
    ),
    Entity(
        "AUTHORIZATION",
        matches(
            r"(?i:authorization)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?i:bearer|basic|token)\s{1,2}([A-Za-z0-9._~+/=-]{8,})"
        ),
        ("uthorization", "UTHORIZATION"),
        longest=60,
    ),
)
"""Secrets with a fixed shape; redacted unless settings say otherwise."""

IDENTITY_NUMBERS = (
    Entity("US_ITIN", _number(r"9\d{2}[ -](?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])[ -]\d{4}"), digits=9, longest=11),
    Entity("UK_NHS", _number(r"\d{3}[ -]?\d{3}[ -]?\d{4}", checks.nhs), digits=10, longest=12),
    Entity(
        "UK_NINO",
        _number(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),
        digits=6,
        longest=13,
    ),
    Entity("DE_TAX_ID", _number(r"\d{2} ?\d{3} ?\d{3} ?\d{3}", checks.german_tax_id), digits=11, longest=14),
    Entity(
        "ES_TAX_ID", _number(r"(?:\d|[XYZ][ -]?)\d{7}[ -]?[A-HJ-NP-TV-Z]", checks.spanish_tax_id), digits=7, longest=11
    ),
    Entity(
        "FR_SOCIAL_SECURITY",
        _number(r"[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}", checks.french_nir),
        digits=14,
        longest=21,
    ),
    Entity(
        "IT_FISCAL_CODE",
        _number(r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]", checks.italian_fiscal_code),
        digits=7,
    ),
    Entity("PL_PESEL", _number(r"\d{11}", checks.pesel), digits=11),
    Entity("BR_CPF", _number(r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", checks.cpf), digits=11),
    Entity("IN_AADHAAR", _number(r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}", checks.aadhaar), digits=12, longest=14),
    Entity(
        "PASSPORT_MRZ",
        _passports,
        ("<",),
        digits=14,
    ),
)
"""Numbers of persons in some countries; redacted only if settings name them, since many match other numbers too."""

ENTITIES = {entity.name: entity for entity in (*PERSONAL, *SECRETS, *IDENTITY_NUMBERS)}
DEFAULTS = tuple(entity.name for entity in (*PERSONAL, *SECRETS))
SHORTENED = frozenset(("CREDIT_CARD", "IBAN", "PHONE", "US_SSN"))
"""What may keep its last characters."""
