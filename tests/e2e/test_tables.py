"""What tables show of a load: Grafana's own transformations and formats, over what the stack has answered."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.programs import until
from tests.e2e.stack import Stack, needed
from tests.e2e.told import tell
from tests.panels import Query, dashboards, panels, queries

pytestmark = pytest.mark.e2e

TABLES = {
    f"{name.removeprefix('spanhook-')}/{panel['title']}": panel
    for name, dashboard in dashboards().items()
    for panel in panels(dashboard)
    if panel["type"] == "table"
}
QUERIES = {str(query): query for query in queries()}

#: Tables of which a load that lost nothing, and was quick, fills no row; queries for the hour before.
EMPTY = {
    "agents/Libraries that are not bound",  # none is installed beside those that are
    "tools/Slow executions",
    "pipeline/Errors in spanhook, by place",
}
BEFORE = {f"agents/{what}, now and before/{ref}" for what in ("Models", "Tools") for ref in "BC"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A table as it is drawn: its headings, and below each the text of every cell."""

    headings: list[str]
    cells: list[list[str]]


@pytest.fixture(scope="module")
def shown(running: Stack) -> Mapping[str, Shown]:
    """Every table that has rows, by dashboard and title."""
    grammars = needed("grammars")
    needed("loki")
    needed("tempo")
    told = tell(running)
    service, spans = told.service, sum(told.document["totals"]["spans"].values())
    until(lambda: _spans(running, service) >= spans, "spans of the load", 90)
    asked = {
        title: {target["refId"]: _answer(running, service, title, target["refId"]) for target in panel["targets"]}
        for title, panel in TABLES.items()
    }
    titles = [title for title, answers in asked.items() if any(answers.values())]
    ran = subprocess.run(
        [grammars / "node", grammars / "table.mjs"],
        input=json.dumps([{"panel": TABLES[title], "answers": asked[title]} for title in titles]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return {title: Shown(**one) for title, one in zip(titles, json.loads(ran.stdout), strict=True)}


def _spans(running: Stack, service: str) -> int:
    assert running.tempo is not None
    return len(running.tempo.query(f'{{ resource.service.name = "{service}" }}'))


def _answer(running: Stack, service: str, title: str, ref: str) -> list[dict[str, Any]]:
    query: Query = QUERIES[f"{title}/{ref}"]
    # when something was last seen is asked of whole minutes: this load's first may be a minute away
    text = query.put_in({"service": service}).replace("[1h:1m]", "[1h:1s]")

    def rows() -> list[dict[str, Any]]:
        if query.source == "tempo":
            assert running.tempo is not None
            return [{"name": one.name, "attributes": dict(one.attributes)} for one in running.tempo.query(text)]
        assert running.loki is not None
        found = running.loki.vector(text) if query.source == "loki" else running.prometheus.query(text)
        return [{"labels": one.labels, "value": str(one.value)} for one in found]

    return rows() if title in EMPTY or str(query) in BEFORE else until(rows, f"rows of {title}")


def test_all_tables_but_those_of_what_did_not_happen_have_rows(shown: Mapping[str, Shown]) -> None:
    assert TABLES.keys() - shown.keys() == EMPTY


@pytest.mark.parametrize("title", sorted(TABLES.keys() - EMPTY))
def test_columns_are_those_that_are_meant(shown: Mapping[str, Shown], title: str) -> None:
    """Each heading found its field, in its place, and no field is left that has none."""
    transformations = TABLES[title]["transformations"]
    options = transformations[-1]["options"]
    names = sorted(options["indexByName"], key=lambda name: options["indexByName"][name])
    meant = [options["renameByName"].get(name, name) for name in names]
    found = shown[title].headings
    if any(one["id"] == "groupingToMatrix" for one in transformations):
        assert found[0] == meant[0]
        assert len(found) > 2
        assert found == [name for name in meant if name in found]
    else:
        assert found == meant


@pytest.mark.parametrize("title", sorted(TABLES.keys() - EMPTY))
def test_cells_hold_what_they_should(shown: Mapping[str, Shown], title: str) -> None:
    """No cell says why the table is empty, and none has a number that is none."""
    cells = {text for column in shown[title].cells for text in column}
    assert cells & {"", "NaN", "undefined", "null", TABLES[title]["fieldConfig"]["defaults"]["noValue"]} == set()


def test_values_have_their_units(shown: Mapping[str, Shown]) -> None:
    def column(title: str, heading: str) -> list[str]:
        return shown[title].cells[shown[title].headings.index(heading)]

    assert all(cost.startswith("$") for cost in column("usage/Top users", "Cost"))
    assert all(p95.endswith((" s", " ms", " µs")) for p95 in column("agents/Models, now and before", "p95 now"))
    assert all(times.isdigit() for times in column("hooks/Who was blocked", "Times"))
    assert all(len(trace) == 32 for trace in column("agents/Most expensive runs", "Trace"))
    assert all(last.endswith("ago") for last in column("pipeline/Services by last report", "Last report"))
