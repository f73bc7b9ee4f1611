"""What is lost while something behind an application is away, and the application goes on working.

Of metrics and log events nothing; of traces at most those that a collector had not decided about when it was killed.
"""

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spanhook import semconv
from tests.e2e.backends import Record
from tests.e2e.figures import Figures
from tests.e2e.programs import until
from tests.e2e.stack import Stack, stack
from tests.e2e.webhooks import webhook
from tests.e2e.workers import SERVICE, Work, Worker, worker

pytestmark = pytest.mark.e2e

EVERY_TRACE = {"SPANHOOK_SAMPLING_PERCENT": "100"}
WAITED = 5.0
"""Seconds that a call of the application never takes by itself; one that waits for an exporter takes ten."""
HELD = "otelcol_processor_tail_sampling_sampling_traces_on_memory"


def records(one: Stack) -> list[Record]:
    """Log records of the application."""
    return [record for record in one.sink.records() if record.resource["service.name"] == SERVICE]


def events(one: Stack) -> Counter[str]:
    """How many log events of each name there are; a run has one of each at most, and what is sent again is no other."""
    return Counter(name for name, _ in {(record.attributes["event.name"], record.trace_id) for record in records(one)})


def traces(one: Stack) -> set[str]:
    """The ids of all traces."""
    return {span.trace_id for span in one.sink.spans()}


def nothing_is_missing(one: Stack, app: Worker, made: list[Work], fault: str, figures: Figures) -> None:
    """Wait for every log event and every figure of these runs, neither more nor less; tell of them."""
    refused = sum(work.refused for work in made)
    slowest = max(work.seconds for work in made)

    def counted() -> dict[str, float]:
        return {
            "runs": app.total(one.prometheus, "spanhook_run_llm_calls_count"),
            "model calls": app.total(one.prometheus, "spanhook_run_llm_calls_sum"),
            "tool calls": app.total(one.prometheus, "spanhook_run_tool_calls_sum"),
            "refused": app.total(one.prometheus, "spanhook_hook_decisions_total", 'spanhook_decision="reject"'),
            "dropped": app.total(one.prometheus, "spanhook_telemetry_dropped_total"),
        }

    runs = len(made)
    figured = {
        "runs": runs,
        "model calls": 3 * runs,
        "tool calls": 2 * runs - refused,
        "refused": refused,
        "dropped": 0,
    }
    told = {semconv.EVENT_RUN: runs, semconv.EVENT_DECISION: refused}
    until(lambda: events(one) == told, f"log events {told}")
    until(lambda: counted() == figured, f"figures {figured}")
    for name, count in told.items():
        figures.tell(fault, name, count, events(one)[name])
    figures.tell(fault, "runs in metrics", runs, counted()["runs"], slowest=slowest)
    assert slowest < WAITED


def test_backends_are_down_for_a_minute(tmp_path: Path, figures: Figures) -> None:
    fault = "backends down for 60 s"
    with stack(tmp_path, EVERY_TRACE, loki=False) as one, worker(tmp_path / "working", one.environ()) as app:
        app.works()
        one.sink_server.stop()
        one.prometheus_server.kill()
        app.works_for(60)
        one.sink_server.start()
        one.prometheus_server.start()
        app.works()
        app.end()
        made = app.made()
        nothing_is_missing(one, app, made, fault, figures)
        spans = app.total(one.prometheus, "otel_sdk_span_started_total")

        def arrived() -> int:
            return len({span.span_id for span in one.sink.spans()})

        until(lambda: arrived() == spans, f"{spans} spans")
        figures.tell(fault, "spans", spans, arrived())


def test_a_collector_is_killed(tmp_path: Path, figures: Figures) -> None:
    """Traces are missed by comparing what was received with what was decided about, and the webhook hears of it."""
    fault = "collector killed"
    as_committed = {**EVERY_TRACE, "SPANHOOK_SAMPLING_WAIT_AFTER_ROOT": "10s"}
    with (
        webhook() as (url, alerts),
        stack(tmp_path, as_committed, url, loki=False, patience="20s") as one,
        worker(tmp_path / "working", one.environ()) as app,
    ):
        until(lambda: traces(one), "trace that was decided about")
        app.works()
        until(lambda: one.prometheus.value(f"sum({HELD})"), "traces held")
        killed = time.time()
        one.collector.kill()
        decided = len(traces(one))
        one.collector.start()
        app.works()
        app.end()
        made = app.made()
        nothing_is_missing(one, app, made, fault, figures)
        until(lambda: one.prometheus.value(f"sum({HELD})") == 0, "decisions about all that is held")

        def heard() -> list[Any]:
            return [alert for alert in alerts if alert["labels"]["alertname"] == "SpanhookTracesLost"]

        alert = until(heard, "alert about traces lost", 90)[0]
        assert alert["labels"]["instance"] == "standalone"
        counted = int(re.findall(r"lost about (\d+) undecided traces", alert["annotations"]["summary"])[0])
        runs = {record.trace_id for record in records(one) if record.attributes["event.name"] == semconv.EVENT_RUN}
        lost = len(runs - traces(one))
        figures.tell(fault, f"traces (alert: about {counted})", len(runs), len(runs) - lost, lost)
        assert counted > lost / 2
        assert 0 < lost <= sum(work.at < killed for work in made) - decided
