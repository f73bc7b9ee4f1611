"""What tail sampling keeps: every failed, rejected, dear and slow run whole, and of the rest the share asked for."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from spanhook import semconv
from tests.e2e.accounts import is_alerting
from tests.e2e.agent import CALLS
from tests.e2e.backends import Sink
from tests.e2e.programs import until
from tests.e2e.sending import Application, application
from tests.e2e.stack import COLLECTOR, Pipe, pipe, stack
from tests.panels import queries

pytestmark = pytest.mark.e2e

NOTHING = {"SPANHOOK_SAMPLING_PERCENT": "0"}
COMMITTED = {
    name: re.findall(rf"{name}:-(\w+)", (COLLECTOR / "standalone.yaml").read_text())[0]
    for name in ("SPANHOOK_SAMPLING_WAIT", "SPANHOOK_SAMPLING_WAIT_AFTER_ROOT")
}
"""How long traces wait unless told otherwise, which ``stack`` does for other tests."""
AGENT, HOOKS = (Path(__file__).with_name(f"{name}.py") for name in ("agent", "no_refunds"))
SPANS = CALLS + 2
"""Of each run of it."""
RECEIVED, SAMPLING = "otelcol_receiver_accepted_spans", "otelcol_processor_tail_sampling_"
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
                _decided(app, "error", "modify"): 1,
                app.run("invoke_agent dear", attributes={"spanhook.cost.usd": 0.75}, children=STEPS): 3,
                app.run("invoke_agent slow", seconds=31, children=STEPS): 3,
            }
            changed = _decided(app, "modify", "skipped")
            cheap = app.run("invoke_agent cheap", attributes={"spanhook.cost.usd": 0.25}, children=STEPS)
        kept = until(lambda: _kept(one.sink, sum(wanted.values())), "spans of all runs that matter", 30)
        assert kept == wanted
        assert not kept.keys() & {*plain, cheap, changed}


def _decided(app: Application, *decisions: str) -> str:
    """A run about which hooks have decided several times; its span is marked with the last."""
    span = app.tracer.start_span("invoke_agent decided", attributes={semconv.DECISION: decisions[-1]})
    for decision in decisions:
        span.add_event(semconv.EVENT_DECISION, {semconv.DECISION: decision})
    span.end()
    return f"{span.get_span_context().trace_id:032x}"


def _kept(sink: Sink, spans: int) -> Counter[str] | None:
    kept = Counter(span.trace_id for span in sink.spans())
    return kept if kept.total() >= spans else None


@contextmanager
def agent(to: Pipe, *runs: str) -> Generator[subprocess.Popen[str], None, None]:
    """An application under spanhook, whose spans leave it as they end; it has ended well when it is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "spanhook", "run", "--hooks", f"{HOOKS}:hooks", str(AGENT), *runs],
        env={**os.environ, **to.environ(), "OTEL_BSP_SCHEDULE_DELAY": "200"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    finally:
        _, errors = process.communicate(timeout=120)
        print(errors)
    assert process.returncode == 0


def test_a_minute_long_run_rejected_in_its_last_tool_is_kept_whole(tmp_path: Path) -> None:
    """As committed but for what else would keep a run; beside it one as long and short ones that nobody rejects."""
    short = 20
    with pipe(tmp_path, {**NOTHING, **COMMITTED, "SPANHOOK_SAMPLING_SLOW_MS": "600000"}) as one:
        with agent(one, "refused:60:refund", "long:60:look", *["short:0:look"] * short) as process:
            until(lambda: one.sink.total(f"{SAMPLING}global_count_traces_sampled") == short, "short runs decided")
            until(lambda: one.sink.total(RECEIVED) > short * SPANS + 6, "first steps of the long runs at the collector")
            assert process.poll() is None, "the long runs are to be under way"
        until(lambda: one.sink.total(f"{SAMPLING}global_count_traces_sampled") == short + 2, "decision about all")
        assert one.sink.total(f"{SAMPLING}global_count_traces_sampled", sampled="true") == 1
        kept = until(lambda: spans if len(spans := one.sink.spans()) >= SPANS else None, "spans of the run")
        assert Counter(span.name for span in kept) == {
            "invoke_agent refused": 1,
            "chat": CALLS,
            "execute_tool refund": 1,
        }
        assert len({span.trace_id for span in kept}) == 1
        assert one.sink.total(f"{SAMPLING}early_releases_from_cache_decision") == 0


def test_what_is_beyond_the_wait_is_counted(tmp_path: Path) -> None:
    """A run that lasts longer than traces wait is decided on its first steps; what comes then is shown as not kept."""
    panel = next(query for query in queries() if query.panel == "Late and not kept")
    with stack(tmp_path, {**NOTHING, "SPANHOOK_SAMPLING_WAIT": "3s"}) as one:
        with agent(one, "refused:12:refund"):
            pass
        until(lambda: one.prometheus.value(f"{panel.put_in()} > 0"), "late spans in the panel")
        late = f'sum({SAMPLING}early_releases_from_cache_decision_total{{sampled="false"}})'
        until(lambda: one.prometheus.value(f"{late} >= 2"), "the tool and the run among what was late")
        assert one.sink.spans() == []
        [refused] = one.prometheus.query('last_over_time(spanhook_run_llm_calls_count{spanhook_status="rejected"}[1h])')
        assert refused.value == 1


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


def test_more_traces_than_are_held_are_told_of(tmp_path: Path) -> None:
    with stack(tmp_path, {"SPANHOOK_SAMPLING_TRACES": "10"}, patience="1s") as one:
        with application(one.endpoint) as app:
            for _ in range(100):
                app.run("invoke_agent many")
        until(lambda: is_alerting(one, "SpanhookTracesDecidedEarly", instance="standalone"), "alert")
