from datetime import UTC, datetime, timedelta, timezone

import pytest

from spanhook.server.pages.formats import LONGEST, count, cut, duration, iso, money, pretty, when


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (9999, "9,999"), (12_345, "12.3k"), (200_000, "200k"), (3.45e6, "3.5M"), (2e9, "2B")],
)
def test_counts(value: float, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "\u2013"), (0, "$0"), (1e-9, "<$0.00001"), (0.000209, "$0.00021"), (0.0004, "$0.0004"), (0.05, "$0.050"),
     (1234.5, "$1,234.50")],
)  # fmt: skip
def test_money(value: float | None, text: str) -> None:
    assert money(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1, "0 \u00b5s"),
        (0.00064, "640 \u00b5s"),
        (0.34, "340 ms"),
        (4.04, "4.0 s"),
        (125, "2 min 5 s"),
        (7260, "2 h 1 min"),
    ],
)
def test_durations(value: float, text: str) -> None:
    assert duration(value) == text


def test_times_are_in_utc() -> None:
    time = datetime(2023, 5, 1, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    assert (when(time), iso(time)) == ("30 Apr 2023, 23:02:03", "2023-04-30T23:02:03Z")
    assert str(datetime.now(UTC).year) not in when(datetime.now(UTC))


def test_data_is_indented_and_text_stays() -> None:
    assert pretty({"a": [1]}) == pretty('{"a": [1]}') == '{\n  "a": [\n    1\n  ]\n}'
    assert (pretty("plain <b>"), pretty('"text"'), pretty("[" * 100_000)) == ("plain <b>", "text", "[" * 100_000)


def test_long_texts_are_cut() -> None:
    assert cut("a" * LONGEST) == "a" * LONGEST
    assert cut("a" * (LONGEST + 1)) == "a" * LONGEST + "\u2026"
