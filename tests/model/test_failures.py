"""What may leave of an exception: its type, status, code and frames, and none of its words."""

from typing import Any

import pytest

from spanhook.model import described, stack
from tests.stub import stubbed

SECRET = "s3cr3t-4711"


def deep(text: str) -> Exception:
    """An exception that says it in every way there is."""
    try:
        try:
            raise KeyError(text)
        except KeyError as error:
            raise ValueError(f"wrong: {text}") from error
    except ValueError as error:
        error.add_note(text)
        group = ExceptionGroup(text, [error, OSError(2, text, text)])
        group.__context__ = RuntimeError(text)
        return group


class Coded(Exception):
    """An error as provider SDKs raise them."""

    status_code = 429
    code = "rate_limit_exceeded"


def test_type_status_and_code_are_told() -> None:
    with stubbed() as (library, seen):
        with pytest.raises(Coded):
            library.work(Coded(SECRET))
        [span] = seen.spans
    assert span.status.description == "Coded 429 rate_limit_exceeded"
    [event] = span.events
    assert event.name == "exception"
    told = dict(event.attributes or {})
    assert told.keys() == {"exception.type", "exception.stacktrace"}
    assert told["exception.type"] == "tests.model.test_failures.Coded"
    assert "in _run" in str(told["exception.stacktrace"])
    assert str(told["exception.stacktrace"]).endswith("tests.model.test_failures.Coded\n")


@pytest.mark.parametrize("code", [SECRET + " " + SECRET, 12, "x" * 100, None, "a b"])
def test_a_code_that_is_none_is_not_told(code: Any) -> None:
    error = Coded(SECRET)
    error.code = code
    assert described(error, in_full=False) == "Coded 429"


def test_the_stack_keeps_frames_and_causes() -> None:
    told = stack(deep(SECRET), in_full=False)
    assert SECRET not in told
    assert told.count("Traceback (most recent call last):") == 0  # neither the group nor its context was raised
    assert told.endswith("ExceptionGroup: ValueError, FileNotFoundError\n")
    with pytest.raises(ExceptionGroup) as caught:
        raise deep(SECRET)
    assert "in test_the_stack_keeps_frames_and_causes" in stack(caught.value, in_full=False)
    assert SECRET in stack(caught.value, in_full=True)
