"""The grid of the command, for what runs in this process; all else, over HTTP, in the command's own slow test."""

from typing import Any

import pytest

from spanhook.cli.conformance.checks.cells import FAILED
from spanhook.cli.conformance.matrix import Row, rows

DEFAULT = {
    "own_code": {"own tool"},
    "langchain_core": {"chat", "text"},
    "langgraph": {"graph"},
    "langchain": {"an agent's tool"},
}
"""Subjects of each library of which one way of calling is for default tests; all else is for slow tests."""
LIBRARIES = tuple(DEFAULT)
ROWS = [(library, row) for library in LIBRARIES for row in rows(library) if not row.note]
_FIRST = {(library, row.subject): row for library, row in reversed(ROWS) if row.subject in DEFAULT[library]}


def _named(case: Any) -> str:
    library, row = case
    return f"{library}-{row.subject}-{row.way}".replace(" ", "_")


@pytest.mark.every_value
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case[1] in _FIRST.values() else pytest.mark.slow) for case in ROWS],
    ids=_named,
)
def test_every_promise_holds(case: tuple[str, Row]) -> None:
    _, row = case
    found = {column: check() for column, check in row.checks.items()}
    assert {column: cell.why for column, cell in found.items() if cell.state == FAILED} == {}
    assert found["denied"].state == "ok"
