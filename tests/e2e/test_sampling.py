"""What tail sampling keeps: every failed, rejected, dear and slow run whole, and of the rest the share asked for."""

import time
from collections import Counter
from pathlib import Path

import pytest
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from tests.e2e.backends import Sink
from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.stack import pipe

pytestmark = pytest.mark.e2e

NOTHING = {"SPANHOOK_SAMPLING_PERCENT": "0"}
STEPS = (("chat house-model-1", "success"), ("execute_tool search", "success"))


def test_what_matters_is_kept_whole_though_nothing_else_is(tmp_path: Path) -> None:
    with pipe(tmp_path, NOTHING) as one:
        with application(one.endpoint) as app:
            plain = [app.run("invoke_agent plain", children=STEPS) for _ in range(50)]
            wanted = {
                app.run("invoke_agent failed", status="error", children=[*STEPS, ("execute_tool refund", "error")]): 4,
                app.run("invoke_agent handled", children=[("execute_tool refund", "error"), *STEPS]): 4,
                app.run("invoke_agent rejected", children=[*STEPS, ("execute_tool refund", "rejected")]): 4,
                # rejected without an error status, as other instrumentations may leave it
                app.run("invoke_agent refused", status="rejected"): 1,
                app.run("invoke_agent open", attributes={"spanhook.decision": "timeout"}, children=STEPS): 3,
                app.run("invoke_agent dear", attributes={"spanhook.cost.usd": 0.75}, children=STEPS): 3,
                app.run("invoke_agent slow", seconds=31, children=STEPS): 3,
            }
            cheap = app.run("invoke_agent cheap", attributes={"spanhook.cost.usd": 0.25}, children=STEPS)
        kept = until(lambda: _kept(one.sink, sum(wanted.values())), "spans of all runs that matter", 30)
        assert kept == wanted
        assert not kept.keys() & {*plain, cheap}


def _kept(sink: Sink, spans: int) -> Counter[str] | None:
    kept = Counter(span.trace_id for span in sink.spans())
    return kept if kept.total() >= spans else None


def test_a_minute_long_run_rejected_in_its_last_tool_is_kept_whole(tmp_path: Path) -> None:
    """Its first spans arrive as they end, a minute of a run's life before its root does."""
    with pipe(tmp_path, {**NOTHING, "SPANHOOK_SAMPLING_WAIT": "60s"}) as one:
        with application(one.endpoint) as app:
            now = time.time()
            root = app.tracer.start_span("invoke_agent long", start_time=int((now - 60) * 1e9))
            context = set_span_in_context(root)
            for _ in range(20):
                app.tracer.start_span("chat house-model-1", context).end()
                app.tracer_provider.force_flush()
                time.sleep(0.25)
            tool = app.tracer.start_span("execute_tool refund", context, attributes={"spanhook.status": "rejected"})
            tool.set_status(Status(StatusCode.ERROR, "no"))
            tool.end()
            root.end()
        until(lambda: len(one.sink.spans()) == 22, "22 spans of one run", 30)
        assert len({span.trace_id for span in one.sink.spans()}) == 1


def test_a_span_that_comes_late_follows_the_decision(tmp_path: Path) -> None:
    with pipe(tmp_path, NOTHING) as one, application(one.endpoint) as app:
        roots = [app.tracer.start_span("invoke_agent early") for _ in range(2)]
        roots[0].set_status(Status(StatusCode.ERROR, "no"))
        for root in roots:
            root.end()
        app.tracer_provider.force_flush()
        until(lambda: len(one.sink.spans()) == 1, "root of the failed run", 30)
        for root in roots:
            app.tracer.start_span("execute_tool late", set_span_in_context(root)).end()
        app.tracer_provider.force_flush()
        until(lambda: len(one.sink.spans()) == 2, "late span of the failed run", 30)
        assert {span.trace_id for span in one.sink.spans()} == {f"{roots[0].get_span_context().trace_id:032x}"}
