"""What is skipped is counted at the end of a run, and fails it where nothing may be skipped."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.programs import need
from tests.skips import Skips


def skipped(package: str, test: str = "test_a") -> pytest.TestReport:
    """The report of a test that was skipped for want of a program."""
    with pytest.raises(pytest.skip.Exception) as caught:
        need(package, None)
    return report(test, str(caught.value))


def report(test: str, reason: str) -> pytest.TestReport:
    return pytest.TestReport(test, (test, 0, test), {}, "skipped", (test, 0, f"Skipped: {reason}"), "setup")


def end(skips: Skips, *reports: pytest.TestReport) -> tuple[bool, list[str]]:
    """Whether the run passes, and the last lines of its output."""
    for one in reports:
        skips.pytest_runtest_logreport(one)
    lines = list[str]()
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    terminal: Any = SimpleNamespace(section=lines.append, line=lines.append)
    skips.pytest_sessionfinish(session, session.exitstatus)
    skips.pytest_terminal_summary(terminal)
    return session.exitstatus == pytest.ExitCode.OK, lines


def test_a_program_that_was_found_is_used() -> None:
    assert need("redis-server", "/usr/bin/redis-server") == "/usr/bin/redis-server"


def test_missing_programs_are_one_line() -> None:
    reports = [
        skipped("postgresql", "test_a"),
        skipped("redis-server", "test_b"),
        skipped("redis-server", "test_c"),
        report("test_d", "this machine has no IPv6"),
    ]
    assert end(Skips(False, []), *reports) == (
        True,
        ["3 tests were skipped: install redis-server (2), postgresql (1) to run them"],
    )


def test_one_missing_program() -> None:
    assert end(Skips(False, []), skipped("podman")) == (True, ["1 test was skipped: install podman (1) to run it"])


def test_nothing_is_printed_if_no_program_is_missing() -> None:
    assert end(Skips(False, []), report("test_a", "this machine has no IPv6")) == (True, [])


def test_in_ci_a_missing_program_is_a_failure() -> None:
    assert end(Skips(True, []), skipped("redis-server")) == (
        False,
        [
            "not skipped as it should be",
            "test_a: Debian's package redis-server is not installed",
            "1 test was skipped: install redis-server (1) to run it",
        ],
    )


def test_a_reason_that_is_allowed_must_come_up() -> None:
    assert end(Skips(True, ["too old"]), report("test_a", "too old")) == (True, [])
    assert end(Skips(True, ["too old"])) == (False, ["not skipped as it should be", "nothing: too old"])
