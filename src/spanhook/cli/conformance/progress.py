"""What people see while the checks run: beforehand how long they may take, and then one line that is rewritten."""

import sys
import time

import click

from spanhook.cli.conformance.checks.cells import FAILED
from spanhook.cli.conformance.report import Line
from spanhook.cli.conformance.schedule import Schedule
from spanhook.export.console import style_of

_SURE = 0.25
"""The part of the work after which only its own pace counts; while libraries are imported, that tells little."""


class Progress:
    """The progress of the checks on standard error: rewritten in place if that is a terminal, otherwise not shown.

    Args:
        schedule: What is checked.
        quiet: Print nothing beforehand unless standard error is a terminal.
    """

    def __init__(self, schedule: Schedule, *, quiet: bool = False) -> None:
        self._schedule = schedule
        self._done = self._failed = 0
        self._worked = 0.0
        self._seconds = dict.fromkeys(schedule.ways, 0.0)
        for one in schedule.portions:
            self._seconds[one.library.name] += one.seconds
        self._on = sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        if sys.stderr is not None and (self._on or not quiet):
            click.echo(self._beforehand(), err=True)

    def _beforehand(self) -> str:
        ways, libraries = sum(self._schedule.ways.values()), len(self._schedule.ways)
        of = "1 library" if libraries == 1 else f"{libraries} libraries"
        processes = self._schedule.processes
        by = "1 process" if processes == 1 else f"{processes} processes"
        return f"About {ways} ways of calling {of}, in {by}: {_about(self._schedule.seconds)}."

    def __call__(self, line: Line) -> None:
        """One more way of calling has been checked."""
        self._done += 1
        self._failed += line.state == FAILED
        self._worked += self._seconds[line.library] / max(1, self._schedule.ways[line.library])
        if self._on:
            failed = f", {self._failed} FAILED" if self._failed else ""
            elapsed = time.monotonic() - self._started
            total = max(self._done, sum(self._schedule.ways.values()))
            style = style_of(sys.stderr)
            text = f"{self._done} of {total} ways of calling checked{failed}; {elapsed:.0f} s, {self._left(elapsed)}; "
            text = style.clip(f"{text}{line.library}: {line.name}", style.width - 1)
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def _left(self, elapsed: float) -> str:
        """How long the rest may take: at first as recorded, later at the pace so far."""
        done = min(1.0, self._worked / self._schedule.work)
        sure = min(1.0, done / _SURE)
        total = (1 - sure) * self._schedule.seconds + sure * elapsed / done
        return f"{_about((1 - done) * total)} left"

    def end(self) -> None:
        """Clear the line."""
        if self._on and self._done:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _about(seconds: float) -> str:
    """A duration in words, no more exact than an estimate is."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 5)) * 5} s"
    return f"about {seconds / 60:.0f} minutes"
