"""Ticks of cron expressions, over changes of clocks too."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spanhook import ConfigurationError
from spanhook.schedules import Schedule

BERLIN = "Europe/Berlin"


def at(text: str) -> datetime:
    """A time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks(expression: str, zone: str, since: str, count: int) -> list[str]:
    return [f"{one:%m-%d %H:%M}" for one in islice(Schedule(expression, zone).after(at(since)), count)]


def test_ticks_are_times_in_utc() -> None:
    assert ticks("0 9 * * MON-FRI", "UTC", "2026-01-30 09:00", 2) == ["02-02 09:00", "02-03 09:00"]
    assert ticks("0 9 * * *", BERLIN, "2026-01-30 08:00", 1) == ["01-31 08:00"]
    assert ticks("0 9 * * *", "Asia/Kathmandu", "2026-01-30 00:00", 1) == ["01-30 03:15"]
    assert ticks("0 0 L * *", "UTC", "2026-01-30 09:00", 2) == ["01-31 00:00", "02-28 00:00"]
    assert ticks(" */20  * * * * ", "UTC", "2026-01-30 09:30:30", 2) == ["01-30 09:40", "01-30 10:00"]


def test_a_tick_in_skipped_time_comes_right_after_it_and_once() -> None:
    # In Berlin, 2026-03-29 has no 02:00 to 02:59; 03:00 there is 01:00 in UTC.
    assert ticks("30 2 * * *", BERLIN, "2026-03-28 12:00", 2) == ["03-29 01:00", "03-30 00:30"]
    assert ticks("0,30 2,3 * * *", BERLIN, "2026-03-28 12:00", 3) == ["03-29 01:00", "03-29 01:30", "03-30 00:00"]
    assert ticks("*/30 * * * *", BERLIN, "2026-03-29 00:15", 3) == ["03-29 00:30", "03-29 01:00", "03-29 01:30"]


def test_a_tick_in_repeated_time_comes_the_first_time_only() -> None:
    # In Berlin, 2026-10-25 has 02:00 to 02:59 twice: from 00:00 and from 01:00 in UTC.
    assert ticks("30 2 * * *", BERLIN, "2026-10-24 12:00", 2) == ["10-25 00:30", "10-26 01:30"]
    assert ticks("30 2 * * *", BERLIN, "2026-10-25 00:30", 1) == ["10-26 01:30"]
    assert ticks("30 2 * * *", BERLIN, "2026-10-25 01:10", 1) == ["10-26 01:30"]
    assert ticks("*/30 * * * *", BERLIN, "2026-10-25 00:15", 3) == ["10-25 00:30", "10-25 01:00", "10-25 01:30"]


@pytest.mark.parametrize(
    ("expression", "zone", "since", "comes"),
    [
        # 2026-03-08 has no 02:00 to 02:59 in New York; 2026-11-01 has 01:00 to 01:59 twice.
        ("30 2 * * *", "America/New_York", "2026-03-07 12:00", ["03-08 07:00", "03-09 06:30"]),
        ("30 1 * * *", "America/New_York", "2026-10-31 12:00", ["11-01 05:30", "11-02 06:30"]),
        # Clocks of Lord Howe Island are changed by half an hour: 2026-10-04 has no 02:00 to 02:29 there; 2026-04-05
        # has 01:30 to 01:59 twice.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", ["10-03 15:30", "10-04 15:15"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00", ["04-04 14:45", "04-05 15:15"]),
    ],
)
def test_other_zones_have_the_same_rules(expression: str, zone: str, since: str, comes: list[str]) -> None:
    assert ticks(expression, zone, since, 2) == comes


def test_the_last_tick_may_be_now() -> None:
    daily = Schedule("0 9 * * *")
    assert daily.last(at("2026-01-30 09:00")) == at("2026-01-30 09:00")
    assert daily.last(at("2026-01-30 08:59:59")) == at("2026-01-29 09:00")
    leap = Schedule("0 0 29 2 *")
    assert leap.last(at("2026-01-30 09:00")) == at("2024-02-29 00:00")


def test_due_ticks_are_those_since_the_last_one() -> None:
    hourly = Schedule("0 * * * *")
    assert hourly.due(at("2026-01-30 09:00"), at("2026-01-30 11:00")) == [
        at("2026-01-30 10:00"),
        at("2026-01-30 11:00"),
    ]
    assert hourly.due(at("2026-01-30 11:00"), at("2026-01-30 11:59")) == []
    assert hourly.due(at("2026-01-30 11:00"), at("2026-01-30 09:00")) == [], "the clock was set back"


def test_after_a_long_time_only_the_latest_are_due() -> None:
    found = Schedule("0 * * * *").due(at("2020-01-01 00:00"), at("2026-01-30 11:30"))
    assert found[-1] == at("2026-01-30 11:00")
    assert len(found) == 31 * 24
    assert Schedule("0 0 1 1 *").due(at("2020-01-01 00:00"), at("2026-01-30 11:30")) == [at("2026-01-01 00:00")]


@pytest.mark.parametrize(
    ("expression", "zone", "message"),
    [
        ("* * * *", "UTC", "five"),
        ("0 0 * * * *", "UTC", "five"),
        ("", "UTC", "five"),
        ("61 * * * *", "UTC", "bad minute"),
        ("* * * * FUNDAY", "UTC", "bad day-of-week"),
        ("0 0 31 2 *", "UTC", "day"),
        ("* * * * *", "Mars/Olympus", "time_zone='Mars/Olympus'"),
        ("* * * * *", "../etc/passwd", "time_zone"),
        ("* * * * *", "", "time_zone"),
    ],
)
def test_what_cannot_be_used_is_refused(expression: str, zone: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Schedule(expression, zone)


EXPRESSIONS = st.sampled_from(
    ["*/7 * * * *", "30 2 * * *", "0,30 1-3 * * *", "15 */2 * * *", "5 0 * * SUN", "0 2 25-31 3,10 *", "59 23 L * *"]
)
ZONES = st.sampled_from(
    ["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Asia/Tehran"]
)
MOMENTS = st.one_of(
    st.integers(int(at("2011-12-29 00:00").timestamp()), int(at("2012-01-01 00:00").timestamp())),
    st.integers(int(at("2026-03-28 00:00").timestamp()), int(at("2026-03-30 00:00").timestamp())),
    st.integers(int(at("2026-10-24 00:00").timestamp()), int(at("2026-10-26 00:00").timestamp())),
    st.integers(int(at("2000-01-01 00:00").timestamp()), int(at("2036-12-31 00:00").timestamp())),
).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, ZONES, MOMENTS)
def test_ticks_only_go_forward_and_are_the_same_from_wherever_they_are_looked_at(
    expression: str, zone: str, since: datetime
) -> None:
    schedule = Schedule(expression, zone)
    found = list(islice(schedule.after(since), 8))
    assert found[0] > since
    assert all(one < other for one, other in pairwise(found))
    assert list(islice(schedule.after(found[3]), 4)) == found[4:]
    assert schedule.last(found[5]) == found[5]
    assert schedule.last(found[5] - timedelta(seconds=1)) == found[4]


@settings(max_examples=50, deadline=None)
@given(EXPRESSIONS, ZONES, MOMENTS, st.lists(st.integers(1, 200_000), min_size=1, max_size=10))
def test_however_often_it_is_looked_at_each_tick_is_due_once(
    expression: str, zone: str, since: datetime, steps: list[int]
) -> None:
    schedule = Schedule(expression, zone)
    end = since + timedelta(seconds=sum(steps))
    assume(end - since < timedelta(days=25))
    now, last, seen = since, since, list[datetime]()
    for step in steps:
        now += timedelta(seconds=step)
        due = schedule.due(last, now)
        seen += due
        last = due[-1] if due else last
    assert seen == schedule.due(since, end)
