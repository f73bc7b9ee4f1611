from datetime import UTC, datetime
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from spanhook.webhooks import Schedule
from spanhook.webhooks.schedule import asked, meaning


@given(st.integers(1, 10_000), st.text(max_size=30))
def test_a_pause_doubles_up_to_a_limit(tried: int, retry_after: str) -> None:
    most = min(5.0 * 2 ** min(tried - 1, 50), 21600.0)
    wanted = asked(retry_after, 0.0)
    assert max(most / 2, wanted) <= Schedule().pause(tried, retry_after, 0.0) <= max(most, wanted)


def test_what_a_receiver_asks_for() -> None:
    now = 1_700_000_000.0
    assert asked("120", now) == 120
    assert asked(" 7 ", now) == 7
    assert asked("9" * 100, now) == 86400
    assert asked(format_datetime(datetime.fromtimestamp(now + 90, UTC), usegmt=True), now) == 90
    for nothing in ("", "-1", "soon", "1.5", "²", format_datetime(datetime.fromtimestamp(now - 90, UTC))):
        assert asked(nothing, now) == 0


def test_only_2xx_is_a_success() -> None:
    assert {meaning(status) for status in (200, 202, 204, 299)} == {"delivered"}
    assert {meaning(status) for status in (100, 301, 302, 307, 400, 404, 429, 500, 503)} == {"again"}
    assert meaning(410) == "gone"
