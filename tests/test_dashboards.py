"""The dashboards are what their source makes, ask for what there is, and explain what they show and what not."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from grafana.src import frame, names, outside
from grafana.src.__main__ import differing, main
from grafana.src.tables import NO_CELL
from spanhook import semconv
from tests.inventory import each
from tests.panels import EVERYTHING, FILES, ROOT, Query, dashboards, panels, queries

DASHBOARDS = dashboards()
PANELS = [(name, panel) for name, dashboard in DASHBOARDS.items() for panel in panels(dashboard)]
QUERIES = queries()
PROVISIONING = ROOT / "grafana" / "provisioning"

METRICS = {
    names.metric(name, part)
    for name, (_, sort) in names.INSTRUMENTS.items()
    for part in (("_bucket", "_count", "_sum") if sort == "histogram" else ("",))
} | outside.METRICS
ATTRIBUTES = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}
LABELS = {names.label(one) for one in ATTRIBUTES} | outside.LABELS

OF_EVERY_SPAN = {"Span ID", "Start time", "Name", "service.name", "Trace Name", "Duration"}
"""Columns of spans that Grafana's Tempo data source makes, and the attribute that each query names."""

each_panel = each(PANELS, lambda dashboard, panel: f"{dashboard}/{panel['title']}")


# --------------------------------------------------------------------------- names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "unit", "sort", "expected"),
    [
        ("spanhook.usage.cost", "USD", "counter", "spanhook_usage_cost_USD_total"),
        ("spanhook.usage.tokens", "{token}", "counter", "spanhook_usage_tokens_total"),
        ("gen_ai.invoke_agent.duration", "s", "histogram", "gen_ai_invoke_agent_duration_seconds"),
        ("spanhook.info", "{process}", "gauge", "spanhook_info"),
        ("system.memory.utilization", "1", "gauge", "system_memory_utilization_ratio"),
        ("http.requests", "1", "counter", "http_requests_total"),
        ("process.uptime.seconds", "s", "gauge", "process_uptime_seconds"),
        ("items.total.seen", "", "counter", "items_seen_total"),
        ("heap.size", "By", "gauge", "heap_size_bytes"),
    ],
)
def test_names_are_those_of_prometheus(metric: str, unit: str, sort: names.Sort, expected: str) -> None:
    assert names.prometheus_name(metric, unit, sort) == expected


def test_a_compound_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="compound units"):
        names.prometheus_name("disk.speed", "By/s", "gauge")


def test_every_metric_of_the_conventions_has_an_instrument() -> None:
    ours = {value for name, value in vars(semconv).items() if name.startswith("METRIC_") and "." in value}
    not_shown = {"attributed", "control_plane"}
    of_hooks = {name for name in ours if name.split(".")[1] in not_shown}
    assert ours - of_hooks - {semconv.METRIC_OVERFLOW} == set(names.INSTRUMENTS)


def test_parts_belong_to_histograms() -> None:
    with pytest.raises(ValueError, match="is a counter"):
        names.metric(semconv.METRIC_TOKENS, "_sum")
    with pytest.raises(ValueError, match="is a histogram"):
        names.metric(semconv.METRIC_TOOL_DURATION)


# --------------------------------------------------------------------------- files


def test_committed_dashboards_are_what_their_source_makes(capsys: pytest.CaptureFixture[str]) -> None:
    assert differing() == []
    assert main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_five_dashboards_with_their_ids() -> None:
    uids = {frame.AGENTS, frame.USAGE, frame.TOOLS, frame.HOOKS, frame.PIPELINE}
    assert uids == {"spanhook-agents", "spanhook-usage", "spanhook-tools", "spanhook-hooks", "spanhook-pipeline"}
    assert {name: dashboard["uid"] for name, dashboard in DASHBOARDS.items()} == {uid: uid for uid in uids}
    assert len({dashboard["title"] for dashboard in DASHBOARDS.values()}) == 5
    home = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["grafana"]["environment"]
    assert home["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"].rpartition("/")[2] in {path.name for path in FILES}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_ids_are_unique_and_places_do_not_overlap(name: str) -> None:
    all_panels = DASHBOARDS[name]["panels"]
    ids = [panel["id"] for panel in all_panels]
    assert len(set(ids)) == len(ids)
    places = [panel["gridPos"] for panel in all_panels]
    assert all(at["x"] >= 0 and at["x"] + at["w"] <= 24 for at in places)
    for one, other in combinations(places, 2):
        assert (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        ), (one, other)
    titles = [panel["title"] for panel in panels(DASHBOARDS[name])]
    assert len(set(titles)) == len(titles)


# --------------------------------------------------------------------------- panels


@each_panel
def test_panels_explain_themselves_and_their_emptiness(dashboard: str, panel: dict[str, Any]) -> None:
    assert re.fullmatch(r"[A-Z_0-9].{8,}\.", panel["description"], re.DOTALL), dashboard
    nothing = panel["fieldConfig"]["defaults"]["noValue"]
    assert nothing
    if panel["type"] == "stat":  # drawn as large as it fits, so that a sentence cannot be read
        assert len(nothing) <= 16


@each_panel
def test_panels_have_units(dashboard: str, panel: dict[str, Any]) -> None:
    if panel["type"] not in ("logs", "table"):
        assert panel["fieldConfig"]["defaults"]["unit"], dashboard
    if panel["type"] == "table":
        united = {
            one["matcher"]["options"]
            for one in panel["fieldConfig"]["overrides"]
            if any(each["id"] == "unit" for each in one["properties"])
        }
        values = {column for label, column in _renamed(panel).items() if label.startswith("Value")}
        assert values <= united


@each_panel
def test_tables_have_columns_that_their_queries_give(dashboard: str, panel: dict[str, Any]) -> None:
    labels = set(_renamed(panel))
    if not labels or any(one["id"] == "groupingToMatrix" for one in panel["transformations"]):
        return
    if panel["datasource"]["uid"] == "tempo":
        (target,) = panel["targets"]
        selected = set(re.findall(r'span\."([^"]+)"', target["query"].partition("select")[2]))
        assert labels - OF_EVERY_SPAN == selected, dashboard
        return
    values = {"Value"} if panel["datasource"]["uid"] == "prometheus" else {"Value #A"}
    if len(panel["targets"]) > 1:
        values = {f"Value #{target['refId']}" for target in panel["targets"]}
    for target in panel["targets"]:
        outermost = re.findall(r"by \(([^)]*)\)", target["expr"])[0]
        assert {one.strip() for one in outermost.split(",")} - {"le"} | values == labels, dashboard


def _renamed(panel: dict[str, Any]) -> dict[str, str]:
    for one in panel.get("transformations", ()):
        if one["id"] == "organize":
            return one["options"]["renameByName"]
    return {}


@each_panel
def test_empty_cells_do_not_show_what_an_empty_table_does(dashboard: str, panel: dict[str, Any]) -> None:
    if panel["type"] == "table":
        first = panel["fieldConfig"]["overrides"][0]
        assert first["matcher"] == {"id": "byRegexp", "options": ".*"}, dashboard
        assert first["properties"] == [{"id": "noValue", "value": NO_CELL}]


@each_panel
def test_data_sources_are_provisioned(dashboard: str, panel: dict[str, Any]) -> None:
    file = yaml.safe_load((PROVISIONING / "datasources" / "spanhook.yaml").read_text())
    there = {one["uid"]: one["type"] for one in file["datasources"]}
    for source in (panel["datasource"], *(target["datasource"] for target in panel["targets"])):
        assert there[source["uid"]] == source["type"], dashboard


# --------------------------------------------------------------------------- queries


@each(QUERIES)
def test_variables_are_there(query: Query) -> None:
    defined = {one["name"] for one in DASHBOARDS[query.dashboard]["templating"]["list"]}
    used = set(re.findall(r"\$(\w+)", query.text))
    assert used <= defined | {"__range", "__rate_interval"}
    assert {one for one in defined if one not in EVERYTHING} == set()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_variables_of_all_dashboards(name: str) -> None:
    variables = {one["name"]: one for one in DASHBOARDS[name]["templating"]["list"]}
    assert list(variables)[:4] == ["service", "agent", "model", "tenant"]
    for one in list(variables.values())[:4]:
        metric, label = re.fullmatch(r"label_values\((\w+)(?:\{[^}]*\})?, (\w+)\)", one["query"]).groups()  # type: ignore[union-attr]
        assert metric in METRICS
        assert label in LABELS
        assert one["allValue"] == EVERYTHING[one["name"]]


@each([one for one in QUERIES if one.source == "prometheus"])
def test_promql_asks_for_metrics_and_labels_that_there_are(query: Query) -> None:
    text = _without_strings(query.text)
    asked = set(re.findall(r"([a-zA-Z_:][\w:]*)\{", text)) | set(re.findall(r"(?<![\w$:])\w+:[\w:]+", text))
    assert asked
    assert asked <= METRICS
    assert _labels(text) <= LABELS


@each([one for one in QUERIES if one.source == "loki"])
def test_logql_asks_for_attributes_that_there_are(query: Query) -> None:
    text = _without_strings(query.text)
    stages = set(re.findall(r"\| (\w+)\s*(?:=|!|>)", text)) | set(re.findall(r"unwrap (\w+)", text))
    assert stages
    assert stages | _labels(text) | set(re.findall(r"\{\{\.(\w+)\}\}", query.text)) <= LABELS
    events = re.findall(r'event_name="([^"]+)"', query.text)
    assert set(events) <= {semconv.EVENT_RUN, semconv.EVENT_DECISION}


@each([one for one in QUERIES if one.source == "tempo"])
def test_traceql_asks_for_attributes_that_there_are(query: Query) -> None:
    assert set(re.findall(r'span\."([^"]+)"', query.text)) <= ATTRIBUTES
    assert re.findall(r"span\.\w", query.text) == []  # unquoted, which Grafana's editor cannot read
    assert set(re.findall(r"resource\.([\w.]+)", query.text)) == {"service.name"}


def _without_strings(text: str) -> str:
    return re.sub(r'"[^"]*"|`[^`]*`', '""', text)


def _labels(text: str) -> set[str]:
    grouped = {one.strip() for found in re.findall(r"by \(([^)]*)\)", text) for one in found.split(",")}
    matched = {one for found in re.findall(r"\{([^{}]*)\}", text) for one in re.findall(r"(\w+)\s*(?:=|!=)", found)}
    return grouped | matched


# --------------------------------------------------------------------------- links


def _urls(panel: dict[str, Any]) -> Iterator[str]:
    config = panel["fieldConfig"]
    for link in config["defaults"].get("links", ()):
        yield link["url"]
    for override in config["overrides"]:
        for one in override["properties"]:
            if one["id"] == "links":
                yield from (link["url"] for link in one["value"])


def _leads_to(url: str) -> str:
    path, _, parameters = url.partition("?")
    if path.startswith("/d/"):
        return path.removeprefix("/d/")
    if path == "/explore":
        return re.findall(r'"datasource":"(\w+)"', unquote(parameters))[0]
    return path


@each_panel
def test_links_lead_somewhere(dashboard: str, panel: dict[str, Any]) -> None:
    for url in _urls(panel):
        assert _leads_to(url) in {*DASHBOARDS, "tempo", "/alerting/list"}, dashboard
        for name, value in re.findall(r"var-(\w+)=([^&]*)", url):
            assert name in EVERYTHING
            assert value == "${__value.raw:percentencode}"


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_dashboard_is_one_click_from_every_other(name: str) -> None:
    (link,) = DASHBOARDS[name]["links"]
    assert link["type"] == "dashboards"
    assert link["keepTime"]
    assert link["includeVars"]
    assert set(link["tags"]) <= set(DASHBOARDS[name]["tags"])


def _titles(name: str) -> set[str]:
    return {panel["title"] for panel in panels(DASHBOARDS[name])}


def test_every_question_is_answered_within_two_clicks_from_the_first_dashboard() -> None:
    one_click = {_leads_to(url) for panel in panels(DASHBOARDS["spanhook-agents"]) for url in _urls(panel)}
    assert one_click == {*DASHBOARDS, "tempo", "/alerting/list"}
    answers = {
        "what broke": ("agents", "Where they broke"),
        "which run and why": ("agents", "Runs that failed or were rejected"),
        "who is spending": ("usage", "Top users"),
        "on which model and agent": ("usage", "Cost by agent and model"),
        "which gate blocked whom": ("hooks", "Who was blocked"),
        "what is ungated": ("hooks", "Libraries by service"),
        "what became slow, model": ("agents", "Models, now and before"),
        "what became slow, tool": ("agents", "Tools, now and before"),
        "is a gate failing open": ("hooks", "Failed open"),
        "is a gate timing out": ("hooks", "Timeouts"),
        "is telemetry complete": ("pipeline", "Items lost"),
    }
    for question, (name, title) in answers.items():
        assert title in _titles(f"spanhook-{name}"), question


def test_usage_decisions_and_latency_are_asked_of_the_sdk() -> None:
    """Span metrics are of spans that an SDK has sampled; they tell of coverage, cutting and hand-offs alone."""
    of_spans = {str(query) for query in QUERIES if outside.SPAN_CALLS in query.text}
    assert of_spans == {"agents/Hand-offs by status/A", "hooks/Operations that no hook saw/A", "pipeline/Cut at 2 KB/A"}


def test_the_documentation_names_every_panel() -> None:
    text = " ".join((ROOT / "docs" / "stack.md").read_text().split())
    assert {title for name in DASHBOARDS for title in _titles(name) if f"**{title}**" not in text} == set()


def test_the_documentation_says_how_many_runs_are_sorted() -> None:
    loki = yaml.safe_load((ROOT / "collector" / "backends" / "loki.yaml").read_text())
    most = loki["limits_config"]["max_query_series"]
    assert f"Loki sorts {most:,} runs at a time" in (ROOT / "docs" / "stack.md").read_text()
