import json
import logging

import pytest

import spanhook
from spanhook import Settings
from spanhook.jobs.failures import _repeats, tell_of_failure
from spanhook.jobs.job import Job

JOB = Job(job_id="job_1", agent="support")


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    _repeats.__init__()


def failing(text: str) -> BaseException:
    try:
        json.loads(text)
    except ValueError as error:
        return error
    raise AssertionError


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records]


def test_the_applications_own_frame_is_named(caplog: pytest.LogCaptureFixture) -> None:
    tell_of_failure("job", JOB, failing("{"))
    line = failing.__code__.co_firstlineno + 2
    assert said(caplog) == [
        f"spanhook: agent 'support' has failed: JSONDecodeError at {__file__}, line {line} (job job_1)"
    ]
    assert caplog.records[0].levelno == logging.ERROR


def test_a_failure_that_repeats_itself_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        tell_of_failure("run", JOB, failing("{"))
    assert len(said(caplog)) == 1
    tell_of_failure("run", JOB, OSError())
    assert said(caplog)[1] == "spanhook: agent 'support' has failed: OSError at ?, line 0 (run job_1)"
    monkeypatch.setattr(_repeats, "_known", {name: (0.0, unsaid) for name, (_, unsaid) in _repeats._known.items()})
    tell_of_failure("run", JOB, failing("{"))
    assert said(caplog)[2].endswith("(run job_1; 2 more like it since it was last logged)")


def test_what_it_says_is_logged_where_telemetry_may_have_it(caplog: pytest.LogCaptureFixture) -> None:
    spanhook.instrument(settings=Settings(error_messages=True))
    tell_of_failure("run", JOB, failing("{"))
    (line,) = said(caplog)
    assert line.splitlines()[1] == "Traceback (most recent call last):"
    assert line.splitlines()[-1].startswith("json.decoder.JSONDecodeError: Expecting property name")
