"""What the load prints is what Prometheus has: series by series, and by the totals a reader would ask for."""

import uuid
from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from tests.e2e.loads import RUNS, complete, figures, foretold, foretold_events, load, stored, stored_events
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


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack, None, None]:
    """A stack whose traces can be counted."""
    with stack(tmp_path_factory.mktemp("traced"), {"SPANHOOK_SAMPLING_PERCENT": "100"}) as one:
        yield one


def check(one: Stack, environ: Mapping[str, str]) -> str:
    """Run a load and hold metrics and log events against what it printed; returns the instance it was."""
    instance = str(uuid.uuid4())
    resource = {"OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={instance}"}
    document = load({**one.environ(), **resource, **environ})
    until(lambda: complete(one.prometheus, document, instance), "metrics of the load")

    events = document["totals"]["events"]
    until(lambda: len(stored_events(one, instance)) >= sum(events.values()), "log events of the load")
    told = stored_events(one, instance)
    assert Counter(event["event_name"] for event in told) == events
    assert figures(told) == foretold_events(document)
    return instance


@pytest.mark.parametrize("percent", ["0", "1"])  # 100 is that of ``traced``
def test_what_the_collector_samples_changes_no_figure(tmp_path: Path, percent: str) -> None:
    with stack(tmp_path, {"SPANHOOK_SAMPLING_PERCENT": percent}) as one:
        check(one, {})


@pytest.mark.parametrize(
    ("sampler", "share", "own_metrics"),
    [
        ("always_on", "1", "false"),
        ("always_off", "0", "true"),
        ("traceidratio", "0.01", "false"),
        ("parentbased_traceidratio", "0.01", "true"),
    ],
)
def test_what_the_sdk_samples_changes_no_figure(traced: Stack, sampler: str, share: str, own_metrics: str) -> None:
    """With the SDK's own metrics on, all spans are opened by its tracer."""
    instance = check(
        traced,
        {
            "OTEL_TRACES_SAMPLER": sampler,
            "OTEL_TRACES_SAMPLER_ARG": share,
            "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": own_metrics,
        },
    )
    kept = {span.trace_id for span in traced.sink.spans() if span.resource["service.instance.id"] == instance}
    assert len(kept) <= RUNS * float(share) * 10


def test_span_metrics_are_the_sum_of_all_processes_of_a_service(running: Stack) -> None:
    service = f"twins-{uuid.uuid4()}"
    for instance, runs in (("one", 5), ("two", 7)):
        with application(running.endpoint, {"service.name": service, "service.instance.id": instance}) as app:
            for _ in range(runs):
                app.run("invoke_agent twin")
    calls = f'sum(traces_span_metrics_calls_total{{service_name="{service}"}})'
    until(lambda: running.prometheus.value(calls) == 12, "calls of both processes")
