"""Everything that is gated, beside everything that other projects instrument, each with each."""

from itertools import groupby
from typing import Any

import pytest

from spanhook.cli.conformance.checks.cells import OK
from spanhook.cli.conformance.matrix import Row, rows
from spanhook.instrument import INSTRUMENTORS
from tests.here import BOUND, is_here

pytestmark = pytest.mark.foreign

SORTS = ("", "async", "stream")
PROJECTS = ("openinference.instrumentation", "opentelemetry.instrumentation.langchain", "logfire")


def _of_each_sort(found: list[Row]) -> list[Row]:
    """Of the ways of calling one thing the first, the first that is async, and the first that streams."""
    chosen = {next((row.way for row in found if sort in row.way), found[0].way) for sort in SORTS}
    return [row for row in found if row.way in chosen]


CASES = [
    (library, row)
    for library in BOUND
    for _, found in groupby((row for row in rows(library) if not row.note), key=lambda row: row.subject)
    for row in _of_each_sort([*found])
]


def _named(case: Any) -> str:
    library, row = case
    return f"{library}-{row.subject}-{row.way}".replace(" ", "_")


@pytest.mark.parametrize("case", CASES, ids=_named)
def test_calls_are_refused_and_counted_once(case: tuple[str, Row]) -> None:
    _, row = case
    assert row.checks["foreign"]().state == OK


def test_all_that_can_be_together_are_here() -> None:
    assert [one for one in PROJECTS if not is_here(one)] == []
    assert {*INSTRUMENTORS} - {*BOUND} <= {"aiobotocore", "dspy", "litellm"}
