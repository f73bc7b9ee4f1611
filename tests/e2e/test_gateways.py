"""Gateways that go and come while telemetry flows: what of it is lost, what waits, what comes twice."""

import uuid
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.tiers import Tiers, tiers

pytestmark = pytest.mark.e2e

STEPS = tuple(("chat house-model-1", "success") for _ in range(3))
SPANS = 1 + len(STEPS)


def _numbers(two: Tiers, mark: str) -> Counter[int]:
    return Counter(
        int(record.attributes["number"]) for record in two.records() if record.attributes.get("mark") == mark
    )


def _of(two: Tiers, gateway: str, traces: set[str]) -> Counter[str]:
    return Counter(span.trace_id for span in two.gateways[gateway].sink.spans() if span.trace_id in traces)


def _in_vain(two: Tiers, signal: str) -> bool:
    lines = two.agent.log.read_text().splitlines()
    return any("Exporting failed" in line and f'"otelcol.signal": "{signal}"' in line for line in lines)


def test_of_a_gateway_that_is_killed_only_undecided_traces_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, numbers = uuid.uuid4().hex, count()
    late = {"SPANHOOK_SAMPLING_PERCENT": "100", "SPANHOOK_SAMPLING_WAIT_AFTER_ROOT": "5s"}
    with tiers(tmp_path, late) as two:
        if two.hosts is None:
            pytest.skip("this machine lets no process have a hosts file of its own, so no name can change")
        for name, value in two.environ().items():
            monkeypatch.setenv(name, value)
        with application(two.endpoint) as app:

            def tell() -> set[str]:
                for _ in range(100):
                    app.log("spanhook.run", {}, {"mark": mark, "number": next(numbers)})
                traces = {app.run("invoke_agent one", children=STEPS) for _ in range(50)}
                assert app.logger_provider.force_flush()
                assert app.tracer_provider.force_flush()
                return traces

            before = tell()
            until(lambda: {span.trace_id for span in two.spans()} == before, "traces decided by two gateways")
            undecided = tell()
            accepted = "sum(otelcol_receiver_accepted_spans_total{job='spanhook-gateway'})"
            until(lambda: two.prometheus.value(accepted) >= 100 * SPANS, "undecided traces in the gateways")
            two.gateways["gateway-1"].collector.kill()
            during = tell()
            for signal in ("traces", "logs"):
                until(
                    lambda signal=signal: _in_vain(two, signal),
                    f"{signal} sent in vain",
                )
            two.name("gateway-2")
            after = tell()
            until(lambda: _of(two, "gateway-2", after) >= Counter(dict.fromkeys(after, SPANS)), "traces by the other")
            until(lambda: _of(two, "gateway-2", during) >= Counter(dict.fromkeys(during, SPANS)), "those between")
            two.gateways["gateway-1"].collector.start()
            until(lambda: len(_numbers(two, mark)) == 400, "every log event")
            two.name("gateway-1", "gateway-2")
            # each of traces, logs and metrics has seen two gateways, one, and two again
            updates = "sum(otelcol_loadbalancer_num_backend_updates_total)"
            until(lambda: two.prometheus.value(updates) == 3 * 3, "two gateways known to the agent")
            again = tell()
            whole = Counter(dict.fromkeys(again, SPANS))
            until(lambda: _of(two, "gateway-1", again) + _of(two, "gateway-2", again) == whole, "traces by both again")
            assert _of(two, "gateway-1", again)
            assert _of(two, "gateway-2", again)
        kept = {span.trace_id for span in two.spans()}
        lost = undecided - kept
        assert before | during | after | again <= kept
        assert not _of(two, "gateway-1", undecided)
        assert _of(two, "gateway-2", undecided) == dict.fromkeys(undecided - lost, SPANS)
        # What waited for the gateway that was gone was sent whole to the one that was left, which had its part already.
        twice = {number for number, times in _numbers(two, mark).items() if times > 1}
        assert twice <= set(range(200, 400))
        spans = Counter(span.span_id for span in two.spans())
        assert {span.trace_id for span in two.spans() if spans[span.span_id] > 1} <= during | after
