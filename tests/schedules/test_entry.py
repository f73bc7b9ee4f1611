"""Entries of a configuration file: what is refused, with which words."""

from typing import Any

import pytest
from pydantic import ValidationError

from spanhook.schedules import CronEntry

GOOD: dict[str, Any] = {"id": "news", "schedule": "0 9 * * MON-FRI", "agent": "reader"}


def test_only_id_schedule_and_agent_are_needed() -> None:
    entry = CronEntry.model_validate(GOOD)
    assert (entry.time_zone, entry.missed, entry.overlap, entry.grace, entry.enabled) == (
        "UTC",
        "skip",
        "skip",
        60.0,
        True,
    )
    assert entry.times().expression == "0 9 * * MON-FRI"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schedule": "0 9 * *"}, "has 4 fields, expected five"),
        ({"schedule": "0 25 * * *"}, "bad hour"),
        ({"time_zone": "Berlin"}, "is unknown; expected a name such as"),
        ({"id": "no spaces"}, "id"),
        ({"agent": ""}, "agent"),
        ({"missed": "later"}, "missed"),
        ({"overlap": "kill"}, "overlap"),
        ({"grace": 0}, "grace"),
        ({"every": "day"}, "every"),
    ],
)
def test_a_mistake_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CronEntry.model_validate({**GOOD, **given})
