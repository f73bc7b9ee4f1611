"""The rules of ``injection_scan``: what each looks for, and its score.

Every pattern runs in time linear in the text: repetitions are bounded, and do not overlap with what follows them.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

from spanhook.hooks._folding import ODD, fold

_ZERO_WIDTH = "\u200b\u2060\ufeff\u00ad"
_TAGS = re.compile("[\U000e0020-\U000e007e]{1,4000}")
_FLAGS = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_HIDDEN_IN_WORD = re.compile(f"[A-Za-z][{_ZERO_WIDTH}\u200c\u200d][A-Za-z]")
_LOOK_ALIKES = str.maketrans("аеорсухіѕјԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοε", "aeopcyxisjdhqwABEZHIKMNOPTYXoe")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,20000}={0,2}(?![A-Za-z0-9+/_-])")
_COMMENT = re.compile(r"<!--((?:(?!<!--|-->).){1,2000})-->", re.DOTALL)
_MOST_BLOBS = 50

_WHAT = r"(?:instructions?|directions|directives?|prompts?|rules?|guidelines|commands?|context)"
_WHOSE = (
    r"(?:all|any|the|your|my|our|of|previous|prior|above|preceding|earlier|foregoing|existing|system|initial|original"
    r"|these|those)"
)
_OVERRIDE = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass|neglect|skip)\W{{1,3}}(?:{_WHOSE}\W{{1,3}}){{1,5}}{_WHAT}\b"
    rf"|\b(?:ignoriere|vergiss|missachte)\W{{1,3}}(?:\w{{1,15}}\W{{1,3}}){{0,3}}(?:anweisungen|regeln|vorgaben)\b"
    rf"|\b(?:ignora|olvida|descarta)\W{{1,3}}(?:\w{{1,15}}\W{{1,3}}){{0,3}}(?:instrucciones|reglas)\b"
    rf"|\b(?:ignore[zr]?|oublie[zr]?)\W{{1,3}}(?:\w{{1,15}}\W{{1,3}}){{0,3}}(?:consignes|directives)\b",
    re.IGNORECASE,
)
_PERSONA = re.compile(
    r"\byou\s{1,3}are\s{1,3}now\s{1,3}(?:in\s{1,3})?(?:a\s{1,3}|an\s{1,3}|the\s{1,3})?"
    r"(?:dan|developer\s{1,3}mode|jailbroken|unrestricted|different\s{1,3}(?:ai|assistant))\b"
    r"|\bnew\s{1,3}(?:system\s{1,3})?(?:instructions?|prompt)\s{0,3}:"
    r"|\bfrom\s{1,3}now\s{1,3}on,?\s{1,3}(?:you\s{1,3}(?:must|will|are)|obey|follow\s{1,3}only)\b",
    re.IGNORECASE,
)
_SECRECY = re.compile(
    r"\b(?:do\s{1,3}not|don't|never|without)\s{1,3}(?:tell|telling|inform|informing|notify|notifying|mention(?:ing)?|reveal(?:ing)?)"
    r"\W{1,3}(?:this\s{1,3}to\s{1,3}|it\s{1,3}to\s{1,3})?(?:the\s{1,3}|your\s{1,3})?user\b",
    re.IGNORECASE,
)
_LEAK = re.compile(
    r"\b(?:reveal|print|repeat|output|show|leak|send|disclose)\W{1,3}(?:me\W{1,3})?(?:the|your)\W{1,3}"
    r"(?:\w{1,12}\W{1,3})?(?:system\W{1,3}prompt|hidden\W{1,3}(?:prompt|instructions)|initial\W{1,3}prompt)\b",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id)\|>"
    r"|\[/?INST\]|<</?SYS>>|<start_of_turn>|<end_of_turn>",
)
_ROLE = re.compile(r"(?:^|\n)[ \t#*]{0,5}(?:system|assistant)[ *]{0,3}:[ \t*]{0,5}\S", re.IGNORECASE)
_TOOL_CALL = re.compile(
    r"</?(?:tool_call|function_calls?|invoke|antml:invoke)\b[^>]{0,200}>"
    r"|\"(?:tool_calls|function_call)\"\s{0,5}:\s{0,5}[\[{]",
)
_IMAGE = re.compile(
    r"!\[[^\]\n]{0,200}\]\(\s{0,3}https?://[^)\s?]{1,500}\?[^)\s]{0,500}?(?:=\{|=\$|=<|=\[|=%7B|data=|secret=|token=|history=|conversation=)"
)
_IMPERATIVE = re.compile(
    r"\b(?:ai|assistant|llm|language\s{1,3}model|agent|chatbot)s?\b.{0,80}\b(?:must|should|ignore|send|reply|respond|call|say)\b",
    re.IGNORECASE | re.DOTALL,
)


class Finding(NamedTuple):
    """What a rule has found.

    Attributes:
        rule: The rule's name.
        score: Its score, from 0 to 1.
    """

    rule: str
    score: float


SCORES = {
    "override": 0.8,
    "persona": 0.6,
    "secrecy": 0.5,
    "leak": 0.6,
    "chat_template": 0.6,
    "role_marker": 0.3,
    "tool_call": 0.4,
    "exfiltration_image": 0.8,
    "tag_characters": 0.9,
    "hidden_in_words": 0.4,
    "bidi_controls": 0.2,
    "comment": 0.6,
    "encoded": 0.9,
}
"""The rules, each with its score."""

_PHRASES = {
    "override": _OVERRIDE,
    "persona": _PERSONA,
    "secrecy": _SECRECY,
    "leak": _LEAK,
    "chat_template": _TEMPLATE,
    "role_marker": _ROLE,
    "tool_call": _TOOL_CALL,
    "exfiltration_image": _IMAGE,
}


def scan(text: str) -> list[Finding]:
    """What the rules find in a text, each at most once."""
    return [Finding(name, SCORES[name]) for name in dict.fromkeys(_names(text))]


def total(findings: list[Finding]) -> float:
    """The score of several findings together: the probability that not all are wrong, if they were independent."""
    wrong = 1.0
    for one in findings:
        wrong *= 1.0 - one.score
    return 1.0 - wrong


def plain(text: str) -> str:
    """The text as a reader takes it: folded, look-alikes as Latin letters."""
    if ODD.search(text) is None:
        return text
    return fold(text).translate(_LOOK_ALIKES)


def _names(text: str) -> Iterator[str]:
    if not text.isascii():
        yield from _hidden(text)
    read = plain(text)
    yield from _phrases(read)
    for comment in _COMMENT.finditer(read):
        if _IMPERATIVE.search(comment[1]) or _OVERRIDE.search(comment[1]):
            yield "comment"
    for _, blob in zip(range(_MOST_BLOBS), _BASE64.finditer(read), strict=False):
        if any(True for _ in _phrases(_decoded(blob[0]))):
            yield "encoded"


def _hidden(text: str) -> Iterator[str]:
    if _TAGS.search(_FLAGS.sub("", text)):  # flags of regions are written with them, too
        yield "tag_characters"
    if _HIDDEN_IN_WORD.search(text):
        yield "hidden_in_words"
    if _BIDI.search(text):
        yield "bidi_controls"


def _phrases(text: str) -> Iterator[str]:
    for name, pattern in _PHRASES.items():
        if pattern.search(text):
            yield name


def _decoded(blob: str) -> str:
    body = blob.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - 1] if len(body) % 4 == 1 else body
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4)).decode("utf-8", "ignore")
    except (ValueError, binascii.Error):
        return ""
