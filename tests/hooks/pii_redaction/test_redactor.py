"""What is found in a text and what is not, in which encodings, and that everything around it stays as it is."""

import json
import random
import re
import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.hooks.pii_redaction import Finding, Redactor
from spanhook.hooks.pii_redaction._entities import DEFAULTS, ENTITIES
from tests.hooks.pii_redaction.planted import ENCODINGS, IDENTITY_NUMBERS, VALUES
from tests.thinning import a_fifth

redactor = Redactor([ENTITIES[name] for name in DEFAULTS])
everything = Redactor(list(ENTITIES.values()))

WORDS = ("the", "invoice", "of", "May", "is", "due.", "Über", "日本語", "x=1;", "{", "}", "😀", "(see", "below)")
around = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
values = st.sampled_from(sorted(VALUES.items()))
encodings = st.sampled_from(sorted(ENCODINGS))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("entity", VALUES)
def test_one_of_each_in_every_encoding(entity: str, encoding: str) -> None:
    value = ENCODINGS[encoding](VALUES[entity])

    redacted, counts = redactor.redact(f"say {value} now")

    if encoding == "JSON in JSON":
        assert redacted == f'say {{\\"text\\": \\"[{entity}]\\"}} now'
    else:
        assert redacted == f"say [{entity}] now"
    assert counts == {entity: 1}


@pytest.mark.parametrize("entity", IDENTITY_NUMBERS)
def test_numbers_of_countries_if_they_are_named(entity: str) -> None:
    value = IDENTITY_NUMBERS[entity]
    wrong = value[:-1] + ("1" if value[-1] == "0" else "0")

    assert Redactor([ENTITIES[entity]]).redact(f"id: {value}.")[0] == f"id: [{entity}]."
    if entity not in ("US_ITIN", "UK_NINO"):  # these have no check digit
        assert Redactor([ENTITIES[entity]]).redact(f"id: {wrong}.")[0] == f"id: {wrong}."
    assert value not in everything.redact(value)[0]
    assert value not in everything.redact(f"\u200b{value}")[0]


@given(around, values, encodings, around, values, encodings, around)
def test_what_is_around_stays(
    first: str, one: tuple[str, str], one_as: str, middle: str, other: tuple[str, str], other_as: str, last: str
) -> None:
    texts = [ENCODINGS[how](value) for how, (_, value) in ((one_as, one), (other_as, other))]
    said = f"{first} {texts[0]} | {middle} | {texts[1]} {last}"

    redacted, _ = redactor.redact(said)

    pattern = f"{re.escape(first)} (.*) \\| {re.escape(middle)} \\| (.*) {re.escape(last)}"
    found = re.fullmatch(pattern, redacted, re.DOTALL)
    assert found is not None, redacted
    for (entity, _), mask in zip((one, other), found.groups(), strict=True):
        assert mask in (f"[{entity}]", f'{{\\"text\\": \\"[{entity}]\\"}}')


@given(st.text())
def test_any_text_can_be_redacted_and_once_is_enough(text: str) -> None:
    once, _ = everything.redact(text)
    assert redactor.redact(redactor.redact(text)[0])[1] == {}
    assert isinstance(once, str)


@given(st.text(alphabet="\\u0%4&#;xn \"'{}", max_size=60))
def test_odd_escapes_do_no_harm(text: str) -> None:
    assert redactor.redact(text) == (text, Counter())


planted = values.map(lambda one: one[1])
lists = st.lists(planted | st.just(4111111111111111), max_size=3)
structures = st.dictionaries(st.sampled_from("abc"), planted | lists, max_size=3) | lists


@given(structures)
def test_json_stays_json(value: object) -> None:
    for depth in range(3):
        text: object = value
        for _ in range(depth + 1):
            text = json.dumps(text)
        redacted, _ = redactor.redact(str(text))
        for _ in range(depth + 1):
            redacted = json.loads(redacted)
        assert not any(secret in json.dumps(redacted) for secret in (*VALUES.values(), "4111111111111111"))
    inside = json.dumps({"arguments": json.dumps(value), "card": 4111111111111111})
    read = json.loads(redactor.redact(inside)[0])
    assert read["card"] == "[CREDIT_CARD]"
    assert isinstance(json.loads(read["arguments"]), type(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4111 1111 1111 1111 2024", "[CREDIT_CARD] 2024"),
        ("12 4111 1111 1111 1111", "12 [CREDIT_CARD]"),
        ("4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", "[CREDIT_CARD]"),
        ("4111.1111.1111.1111, 5500 0000 0000 0004", "[CREDIT_CARD], [CREDIT_CARD]"),
        ("4111\t1111\t1111\t1111", "[CREDIT_CARD]"),
        ("4111 1111\r\n  1111 1111 2024", "4111 1111\r\n  1111 1111 2024"),  # it may be a table
        ("4111 1111\r\n  1111 1111\n12/26", "[CREDIT_CARD]\n12/26"),
        ("4111\n1111\n1111\n1111\n5500\n0000\n0000\n0004", "[CREDIT_CARD]\n[CREDIT_CARD]"),
        ("4111-1111-\n1111-1111", "[CREDIT_CARD]"),
        ("3782\n822463\n10005\n1000", "[CREDIT_CARD]\n1000"),
        ("41111111\n11111111", "41111111\n11111111"),
        ("4111111111111111\n5500000000000004\n", "[CREDIT_CARD]\n[CREDIT_CARD]\n"),
        ("DE89\n3704\n0044\n0532\n0130\n00", "[IBAN]"),
        ("DE\t89370400440532013000", "DE\t89370400440532013000"),
        ("+49 30\t12345 678", "+49 30\t12345 678"),
        ("378282246310005 and 4111111111111112", "[CREDIT_CARD] and 4111111111111112"),
        ("de89370400440532013000", "[IBAN]"),
        ("DE88 3704 0044 0532 0130 00", "DE88 3704 0044 0532 0130 00"),
        ("DE89 3704 0044 0532 0130 00 DE 5", "[IBAN] DE 5"),
        ("GB82WEST12345698765432X", "GB82WEST12345698765432X"),
        ("000-12-3456 666-12-3456 900-12-3456", "000-12-3456 666-12-3456 900-12-3456"),
        ("10.0.0.256 1.2.3.4.5 10.0.0.1", "10.0.0.256 1.2.3.4.5 [IP_ADDRESS]"),
        ("2001:db8::8a2e:370:7334 std::vector a::b 12:30:45", "[IP_ADDRESS] std::vector a::b 12:30:45"),
        ("(415) 555-2671, 1-800-555-0199, 0049 30 1234567", "[PHONE], [PHONE], [PHONE]"),
        ("'bob@example.com', <ann@example.org>.", "'[EMAIL]', <[EMAIL]>."),
        ("björn@bücher.example", "[EMAIL]"),
        ("a" * 100 + "@example.com", "a" * 36 + "[EMAIL]"),
        ("@decorator x @ y a@b user@localhost", "@decorator x @ y a@b user@localhost"),
        ("postgres://app:s3cret@db/x", "postgres://[URL_CREDENTIALS]@db/x"),
        ("https://example.org/a:b@c", "https://example.org/a:b@c"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [AUTHORIZATION]"),
        ('"authorization":"Basic dXNlcjpwYXNz"', '"authorization":"Basic [AUTHORIZATION]"'),
        ("aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [AWS_KEY]"),
        ("sk-learn sk-this-is-not-a-key-at-all", "sk-learn sk-this-is-not-a-key-at-all"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n", "[PRIVATE_KEY]\n"),
        ("C:\\new\\bob@example.com", "C:\\new\\b[EMAIL]"),  # as in JSON, where it is a backspace
        ('{"a": "x\\nbob@example.com\\ty"}', '{"a": "x\\n[EMAIL]\\ty"}'),
    ],
)
def test_where_values_begin_and_end(text: str, expected: str) -> None:
    assert redactor.redact(text)[0] == expected


def test_values_that_overlap_are_one() -> None:
    text = "https://bob:pw@example.com/"

    assert redactor.find(text) == [Finding(8, 26, "EMAIL")]
    assert redactor.redact(text)[0] == "https://[EMAIL]/"


def test_values_and_domains_that_are_let_through() -> None:
    some = Redactor(redactor.entities, allow=["example.com", "@Example.org", "4111-1111-1111-1111", "10.0.0.1"])

    assert some.redact("a@example.com b@mail.EXAMPLE.com c@example.org")[1] == {}
    assert some.redact("a@notexample.com b@example.com.evil.net")[1] == {"EMAIL": 2}
    assert some.redact("4111 1111 1111 1111 or 10.0.0.1")[1] == {}
    assert some.redact("5500 0000 0000 0004")[1] == {"CREDIT_CARD": 1}


def test_the_last_characters_may_stay() -> None:
    some = Redactor(redactor.entities, keep_last=4)

    assert some.redact("4111 1111 1111 1111, a@example.com")[0] == "[CREDIT_CARD 1111], [EMAIL]"


def test_values_across_texts_that_are_read_as_one() -> None:
    texts, counts = redactor.redact_together(["my card is 4111 11", "11 1111 ", "1111 ok", " a@example.com"])

    assert texts == ["my card is [CREDIT_CARD]", "", " ok", " a@example.com"]
    assert counts == {"CREDIT_CARD": 1}


@pytest.mark.parametrize("between", ["\n", "\t", "\r\n  "])
@pytest.mark.parametrize("digits", [1, 2, 3, 4, 5, 6, 8])
def test_numbers_of_a_table_are_no_card(digits: int, between: str) -> None:
    numbers = random.Random(digits)
    for _ in range(40):
        rows = [str(numbers.randrange(10 ** (digits - 1), 10**digits)) for _ in range(50)]
        assert Redactor([ENTITIES["CREDIT_CARD"], ENTITIES["IBAN"]]).redact(between.join(rows))[1] == {}


def steps(text: str) -> int:
    """How many lines of this hook run for a text."""
    count = 0

    def line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, _event: str, _argument: object) -> Any:
        return line if "pii_redaction" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        everything.redact(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("text", ["4-", "4111\n", "4111111111111111,", '\\"', "DE89\n3704\n", "\u0301", "a@b.co "])
@pytest.mark.parametrize("begin", ["", '["'])
def test_twice_the_text_takes_twice_the_steps(text: str, begin: str) -> None:
    once, twice = (steps(begin + text * many) for many in (200, 400))
    assert twice < 2.2 * once + 100


_LONG = (
    "a" * 50,
    "1 " * 25,
    "-" * 50,
    "@" * 50,
    "a." * 25,
    "\\" * 50,
    "%41" * 15,
    ":a" * 25,
    "eyJ" * 15,
    "sk-" * 15,
    "eyJ-" * 12,
)
_LONGER = (
    "4-" * 25,
    "4111\n" * 10,
    "1 \t" * 20,
    "\u0301" * 50,
    "\x00" * 50,
    '[\\"' * 15,
    "[4111111111111111," * 3,
    "a@" * 25,
    "+1 " * 15,
    "-----BEGIN PRIVATE KEY-----",
    "://" * 15,
    "DE12" * 12,
    "&#64;" * 10,
    "00 1" * 10,
)


@pytest.mark.parametrize("text", a_fifth(one * 1000 for one in (*_LONG, *_LONGER)), ids=(*_LONG, *_LONGER))
def test_no_text_is_slow_by_design(text: str) -> None:
    assert everything.redact(text)[0]  # quadratic time would take minutes
