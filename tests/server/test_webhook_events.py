import pytest

from spanhook.server.webhook_events import EVENTS, known_event
from spanhook.server.webhook_outbox import PING


@pytest.mark.parametrize("chosen", [*EVENTS, "job.*", "agent.*", "cron.*", "webhook.*", "*"])
def test_what_the_server_sends_can_be_chosen(chosen: str) -> None:
    assert known_event(chosen) == chosen


def test_the_events_of_the_server() -> None:
    assert {one.partition(".")[0] for one in EVENTS} == {"job", "agent", "cron", "webhook"}
    assert PING in EVENTS


@pytest.mark.parametrize("chosen", ["job", "job.completed.*", "cron", "jobs", "approval.*", "spanhook.job.completed"])
def test_what_it_never_sends_is_refused(chosen: str) -> None:
    with pytest.raises(ValueError, match=f"^there is no event {chosen!r}; (did you mean|expected) "):
        known_event(chosen)
