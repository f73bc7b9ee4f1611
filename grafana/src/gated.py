"""What is gated and what is not: libraries by service, and kinds of operations that no hook saw."""

from typing import Final

from grafana.src import frame, gates, outside
from grafana.src.names import label
from grafana.src.panels import BAD, COUNT, GREEN, HEIGHT, RED, YELLOW, Panel, figure
from grafana.src.queries import (
    SERVICE,
    counts,
    is_,
    is_not,
    latest,
    or_zero,
    ours,
    seen,
    series,
    summed,
    total,
)
from grafana.src.tables import Column, rows
from spanhook import semconv

STATE_COLOURS = {
    "bound": GREEN, "waiting": "#808080", "missing": RED, "bound_unsupported": YELLOW, "waiting_unsupported": YELLOW,
    "missing_unsupported": RED, "unbound": RED, "importable": "#808080",
}  # fmt: skip
POINT = ("service.name", semconv.LIBRARY, semconv.LIBRARY_VERSION, semconv.STATE)
STATES: Final = (
    "missing: a function to wrap is not there, calls through it pass no gate. _unsupported: the version is not "
    "one of those tested. unbound: the application uses a library that spanhook does not bind, calls through it "
    "pass no gate. importable: such a library is installed and not in use."
)


def libraries(
    title: str, about: str, *matchers: str, empty: str, width: int, height: int = HEIGHT, sort: str = ""
) -> Panel:
    """A table of libraries and their states, by service.

    Args:
        title: What it is.
        about: What it tells, before the states are explained.
        matchers: Which of them.
        empty: The text shown when there is none.
        width: Of 24.
        height: In units of the grid.
        sort: Heading of the column that sorts.
    """
    points = ours(semconv.METRIC_POINTS, *matchers)
    return rows(
        title,
        f"{about} {STATES} Not in this table: a service without spanhook.",
        f"count by ({', '.join(label(one) for one in POINT)}) ({latest(points)})",
        seen(points, *POINT),
        columns={
            "service_name": Column("Service"),
            label(semconv.LIBRARY): Column("Library"),
            label(semconv.LIBRARY_VERSION): Column("Version"),
            label(semconv.STATE): Column("State", colours=STATE_COLOURS),
            "Value #A": Column("Processes", unit=COUNT, width=90),
            "Value #B": Column("Last so", unit="dateTimeFromNow", width=115),
        },
        empty=empty,
        width=width,
        height=height,
        sort=sort,
    )


def not_bound() -> Panel:
    """Agent libraries that are there and not bound, for the first row of the first dashboard."""
    return libraries(
        "Libraries that are not bound",
        "Agent libraries that processes in the time shown have found, and whose calls are not all gated.",
        is_not(semconv.STATE, *gates.BOUND),
        empty="No process has reported a library that is not bound",
        width=24,
        height=6,
        sort="State",
    )


def row() -> frame.Row:
    """The first row of the dashboard Hooks and policy."""
    hidden = is_(semconv.COVERAGE, "")
    return "What is gated", [
        figure(
            "Ungated libraries",
            "Libraries whose calls are not all gated (missing, unbound, _unsupported), by service and version.",
            gates.UNBOUND,
            unit=COUNT,
            empty="0",
            steps=BAD,
            width=4,
        ),
        figure(
            "Hooks off",
            "Processes whose mode is off: no hook runs in them.",
            or_zero(f"count({latest(ours(semconv.METRIC_INFO, is_(semconv.MODE, 'off')))})"),
            unit=COUNT,
            empty="0",
            steps=BAD,
            width=4,
        ),
        figure(
            "Gates failed open",
            "Passes of hooks that failed or timed out before a call that was made anyway.",
            or_zero(total(gates.FAILED_OPEN)),
            unit=COUNT,
            empty="0",
            steps=BAD,
            width=4,
        ),
        figure(
            "Gates failed closed",
            "Passes of hooks that failed or timed out before a call that was therefore refused.",
            or_zero(total(gates.FAILED_CLOSED)),
            unit=COUNT,
            empty="0",
            steps=((None, GREEN), (1, YELLOW)),
            width=4,
        ),
        figure(
            "Circuits open",
            "Circuits that are open now, of processes that run: models and tools that they do not call.",
            or_zero(f"sum({gates.CIRCUITS})"),
            unit=COUNT,
            empty="0",
            steps=((None, GREEN), (1, YELLOW)),
            width=4,
        ),
        figure(
            "Gates timed out",
            "Passes that took longer than the hook's timeout. The hook's fail mode decides whether the call was made.",
            or_zero(total(gates.TIMED_OUT)),
            unit=COUNT,
            empty="0",
            steps=BAD,
            width=4,
        ),
        libraries(
            "Libraries by service",
            "What each process in the time shown has found; one that was in two states counts in both. bound: every "
            "function is wrapped. waiting: the application has not imported the library.",
            empty="No process has reported in this time",
            width=10,
        ),
        rows(
            "Services",
            "Which version of spanhook with which hooks. Two digests in one service: its processes run different "
            "hooks. Mode off: no hook runs.",
            summed(
                latest(ours(semconv.METRIC_INFO)),
                "service.name",
                semconv.VERSION,
                semconv.HOOKS_DIGEST,
                semconv.MODE,
            ),
            columns={
                "service_name": Column("Service"),
                label(semconv.VERSION): Column("Version"),
                label(semconv.HOOKS_DIGEST): Column("Hooks", width=130),
                label(semconv.MODE): Column("Mode", colours={"enforce": GREEN, "off": RED}),
                "Value": Column("Processes", unit=COUNT, width=90),
            },
            empty="No process has reported in this time",
            width=8,
        ),
        rows(
            "Operations that no hook saw",
            "Spans in the time shown, of kinds that have no hook. Expected if nothing has to be gated; a kind that "
            "should be gated and is listed here is not gated.",
            counts(series(outside.SPAN_CALLS, SERVICE, is_not(semconv.KIND, ""), hidden), "service.name", semconv.KIND),
            columns={
                "service_name": Column("Service"),
                label(semconv.KIND): Column("Kind"),
                "Value": Column("Operations", unit=COUNT),
            },
            empty="Every operation in this time had a hook, or traces are not exported",
            width=6,
            sort="Operations",
        ),
    ]
