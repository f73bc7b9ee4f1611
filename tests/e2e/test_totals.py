"""What the load prints is what Prometheus has: series by series, and by the totals a reader would ask for."""

import uuid
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.loads import foretold, load, stored
from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.stack import Stack, stack

pytestmark = pytest.mark.e2e


def test_prometheus_has_what_the_load_counted(running: Stack) -> None:
    instance = str(uuid.uuid4())
    document = load({**running.environ(), "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={instance}"})
    expected = foretold(document)
    names = {name for name, _ in expected}

    def arrived() -> bool:
        return len(stored(running.prometheus, names, instance)) >= len(expected)

    until(arrived, "series of the load in Prometheus")
    found = stored(running.prometheus, names, instance)
    assert set(found) - set(expected) == set() or all(name.endswith("_sum") for name, _ in set(found) - set(expected))
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)

    totals, own = document["totals"], f'instance="{instance}"'

    def total(promql: str) -> float:
        return running.prometheus.value(promql.replace("$own", own))

    assert total("sum(last_over_time(spanhook_run_llm_calls_count{$own}[1h]))") == totals["runs"]
    assert total("sum(last_over_time(spanhook_run_llm_calls_sum{$own}[1h]))") == totals["llm_calls"]
    assert total("sum(last_over_time(spanhook_run_tool_calls_sum{$own}[1h]))") == totals["tool_calls"]
    for status, runs in totals["runs_by_status"].items():
        assert (
            total(f'sum(last_over_time(spanhook_run_llm_calls_count{{$own,spanhook_status="{status}"}}[1h]))') == runs
        )
    for model, buckets in totals["tokens"].items():
        for bucket, tokens in buckets.items():
            labels = f'$own,gen_ai_response_model="{model}",spanhook_token_bucket="{bucket}"'
            assert total(f"sum(last_over_time(spanhook_usage_tokens_total{{{labels}}}[1h]))") == tokens
    assert total("sum(last_over_time(spanhook_usage_cost_USD_total{$own}[1h]))") == pytest.approx(
        totals["total_cost"]["usd_float"], rel=1e-12
    )


@pytest.mark.parametrize("percent", ["0", "1"])
def test_sampling_changes_no_figure(tmp_path: Path, percent: str) -> None:
    with stack(tmp_path, {"SPANHOOK_SAMPLING_PERCENT": percent}) as one:
        instance = str(uuid.uuid4())
        document = load({**one.environ(), "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={instance}"})
        expected = foretold(document)
        names = {name for name, _ in expected}

        def arrived() -> bool:
            """Prometheus begins every series with a zero of its own, which is there a moment before what was sent."""
            there = stored(one.prometheus, names, instance)
            return all(there.get(key, 0.0) > 0.0 or not value for key, value in expected.items())

        until(arrived, "series of the load")
        found = stored(one.prometheus, names, instance)
        assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)
        if one.loki is None:
            told = Counter(record.attributes.get("event.name") for record in one.sink.records())
            assert {name: told[name] for name in document["totals"]["events"]} == document["totals"]["events"]


def test_span_metrics_are_the_sum_of_all_processes_of_a_service(running: Stack) -> None:
    service = f"twins-{uuid.uuid4()}"
    for instance, runs in (("one", 5), ("two", 7)):
        with application(running.endpoint, {"service.name": service, "service.instance.id": instance}) as app:
            for _ in range(runs):
                app.run("invoke_agent twin")
    calls = f'sum(traces_span_metrics_calls_total{{service_name="{service}"}})'
    until(lambda: running.prometheus.value(calls) == 12, "calls of both processes")
