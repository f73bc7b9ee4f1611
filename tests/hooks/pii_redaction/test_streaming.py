"""A stream of text: however it is split, what is released is what redacting the whole gives."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanhook.hooks.pii_redaction import Redactor, StreamRedactor
from spanhook.hooks.pii_redaction._entities import DEFAULTS, ENTITIES
from spanhook.hooks.pii_redaction._own_patterns import own_entity
from tests.hooks.pii_redaction.planted import ENCODINGS, VALUES
from tests.hooks.pii_redaction.test_redactor import WORDS

redactor = Redactor([own_entity("TICKET", r"ticket no \d+"), *(ENTITIES[name] for name in DEFAULTS)])

encoded = st.builds(
    lambda value, how: ENCODINGS[how](value),
    st.sampled_from(sorted(VALUES.values())),
    st.sampled_from(sorted(ENCODINGS)),
)
odd = st.sampled_from(["lorem ipsum dolor " * 30, "12 34 5", "-----BEGIN ", "@", "ticket no 12", "\n", "\\u00"])
pieces = st.lists(st.one_of(st.sampled_from(WORDS), encoded, odd), max_size=12)
texts = st.builds(lambda parts, between: between.join(parts), pieces, st.sampled_from([" ", "", "\n", ", "]))


def streamed(text: str, cuts: list[int]) -> tuple[str, StreamRedactor]:
    stream = StreamRedactor(redactor)
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    released = "".join(stream.feed(text[a:b]) for a, b in pairwise(edges))
    return released + stream.end(), stream


@pytest.mark.slow
@settings(max_examples=400)
@given(texts, st.lists(st.integers(0, 10_000), max_size=12))
def test_any_split_gives_the_same(text: str, cuts: list[int]) -> None:
    expected, counts = redactor.redact(text)

    released, stream = streamed(text, cuts)

    assert released == expected
    assert stream.findings == counts


MARKS = (
    '"',
    '\\"',
    '\\\\\\"',
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    " ",
    "\n",
    "\\n",
    "\\\\",
    "true",
    "4111111111111111",
    "note",
    '"a": ',
)
odd_json = st.lists(st.sampled_from(MARKS), max_size=30).map("".join)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.sampled_from(["", '"', "[", "{", '{"a": "[', '["']), odd_json, st.lists(st.integers(0, 10_000), max_size=12))
def test_quotes_are_those_of_the_whole(begin: str, rest: str, cuts: list[int]) -> None:
    text = begin + rest
    assert streamed(text, cuts)[0] == redactor.redact(text)[0]
    long = f"{begin}{' ' * 400}{rest}{' ' * 400}{rest}"
    assert streamed(long, cuts)[0] == redactor.redact(long)[0]


GROUPS = (
    "4111",
    "1111",
    "1111",
    "1111",
    "378282246310005",
    "3782",
    "822463",
    "10005",
    "12",
    "2024",
    "DE89",
    "3704",
    "00",
)
columns = st.lists(st.sampled_from(GROUPS), max_size=24)


@pytest.mark.slow
@settings(max_examples=400)
@given(columns, st.sampled_from(["\t", "\n", " ", "\r\n  ", "\n\t"]), st.lists(st.integers(0, 10_000), max_size=12))
def test_columns_give_the_same(groups: list[str], between: str, cuts: list[int]) -> None:
    text = between.join(groups)
    assert streamed(text, cuts)[0] == redactor.redact(text)[0]
    cards = Redactor([ENTITIES["CREDIT_CARD"]])
    stream = StreamRedactor(cards)
    assert "".join(map(stream.feed, text)) + stream.end() == cards.redact(text)[0]


DOCUMENTS = [
    {"card": 4111111111111111, "cards": [4111111111111111, 1, 5555555555554444], "note": "4111111111111111, or so"},
    [{"deep": {"er": [[4111111111111111]]}}, 4111111111111111],
    {"said": json.dumps({"card": 4111111111111111, "all": [4111111111111111]})},
]


@given(st.sampled_from(DOCUMENTS), st.lists(st.integers(0, 10_000), max_size=12), st.sampled_from([None, 2]))
def test_json_stays_json(document: Any, cuts: list[int], indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    released, _ = streamed(text, cuts)
    assert released == redactor.redact(text)[0]
    assert "4111" not in released
    said = json.loads(released)
    if "said" in said:
        assert json.loads(said["said"]) == {"card": "[CREDIT_CARD]", "all": ["[CREDIT_CARD]"]}


@pytest.mark.parametrize("value", VALUES.values())
def test_one_character_at_a_time(value: str) -> None:
    text = f"{'lorem ipsum ' * 60}{value} {'dolor sit ' * 60}{value}"
    assert streamed(text, list(range(len(text))))[0] == redactor.redact(text)[0]


def test_ordinary_text_is_released_as_it_comes() -> None:
    stream = StreamRedactor(Redactor([ENTITIES[name] for name in DEFAULTS]))
    released = 0
    for _ in range(100):
        released += len(stream.feed("some words of an answer "))
    assert released > 100 * 24 - 150


def test_without_spaces_something_is_released_in_the_end() -> None:
    stream = StreamRedactor(redactor)
    released = [stream.feed("a" * 1000) for _ in range(60)]
    assert any(released)
    assert "".join(released) + stream.end() == "a" * 60_000


def test_nothing_is_left_behind_in_memory() -> None:
    stream = StreamRedactor(redactor)
    for _ in range(1000):
        stream.feed("some words of an answer ")
    assert len(stream._text) < 2000
