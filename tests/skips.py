"""Which tests are skipped, in all processes: those that need a program are counted, and in CI it is a failure."""

import pytest

from tests.programs import missing


class Skips:
    """Reports what was skipped at the end of a run.

    Args:
        refused: Skipping is a failure, since everything is installed that a test may need.
        allowed: Reasons for which tests may be skipped anyway, in full; each must come up.
    """

    def __init__(self, refused: bool, allowed: list[str]) -> None:
        self._refused = refused
        self._allowed = allowed
        self._reasons: dict[str, str] = {}

    def _look(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            *_, reason = report.longrepr if isinstance(report.longrepr, tuple) else (str(report.longrepr),)
            self._reasons[report.nodeid] = reason.removeprefix("Skipped: ")

    pytest_runtest_logreport = pytest_collectreport = _look

    @property
    def _complaints(self) -> list[str]:
        if not self._refused:
            return []
        skipped = [f"{test}: {reason}" for test, reason in self._reasons.items() if reason not in self._allowed]
        return skipped + [f"nothing: {reason}" for reason in self._allowed if reason not in self._reasons.values()]

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._complaints and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._complaints:
            terminalreporter.section("not skipped as it should be")
            for line in self._complaints:
                terminalreporter.line(line)
        if packages := missing(self._reasons.values()):
            terminalreporter.line(packages)
