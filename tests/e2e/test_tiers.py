"""An agent before two gateways: each trace is whole on one of them, and together they tell what one collector would."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

from spanhook import semconv
from tests.e2e.loads import foretold, load, stored
from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.tiers import Tiers, tiers
from tests.panels import queries

pytestmark = pytest.mark.e2e

STEPS = tuple(("chat house-model-1", "success") for _ in range(5))


@dataclass(frozen=True, slots=True)
class Loaded:
    """Tiers that have taken one load and keep no trace without a reason, and what the load has printed."""

    tiers: Tiers
    service: str
    instance: str
    document: Any

    def by_gateway(self, promql: str) -> dict[str, float]:
        """A query by ``instance``."""
        return {one.labels["instance"]: one.value for one in self.tiers.prometheus.query(promql)}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Generator[Loaded, None, None]:
    service, instance = f"shop-{uuid.uuid4()}", str(uuid.uuid4())
    with tiers(tmp_path_factory.mktemp("tiers"), {"SPANHOOK_SAMPLING_PERCENT": "0"}) as two:
        document = load(two.environ(service__name=service, service__instance__id=instance))
        yield Loaded(two, service, instance, document)


def test_log_events_arrive_once(loaded: Loaded) -> None:
    events = loaded.document["totals"]["events"]
    until(lambda: loaded.tiers.told(loaded.service).total() >= sum(events.values()), f"log events {events}")
    assert loaded.tiers.told(loaded.service) == events


def test_of_a_load_just_what_matters_is_kept(loaded: Loaded) -> None:
    test_log_events_arrive_once(loaded)
    ran = {
        record.trace_id: record.attributes
        for record in loaded.tiers.records()
        if record.attributes.get("event.name") == semconv.EVENT_RUN
    }
    failed = {trace for trace, run in ran.items() if run[semconv.STATUS] in ("error", "rejected")}
    until(lambda: failed <= {span.trace_id for span in loaded.tiers.spans()}, f"{len(failed)} failed or rejected runs")
    reasons: dict[str, set[object]] = defaultdict(set)
    for span in loaded.tiers.spans():
        if loaded.service == span.resource["service.name"]:
            reasons[span.trace_id] |= {span.status.get("code"), span.attributes.get(semconv.STATUS)}
            reasons[span.trace_id].add(span.attributes.get(semconv.DECISION))
    enough = {2, "STATUS_CODE_ERROR", "rejected", "reject", "attempted", "pause", "error", "timeout"}
    assert not [trace for trace, seen in reasons.items() if not seen & enough]
    assert 0 < len(reasons) < len(ran) == loaded.document["totals"]["runs"]


def test_a_trace_is_whole_on_one_gateway(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though each of its spans arrives in a request of its own."""
    two = loaded.tiers
    for name, value in {**two.environ(), "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    with application(two.endpoint) as app:
        plain = {app.run("invoke_agent plain", children=STEPS) for _ in range(40)}
        failed = {
            app.run("invoke_agent failed", children=[*STEPS, ("execute_tool refund", "error")]) for _ in range(40)
        }

    def kept() -> dict[str, Counter[str]]:
        return {
            name: Counter(span.trace_id for span in one.sink.spans() if span.trace_id in plain | failed)
            for name, one in two.gateways.items()
        }

    until(lambda: sum(one.total() for one in kept().values()) >= 40 * 7, "all spans of the failed runs")
    first, second = kept().values()
    assert first.keys()
    assert second.keys()
    assert not first.keys() & second.keys()
    assert first + second == dict.fromkeys(failed, 7)


def test_metrics_of_a_process_pass_one_gateway_and_are_what_the_load_counted(loaded: Loaded) -> None:
    expected = foretold(loaded.document)
    names = {name for name, _ in expected}

    def arrived() -> bool:
        """Prometheus begins every series with a zero of its own, which is there a moment before what was sent."""
        there = stored(loaded.tiers.prometheus, names, loaded.instance)
        return all(there.get(key, 0.0) > 0.0 or not value for key, value in expected.items())

    until(arrived, "series of the load in Prometheus")
    found = stored(loaded.tiers.prometheus, names, loaded.instance)
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    accepted = loaded.by_gateway(
        'sum by (instance) (otelcol_receiver_accepted_metric_points_total{job="spanhook-gateway"}) > 0'
    )
    assert len(accepted) == 1


def test_span_metrics_of_gateways_add_up(loaded: Loaded) -> None:
    totals = loaded.document["totals"]
    attempts = sum(totals["guardrail_spans"].values())
    spans = sum(totals["spans"].values()) + attempts
    query = f'traces_span_metrics_calls_total{{service_name="{loaded.service}"}}'
    until(lambda: loaded.tiers.prometheus.value(f"sum({query})") >= spans, f"{spans} spans")
    found = loaded.by_gateway(f"sum by (instance) ({query})")
    assert found.keys() == loaded.tiers.gateways.keys()
    assert all(found.values())
    assert sum(found.values()) == spans
    kinds = {
        one.labels.get("spanhook_kind", ""): one.value
        for one in loaded.tiers.prometheus.query(f"sum by (spanhook_kind) ({query})")
    }
    assert kinds == totals["spans"] | {"": attempts}


def test_the_service_graph_has_every_call_by_whom_it_went_to(loaded: Loaded) -> None:
    """Nobody answers with a span of their own, so that each call counts once it has waited for one."""
    totals = loaded.document["totals"]
    expected = Counter(totals["model_calls_by_provider"])  # those that a hook refused or answered have spans too
    expected["Policies"] = totals["spans"]["retrieval.query"]
    expected["127.0.0.1"] = sum(totals["guardrail_spans"].values())  # attempts to ask a remote policy
    query = f'traces_service_graph_request_total{{client="{loaded.service}"}}'

    def found() -> dict[str, float]:
        answer = loaded.tiers.prometheus.query(f"sum by (server) ({query})")
        return {one.labels["server"]: one.value for one in answer}

    until(lambda: sum(found().values()) >= expected.total(), f"edges {expected}")
    assert found() == expected
    assert loaded.by_gateway(f"sum by (instance) ({query})").keys() == loaded.tiers.gateways.keys()
    failed = loaded.tiers.prometheus.value(
        f'sum(traces_service_graph_request_failed_total{{client="{loaded.service}"}})'
    )
    errors = totals["model_calls"]
    cancelled = "asyncio.exceptions.CancelledError"
    unanswered = sum(
        attempts for hook, attempts in totals["guardrail_spans"].items() if set(totals["verdicts"][hook]) == {"error"}
    )
    retried = 2 * totals["verdicts"]["payments"]["error"]
    failures = sum(count for one in errors.values() for kind, count in one.items() if kind not in ("", cancelled))
    assert failed == failures + unanswered + retried

    (panel,) = [one for one in queries() if one.panel == "Who calls whom"]
    shown = until(
        lambda: loaded.tiers.prometheus.query(panel.put_in({"service": loaded.service})), "edges in the panel"
    )
    assert {(one.labels["client"], one.labels["server"]): one.value > 0 for one in shown} == {
        (loaded.service, server): True for server in expected
    }
