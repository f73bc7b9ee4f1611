"""``spanhook load``: scripted agent runs that produce every kind of telemetry, and their exact totals.

The totals are computed from the script, not read from spanhook's counts, which are compared with them. Nothing that may
be missing is imported before it is known to be installed.
"""

import json
import logging
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spanhook import export
from spanhook.config import instrument, uninstrument
from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError
from spanhook.export import SIGNALS

__all__ = ["run_load"]

if TYPE_CHECKING:
    from spanhook.cli.load.document import Document

NEEDED = ("langchain_core", "langgraph")
SERVICE = "spanhook-load"
FLUSH_SECONDS = 30.0


def run_load(runs: int, seed: int, concurrency: int, as_json: bool) -> int:
    """Make the runs, print their totals on standard output, and any differences in spanhook's counts on standard error.

    Args:
        runs: How many runs; from 45 on, they cover every scenario.
        seed: Selects the runs; the same seed gives the same totals everywhere.
        concurrency: How many at a time; does not change the totals.
        as_json: Print one JSON document instead of text; ``spanhook.cli.load.document`` describes it.

    Returns:
        The exit code: 1 if spanhook's counts differ, 2 if something is missing.
    """
    try:
        _check(runs, concurrency)
        export.setup(SERVICE, console=sys.stderr)
    except ConfigurationError as error:
        print(f"spanhook load: {error}", file=sys.stderr)  # noqa: T201
        return 2
    from spanhook.cli.load.printing import as_text, complaints

    with _instrumented():
        document = measure(runs, seed, concurrency)
        export.flush(FLUSH_SECONDS)  # before the counters are removed from their provider
    print(json.dumps(document, indent=2) if as_json else "\n".join(as_text(document)), flush=True)  # noqa: T201
    wrong = list(complaints(document["differences"], document["internal_errors"]))
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)  # noqa: T201
    if not as_json and not any(map(export.existing, SIGNALS)):
        print("spanhook load: nothing was sent; set OTEL_EXPORTER_OTLP_ENDPOINT", file=sys.stderr)  # noqa: T201
    return 1 if wrong else 0


def measure(runs: int, seed: int, concurrency: int) -> "Document":
    """Make the runs with ``spanhook.cli.load.hooks`` active, and compare the counts with the script."""
    from langsmith import tracing_context  # pyright: ignore[reportUnknownVariableType]

    from spanhook.cli.load import document, series
    from spanhook.cli.load.counted import counting
    from spanhook.cli.load.elsewhere import is_recording, provider
    from spanhook.cli.load.performing import perform
    from spanhook.cli.load.policies import serving
    from spanhook.cli.load.prices import price_list
    from spanhook.cli.load.printing import Progress
    from spanhook.cli.load.scenarios import script
    from spanhook.cli.load.tables import expected
    from spanhook.engine import attach

    attach(provider())
    with_foreign = is_recording()
    jobs = list(script(runs, seed, with_foreign=with_foreign))
    progress = Progress(runs)
    started = time.perf_counter()
    with serving() as answers, counting() as counted, tracing_context(enabled=False):
        perform(jobs, concurrency, progress.step)
    for answer, count in answers.items():
        counted.tables.add("policy_answers", answer, amount=count)
    seconds = time.perf_counter() - started
    progress.end()
    wanted = expected((run.tenant, run.user, run.fact) for job in jobs for run in job)
    return document.Document(
        runs=runs,
        seed=seed,
        concurrency=concurrency,
        price_list=price_list(),
        foreign_spans=with_foreign,
        seconds=round(seconds, 3),
        totals=document.totals(wanted),
        metrics=series.metrics(wanted),
        differences=list(document.differences(wanted, counted.tables)),
        internal_errors=dict(counted.errors),
    )


def _check(runs: int, concurrency: int) -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigurationError(f'needs {", ".join(missing)}; run pip install "spanhook[demo]"')
    for name, value in (("--runs", runs), ("--concurrency", concurrency)):
        if value < 1:
            raise ConfigurationError(f"{name} {value}: expected a whole number of at least 1")


@contextmanager
def _instrumented() -> Generator[None, None, None]:
    """Instrument with the load's hooks; their intended failures are not logged."""
    from spanhook.cli.load.hooks import hooks

    level = log.level
    log.setLevel(logging.ERROR)
    instrument(hooks)
    try:
        yield
    finally:
        uninstrument()
        log.setLevel(level)
