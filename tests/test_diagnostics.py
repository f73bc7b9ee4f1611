"""What is said of hooks that fail, and how often."""

import logging
import time
from collections.abc import Iterator

import pytest

from spanhook import Hooks, Operation
from spanhook.diagnostics import Repeats
from tests.stub import stubbed


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "spanhook"):
        yield


def test_what_fails_over_and_over_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", fail_mode="open")
    def broken(op: Operation) -> None:
        raise ValueError("oops")

    with stubbed(hooks) as (library, seen):
        for _ in range(5):
            library.work("x")
        assert caplog.text.count("hook 'broken' on llm.call.pre failed: ValueError: oops") == 1
        later = time.monotonic() + Repeats.EVERY_S
        monkeypatch.setattr("spanhook.diagnostics.time.monotonic", lambda: later)
        library.work("x")
    assert len(seen.operations) == 6
    assert caplog.text.count("(and 4 times more in the last minute)") == 1
