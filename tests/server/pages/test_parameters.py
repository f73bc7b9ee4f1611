from datetime import UTC, date, datetime

import pytest

from spanhook.server.pages.parameters import day_in, time_in
from spanhook.server.problems import Problem


def test_what_forms_send_is_read() -> None:
    assert time_in("2026-01-31T12:00", "since") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert time_in("2026-01-31T12:00:00+02:00", "since") == datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert day_in("2026-01-31", "since") == date(2026, 1, 31)
    assert time_in("", "since") is day_in("", "since") is None


@pytest.mark.parametrize("given", ["yesterday", "2026-02-30", "1", "2026-01-01T25:00"])
def test_what_is_none_is_told(given: str) -> None:
    with pytest.raises(Problem, match="expected a day"):
        day_in(given, "until")
    if given != "2026-02-30T00:00":
        with pytest.raises(Problem, match="until is"):
            time_in(given, "until")
