"""Full queues: neither the application's nor the collector's makes it wait, and what they have no room for is counted.

What was emitted is what arrived and what was counted as lost, to the item.
"""

import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.accounts import all_is_accounted_for, arrived, is_alerting, lost
from tests.e2e.figures import Figures
from tests.e2e.programs import until
from tests.e2e.stack import Stack, stack
from tests.e2e.workers import SERVICE, teller

pytestmark = pytest.mark.e2e

EVERY_TRACE = {"SPANHOOK_SAMPLING_PERCENT": "100"}
DECIDED = "sum(otelcol_processor_tail_sampling_global_count_traces_sampled_total)"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack, None, None]:
    with stack(tmp_path_factory.mktemp("queues"), EVERY_TRACE, loki=False, patience="1s") as running:
        yield running


def test_the_queue_of_an_sdk_is_full(one: Stack, tmp_path: Path, figures: Figures) -> None:
    """The collector takes connections and does not answer."""
    with teller(tmp_path / "app", one.environ()) as app:
        app.tell(logs=10, spans=10)
        until(lambda: arrived(one, app) == (10, 10), "what comes first")
        one.collector.send(signal.SIGSTOP)
        app.tell(logs=5_000, spans=5_000)
        one.collector.send(signal.SIGCONT)
        until(lambda: sum(lost(one, app)), "count of what was dropped")
        until(lambda: is_alerting(one, "SpanhookSdkDropping", service_name=SERVICE), "alert")
        app.end()
        all_is_accounted_for(one, app, "SDK queue full", figures)
        assert min(lost(one, app)) > 0
        assert app.total(one.prometheus, "otel_sdk_log_created_total") == app.made("logs")
        assert app.total(one.prometheus, "otel_sdk_span_started_total") == app.made("spans")


def test_a_collector_is_away_for_longer_than_an_exporter_tries(one: Stack, tmp_path: Path, figures: Figures) -> None:
    with teller(tmp_path / "app", one.environ()) as app:
        app.tell(logs=10, spans=10)
        until(lambda: arrived(one, app) == (10, 10), "what comes first")
        one.collector.kill()
        app.tell(logs=100, spans=100)
        for kind in ("logs", "spans"):
            until(lambda kind=kind: f"Failed to export {kind} batch" in app.log(), f"end of trying to send {kind}")
        one.collector.start()
        app.tell(logs=10, spans=10)
        app.end()
        all_is_accounted_for(one, app, "collector away for longer than an exporter tries", figures)
        assert lost(one, app) == (100, 100)


def test_the_queue_of_a_collector_is_full(tmp_path: Path, figures: Figures) -> None:
    """It refuses, the SDK tries again and then counts it as lost; what was taken arrives."""
    full = {**EVERY_TRACE, "SPANHOOK_COLLECTOR_QUEUE_BYTES": "600000"}
    # An exporter that gives up early counts as lost what a busy collector has taken meanwhile.
    small = {"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "8", "OTEL_EXPORTER_OTLP_TIMEOUT": "10"}
    with (
        stack(tmp_path, full, loki=False, patience="1s") as one,
        teller(tmp_path / "app", {**one.environ(), **small}) as app,
    ):
        one.sink_server.stop()
        app.tell(logs=64, size=20_000)
        until(lambda: "Failed to export logs batch" in app.log(), "end of trying")
        assert "sending queue is full" in one.collector.log.read_text()
        until(lambda: is_alerting(one, "SpanhookCollectorRefusing", instance="standalone"), "alert")
        assert not is_alerting(one, "SpanhookPipelineLoss", instance="standalone")
        one.sink_server.start()
        app.end()
        all_is_accounted_for(one, app, "collector's queue full", figures)
        assert arrived(one, app)[0] >= 24
        assert lost(one, app)[0] > 0


def test_the_queue_of_a_collector_is_full_of_traces(tmp_path: Path, figures: Figures) -> None:
    """It has taken them before it decides about them: what finds no room then is lost, and counted by the collector."""
    with stack(tmp_path, {**EVERY_TRACE, "SPANHOOK_COLLECTOR_QUEUE_BYTES": "600000"}, loki=False, patience="1s") as one:
        one.sink_server.stop()
        with teller(tmp_path / "app", one.environ()) as app:
            for _ in range(6):
                app.tell(spans=300, size=1_500)
                until(lambda: one.prometheus.value(DECIDED) == app.made("spans"), "decisions about all traces")
            alerting = ("SpanhookPipelineLoss", "SpanhookQueueFilling")
            until(lambda: all(is_alerting(one, alert, exporter="otlp_grpc/tempo") for alert in alerting), "alerts")
            one.sink_server.start()
            app.end()
            gone = "sum(last_over_time(otelcol_exporter_enqueue_failed_spans_total[1h]))"
            made = app.made("spans")
            until(lambda: arrived(one, app)[1] + one.prometheus.value(gone) == made, "account of all spans")
            figures.tell("collector's queue full", "spans", made, arrived(one, app)[1], one.prometheus.value(gone))
            assert lost(one, app) == (0, 0)
            assert one.prometheus.value(gone) > 0
