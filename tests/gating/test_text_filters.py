"""Filters made of functions of whole texts: whatever the pieces, what comes out is what they make of the whole."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook import HookError
from spanhook.gating import Windowed
from spanhook.gating.text_filters import MOST

CARD = re.compile(r"\b\d{4}-\d{4}\b")
WORDS = st.lists(
    st.sampled_from(["hello", "1234-5678", "12", "-", "x1234-5678", "1234-56789", "\n", "é", "5678-1234."])
)


def masked(text: str) -> str:
    return CARD.sub("[card]", text)


def fed(text: str, cuts: list[int], window: int = 12) -> list[str]:
    made = Windowed(masked, window)
    places = sorted({min(cut, len(text)) for cut in cuts})
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    return [*(made.feed(piece) for piece in pieces), made.end()]


@given(words=WORDS, cuts=st.lists(st.integers(0, 200)))
def test_however_a_text_is_split_the_same_comes_out(words: list[str], cuts: list[int]) -> None:
    text = " ".join(words)
    assert "".join(fed(text, cuts)) == masked(text)


def test_a_cut_makes_nothing_of_what_is_nothing() -> None:
    assert "".join(fed("x1234-5678 12", [])) == "x1234-5678 12"


@given(text=st.text("12-x ", max_size=80), cuts=st.lists(st.integers(0, 80)))
def test_nothing_that_the_function_finds_comes_out(text: str, cuts: list[int]) -> None:
    assert not CARD.search("".join(fed(text, cuts)))


def test_text_goes_out_as_soon_as_the_window_allows() -> None:
    text = "hello there, how are you today"
    assert fed(text, [6, 12, 18, 24]) == ["", "", "hello ", "there,", " how ", "are you today"]


def test_what_is_found_goes_out_rewritten_once_it_cannot_change() -> None:
    text = "my card is 1234-5678 and that is all of it"
    assert fed(text, [17, 20, 35]) == ["my ", "card ", "is [card] ", "and that ", "is all of it"]


def test_a_text_that_never_arrives_is_empty() -> None:
    made = Windowed(masked, 12)
    assert made.end() == ""


def test_what_the_function_raises_is_raised_and_nothing_goes_out() -> None:
    def refuse(text: str) -> str:
        if "bomb" in text:
            raise ValueError("no")
        return text

    made = Windowed(refuse, 4)
    assert made.feed("all is well bo") == "all is "
    with pytest.raises(ValueError, match="no"):
        made.feed("mb")


def test_text_that_can_nowhere_be_cut_is_not_kept_forever() -> None:
    made = Windowed(lambda text: text[::-1], 1)
    with pytest.raises(HookError, match="65536 characters are held back, and there is no place to cut them"):
        for _ in range(70):
            assert made.feed("ab" * 500) == ""
    assert MOST == 65_536
