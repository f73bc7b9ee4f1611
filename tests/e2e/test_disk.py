"""The collector's disk: when it is full, the collector refuses and says so, and what it had taken arrives."""

from pathlib import Path

import pytest

from tests.e2e.accounts import all_is_accounted_for, is_alerting, lost
from tests.e2e.figures import Figures
from tests.e2e.programs import until
from tests.e2e.stack import pipe, stack
from tests.e2e.workers import teller

pytestmark = pytest.mark.e2e

SMALL_BATCHES = {
    "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "16",
    "OTEL_BLRP_MAX_QUEUE_SIZE": "8192",
    "OTEL_EXPORTER_OTLP_TIMEOUT": "2",
}
TAKEN = "sum(otelcol_receiver_accepted_log_records_total)"
SENT = 'sum(otelcol_exporter_sent_log_records_total{exporter="otlp_http/loki"})'
"""What the alert SpanhookEventsLost compares."""


def test_a_disk_is_full(tmp_path: Path, figures: Figures) -> None:
    with (
        stack(tmp_path, loki=False, patience="1s", disk="32m") as one,
        teller(tmp_path / "app", {**one.environ(), **SMALL_BATCHES}) as app,
    ):
        one.sink_server.stop()
        app.tell(logs=4_000, size=10_000)  # 40 MB for a disk of 32 MiB
        until(lambda: "Failed to export logs batch" in app.log(), "end of trying")
        assert "no space left on device" in one.collector.log.read_text()
        until(lambda: is_alerting(one, "SpanhookCollectorRefusing", instance="standalone"), "alert")
        one.sink_server.start()
        all_is_accounted_for(one, app, "collector's disk full", figures)  # what counts losses is refused, too, at first
        app.end()
        assert lost(one, app)[0] > 0
        until(
            lambda: one.prometheus.value(TAKEN) == one.prometheus.value(SENT) > 0, "everything taken in what was sent"
        )


def test_the_smallest_file_that_may_be_set_is_enough_to_start(tmp_path: Path) -> None:
    with pipe(tmp_path, {"SPANHOOK_COLLECTOR_DATA_BYTES": str(32 * 2**20)}) as one:
        assert one.collector.pid
