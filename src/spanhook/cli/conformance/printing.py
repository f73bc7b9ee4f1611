"""The report for people: a line for each way of calling, in colour only if wanted."""

import sys
from collections.abc import Iterator, Sequence

import click

from spanhook.cli.conformance.checks import CHECKS
from spanhook.cli.conformance.checks.cells import FAILED, NOT_GATED, OK, Cell
from spanhook.cli.conformance.report import Line, Report
from spanhook.export.console import Style, encodable, style_of, width

_NOT_HELD = "not held"
_COLOURS = {OK: "green", FAILED: "red", NOT_GATED: "yellow", _NOT_HELD: "yellow", "n/a": "dim"}
COLUMNS = {
    "denied": "a call that a hook refuses is not made",
    "once": "each call is one operation: hooks asked once, tokens counted once",
    "held": "if a hook replaces an answer, only the replacement gets out, from streams too",
    "window": "if a hook rewrites or refuses streamed text, it does not get out, not through callbacks either",
    "callbacks": "if a hook replaces an answer, LangChain's callbacks get only the replacement",
    "rewritten": "if a hook rewrites a request, the rewritten one arrives",
}
KEPT = "by a reference taken before hooks were active"
GAP = "  "


def print_report(report: Report) -> None:
    """Print ``report`` on standard output."""
    style = style_of(sys.stdout)
    for line in _document(report, style):
        click.echo(encodable(line, sys.stdout), color=style.colour)


def _document(report: Report, style: Style) -> Iterator[str]:
    yield f"spanhook {report.spanhook}, Python {report.python} ({report.executable})"
    yield ""
    yield from _aligned([*((column, COLUMNS[column]) for column in CHECKS), ("(kept)", KEPT)], style)
    yield ""
    yield from _aligned([("library", "version", "way of calling", *CHECKS, ""), *map(_row, report.lines)], style)
    if report.absent:
        yield ""
        yield style.paint("Not installed", "bold")
        yield from _aligned([(one.library, one.fix) for one in report.absent], style)
    failed = [line for line in report.lines if line.state == FAILED]
    if failed:
        yield ""
        yield style.paint("What failed", "bold")
        for line in failed:
            yield from _reasons(line, style)
    if report.unsupported:
        yield ""
        yield from (style.paint(f"{GAP}{one}", "yellow") for one in report.unsupported)
    yield ""
    yield _summary(report, style)


def _row(line: Line) -> tuple[str, ...]:
    return line.library, line.version, line.name, *(_said(column, line.cells[column]) for column in CHECKS), line.note


def _said(column: str, cell: Cell) -> str:
    """The text of a cell. Some gated calls are not held back, such as a graph's stream: that must not read as not
    gated.
    """
    return _NOT_HELD if cell.state == NOT_GATED and column in ("held", "window", "callbacks") else cell.state


def _reasons(line: Line, style: Style) -> Iterator[str]:
    for column, cell in line.cells.items():
        if cell.state == FAILED:
            first, *more = cell.why.splitlines()
            yield f"{GAP}{line.library} {line.name}: {style.paint(column, 'red')}: {first}"
            yield from (style.paint(f"{GAP}{GAP}{one}", "dim") for one in more)


def _summary(report: Report, style: Style) -> str:
    counts = report.counts
    told = [f"{counts[OK]} ok", f"{counts[FAILED]} FAILED", f"{counts[NOT_GATED]} not gated, as documented"]
    if lacking := counts["n/a"]:
        told.append(f"{lacking} not in this version")
    text = f"{len(report.lines)} ways of calling: {', '.join(told)}; in {report.seconds:.0f} s"
    return style.paint(text, "red" if report.exit_code else "green")


def _aligned(rows: Sequence[Sequence[str]], style: Style) -> Iterator[str]:
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            style.paint(cell, _COLOURS.get(cell, "")) + " " * (columns - width(cell))
            for cell, columns in zip(row, widths, strict=True)
        )
        yield (GAP + GAP.join(cells)).rstrip()


class Progress:
    """The progress of the checks: one line on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._done = self._failed = 0
        self._on = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, line: Line) -> None:
        """One more way of calling has been checked."""
        self._done += 1
        self._failed += line.state == FAILED
        if self._on:
            failed = f", {self._failed} FAILED" if self._failed else ""
            style = style_of(sys.stderr)
            text = style.clip(
                f"{self._done} ways of calling checked{failed}; {line.library}: {line.name}", style.width - 1
            )
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._on and self._done:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
