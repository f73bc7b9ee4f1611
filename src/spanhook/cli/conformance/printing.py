"""The report for people: a block for each library with a line for each way of calling, in colour only if wanted."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from spanhook.cli.conformance.checks import CHECKS
from spanhook.cli.conformance.checks.cells import FAILED, NOT_APPLICABLE, NOT_GATED, OK, Cell
from spanhook.cli.conformance.report import Line, Report
from spanhook.export.console import Style, style_of, width
from spanhook.model import encodable_to

COLUMNS = {
    "denied": "a call that a hook refuses is not made, and its operation alone says so",
    "async": "async hooks run before, around and after it, and can refuse it",
    "timeout": "a gate that takes too long refuses it, or lets it through if it fails open",
    "named": "names that are members of an Enum are known to hooks by their characters",
    "rewritten": "if a hook rewrites a request, the rewritten one arrives",
    "coerced": "if the library makes something else of arguments, gates see that: = as it arrives, 2 validated twice",
    "answered": "if a hook answers in its place, it is not made, and the caller gets the answer",
    "held": "if a hook replaces an answer, only the replacement gets out, from streams too",
    "window": "if a hook rewrites or refuses streamed text, it does not get out, not through callbacks either",
    "callbacks": "if a hook replaces or refuses an answer, callbacks do not get it",
    "allowed": "if hooks let it pass, the caller gets the same result as without spanhook",
    "once": "each call is one operation, and hooks run once",
    "usage": "the tokens counted are those that the provider reported",
    "errors": "errors 400, 401, 429, 500 and broken connections reach the caller unchanged, and hooks see them",
    "cancelled": "if its task is cancelled, the call is, and its operation says so",
    "left": "a stream that is closed or dropped early ends its operation",
    "edited": "if the caller edits a stream's chunks, hooks see and totals count what arrived",
    "content": "telemetry shows nothing of requests, answers and errors, unless asked to",
    "unsampled": "without a sampled span, refusals stand, and calls and tokens are counted",
    "disabled": "with OTEL_SDK_DISABLED=true, hooks gate as before",
    "exporter": "with the exporter's backend down, refusals stand, and calls go on",
    "foreign": "beside another instrumentation of the library, calls are refused and counted once",
    "restored": "once spanhook is removed, functions are what they were",
}
KEPT = "by a reference taken before hooks were active"
GAP = "  "
_MARKS = {OK: "+", FAILED: "X", NOT_GATED: "!", NOT_APPLICABLE: ".", "exact": "=", "twice": "2", "as sent": "!"}
_COLOURS = {
    OK: "green",
    FAILED: "red",
    NOT_GATED: "yellow",
    NOT_APPLICABLE: "dim",
    "exact": "green",
    "twice": "green",
    "as sent": "yellow",
}


def print_report(report: Report) -> None:
    """Print ``report`` on standard output."""
    style = style_of(sys.stdout)
    for line in _document(report, style):
        click.echo(encodable_to(line, sys.stdout), color=style.colour)


def _document(report: Report, style: Style) -> Iterator[str]:
    yield f"spanhook {report.spanhook}, Python {report.python} ({report.executable})"
    yield ""
    yield from _aligned([(str(number), name, COLUMNS[name]) for number, name in enumerate(CHECKS, 1)])
    yield f"{GAP}(kept)  {KEPT}"
    yield ""
    yield (
        GAP
        + ", ".join(
            f"{style.paint(_MARKS[state], _COLOURS[state])} {words}"
            for state, words in ((OK, "holds"), (FAILED, "FAILED"), (NOT_GATED, "not gated or not held, as documented"))
        )
        + f", {_MARKS[NOT_APPLICABLE]} nothing to check"
    )
    for library, lines in groupby(report.lines, lambda line: (line.library, line.version)):
        yield ""
        yield from _block(" ".join(library), list(lines), style)
    if report.absent:
        yield ""
        yield style.paint("Not installed", "bold")
        yield from _aligned([(one.library, one.fix) for one in report.absent])
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


def _block(library: str, lines: list[Line], style: Style) -> Iterator[str]:
    """The ways of calling one library, with a mark for each check."""
    columns = max(width(line.name) for line in lines)
    columns = max(columns, width(library) - len(GAP))
    heads = "".join(f"{number:>3}" for number in range(1, len(CHECKS) + 1))
    yield f"{style.paint(library, 'bold')}{' ' * (columns + len(GAP) - width(library))}{style.paint(heads, 'dim')}"
    for line in lines:
        marks = "".join(_mark(line.cells[column], style) for column in CHECKS)
        note = f"{GAP}{line.note}" if line.note else ""
        yield f"{GAP}{line.name}{' ' * (columns - width(line.name))}{marks}{note}"


def _mark(cell: Cell, style: Style) -> str:
    return "  " + style.paint(_MARKS[cell.state], _COLOURS[cell.state])


def _reasons(line: Line, style: Style) -> Iterator[str]:
    for column, cell in line.cells.items():
        if cell.state == FAILED:
            first, *more = cell.why.splitlines()
            yield f"{GAP}{line.library} {line.name}: {style.paint(column, 'red')}: {first}"
            yield from (style.paint(f"{GAP}{GAP}{one}", "dim") for one in more)


def _summary(report: Report, style: Style) -> str:
    counts = report.counts
    told = [f"{counts[OK]} hold", f"{counts[FAILED]} FAILED", f"{counts[NOT_GATED]} not gated, as documented"]
    if lacking := counts["n/a"]:
        told.append(f"{lacking} not in this version")
    text = f"{len(report.lines)} ways of calling: {', '.join(told)}; in {report.seconds:.0f} s"
    if report.quick:
        text += f"\n--quick tried {len(report.lines)} of {report.ways} ways of calling: "
        text += "one subject of each kind, in one way"
    return style.paint(text, "red" if report.exit_code else "green")


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (columns - width(cell)) for cell, columns in zip(row, widths, strict=True))
        yield (GAP + GAP.join(cells)).rstrip()
