"""What is asked of traces, in Tempo: every TraceQL query of every panel finds the spans that the load has counted."""

import time
import uuid
from collections import Counter
from typing import Any

import pytest
import yaml

from spanhook import semconv
from tests.e2e.backends import Found, Tempo
from tests.e2e.loads import PROMETHEUS_NAMES
from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.stack import ROOT, Stack, needed
from tests.e2e.told import Told
from tests.panels import Query, queries

pytestmark = pytest.mark.e2e

TRACEQL = {str(query): query for query in queries() if query.source == "tempo"}


class Kept:
    """Tempo behind a stack that kept every trace of a load."""

    def __init__(self, tempo: Tempo, told: Told) -> None:
        self.tempo, self.told = tempo, told
        self.service, self.document = told.service, told.document

    def found(self, query: Query) -> list[Found]:
        return self.tempo.query(query.put_in({"service": self.service}))

    def every(self) -> list[Found]:
        return self.tempo.query(f'{{ resource.service.name = "{self.service}" }} | select(name, span."{semconv.KIND}")')

    def counted(self, metric: str, *by: str) -> Counter[tuple[str, ...]]:
        """What the load counted of a metric, by attributes; of decisions, those that were enforced."""
        if metric == semconv.METRIC_DECISIONS:
            found = self.told.counted(metric, *by, mode=("enforce",))
        else:
            found = self.told.counted(metric, *by, field="count")
        return Counter({key: int(count) for key, count in found.items()})


@pytest.fixture(scope="module")
def kept(told: Told) -> Kept:
    needed("tempo")
    assert told.stack.tempo is not None
    one = Kept(told.stack.tempo, told)
    totals = told.document["totals"]
    spans = sum(totals["spans"].values()) + sum(totals["guardrail_spans"].values())
    until(lambda: len(one.every()) >= spans, f"{spans} spans in Tempo", 90)
    return one


def _by(found: list[Found], *names: str) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(span.attributes.get(name, "")) for name in names) for span in found)


def test_every_span_is_there(kept: Kept) -> None:
    """Those of attempts to ask a remote policy, which are no operations, have no kind."""
    totals = kept.document["totals"]
    attempts = sum(totals["guardrail_spans"].values())
    assert attempts
    operations = {(kind,): n for kind, n in totals["spans"].items()}
    assert _by(kept.every(), semconv.KIND) == {**operations, ("",): attempts}
    names = {span.name for span in kept.every() if not span.attributes.get(semconv.KIND)}
    assert names == {"apply_guardrail http"}


def test_where_they_broke(kept: Kept) -> None:
    wanted = Counter[tuple[str, ...]]()
    for kind, metric in (
        ("agent.invoke", semconv.METRIC_AGENT_DURATION),
        ("tool.execute", semconv.METRIC_TOOL_DURATION),
    ):
        for (status,), count in kept.counted(metric, semconv.STATUS).items():
            if status in ("error", "rejected"):
                wanted[kind, status] += count
    for errors in kept.document["totals"]["model_calls"].values():  # refused ones too, which are in no duration
        for error, count in errors.items():
            if error and "CancelledError" not in error:
                wanted["llm.call", "rejected" if error == "spanhook.Reject" else "error"] += count
    found = kept.found(TRACEQL["agents/Where they broke/A"])
    kinds = {"invoke_agent": "agent.invoke", "execute_tool": "tool.execute", "chat": "llm.call"}
    assert Counter((kinds[span.name.split()[0]], span.attributes[semconv.STATUS]) for span in found) == wanted


def test_tools_that_failed_or_were_refused(kept: Kept) -> None:
    by = (semconv.GEN_AI_TOOL_NAME, semconv.STATUS, semconv.ERROR_TYPE)
    counted = kept.counted(semconv.METRIC_TOOL_DURATION, *by)
    wanted = {key: count for key, count in counted.items() if key[1] in ("error", "rejected")}
    found = kept.found(TRACEQL["tools/Executions that failed or were refused/A"])
    assert Counter((_tool(span), *(span.attributes.get(name, "") for name in by[1:])) for span in found) == wanted


def _tool(span: Found) -> str:
    return span.name.removeprefix("execute_tool ")


def test_who_was_blocked(kept: Kept) -> None:
    """A span names the hook that decided; where two failed on it, one of them. The load exports no foreign spans."""
    found = _by(kept.found(TRACEQL["hooks/Blocked, in traces/A"]), semconv.DECISION_HOOK, semconv.DECISION)
    decisions = kept.counted(semconv.METRIC_DECISIONS, semconv.HOOK, semconv.DECISION, semconv.COVERAGE)
    wanted = Counter({key[:2]: count for key, count in decisions.items() if key[2] == "enforced"})
    for (hook, decision), count in wanted.items():
        if decision in ("reject", "pause"):
            assert found[hook, decision] == count
    assert found <= wanted


def test_no_tool_of_the_load_takes_a_second(kept: Kept) -> None:
    query = TRACEQL["tools/Slow executions/A"]
    assert kept.found(query) == []
    quicker = Query(query.dashboard, query.panel, query.ref, query.source, query.text.replace("> 1s", "> 1ns"))
    assert len(kept.found(quicker)) == kept.document["totals"]["spans"]["tool.execute"]


def test_who_handed_off(kept: Kept) -> None:
    agents = kept.document["totals"]["runs_by_agent"]
    found = kept.found(TRACEQL["agents/Who handed off to whom/A"])
    assert len(found) == kept.document["totals"]["spans"]["agent.delegate"]
    assert {span.attributes[semconv.DELEGATING_AGENT] for span in found} <= set(agents)
    assert {span.attributes[semconv.GEN_AI_AGENT_NAME] for span in found} <= {"billing", "shipping"}


def test_every_query_is_checked() -> None:
    assert TRACEQL.keys() == {
        "agents/Who handed off to whom/A",
        "agents/Where they broke/A",
        "hooks/Blocked, in traces/A",
        "tools/Slow executions/A",
        "tools/Executions that failed or were refused/A",
    }


@pytest.mark.parametrize("metric", [semconv.METRIC_AGENT_DURATION, semconv.METRIC_CLIENT_DURATION])
def test_a_point_on_a_graph_leads_to_a_trace(kept: Kept, running: Stack, metric: str) -> None:
    now = time.time()
    selector = f'{PROMETHEUS_NAMES[metric]}_bucket{{service_name="{kept.service}"}}'
    exemplars = running.prometheus.exemplars(selector, now - 3600, now)
    assert exemplars
    assert {one["labels"]["trace_id"] for one in exemplars} <= {span.trace_id for span in kept.every()}


def _data_source(name: str) -> Any:
    known = yaml.safe_load((ROOT / "grafana" / "provisioning" / "datasources" / "spanhook.yaml").read_text())
    return next(one["jsonData"] for one in known["datasources"] if one["name"] == name)


def _put_in(query: str, service: str, trace_id: str) -> str:
    """As Grafana does on a click on a span: provisioning writes a dollar sign twice."""
    query = query.replace("$$", "$")
    known = {
        "${__tags}": f'service_name="{service}"',
        "$__tags": f'service_name="{service}"',
        "${__trace.traceId}": trace_id,
        '${__span.tags["service.name"]}': service,
    }
    for variable, value in known.items():
        query = query.replace(variable, value)
    assert "$" not in query
    return query


def test_a_trace_leads_to_its_log_events(kept: Kept, running: Stack) -> None:
    loki = running.needed_loki()
    link = _data_source("Tempo")["tracesToLogsV2"]
    (trace, *_) = [span.trace_id for span in kept.found(TRACEQL["hooks/Blocked, in traces/A"])]
    now = time.time()
    query = _put_in(link["query"], kept.service, trace)
    lines = loki.query(query, now - 3600, now + 60)
    assert {line["labels"]["event_name"] for line in lines} == {semconv.EVENT_RUN, semconv.EVENT_DECISION}
    assert {line["labels"]["trace_id"] for line in lines} == {trace}


@pytest.mark.parametrize("query", _data_source("Tempo")["tracesToMetrics"]["queries"], ids=lambda one: one["name"])
def test_a_trace_leads_to_its_metrics(kept: Kept, running: Stack, query: dict[str, str]) -> None:
    promql = _put_in(query["query"], kept.service, "")
    until(lambda: any(one.value > 0 for one in running.prometheus.query(promql)), f"data for {promql}")


def test_content_is_not_cut_again(running: Stack) -> None:
    needed("tempo")
    assert running.tempo is not None
    tempo, mark = running.tempo, uuid.uuid4().hex
    with application(running.endpoint) as app:
        app.run("invoke_agent long", attributes={"mark": mark, "gen_ai.input.messages": "é" * 500_000})
    query = f'{{ span.mark = "{mark}" }} | select(span."gen_ai.input.messages", span."spanhook.truncated")'
    (span,) = until(lambda: tempo.query(query), "the span", 90)
    assert len(span.attributes["gen_ai.input.messages"].encode()) in (2047, 2048)
    assert span.attributes["gen_ai.input.messages"].endswith("é…")
    assert span.attributes["spanhook.truncated"] is True
