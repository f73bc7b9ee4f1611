"""Large messages arrive whole, or cut with a mark; those past every limit are counted, and harm nothing beside them."""

import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from spanhook import semconv
from tests.e2e.accounts import all_is_accounted_for, lost
from tests.e2e.figures import Figures
from tests.e2e.programs import until
from tests.e2e.stack import Stack, stack
from tests.e2e.workers import teller

pytestmark = pytest.mark.e2e

LARGE, TOO_LARGE = 1_000_000, 70_000_000
"""Bytes of a message; listeners and SDKs take requests of 64 MiB."""
ONE_BY_ONE = {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "1"}
"""What is in one batch with a message past the limit is given up with it."""


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack, None, None]:
    every_trace = {"SPANHOOK_SAMPLING_PERCENT": "100"}
    with stack(tmp_path_factory.mktemp("oversized"), every_trace, loki=False) as running:
        yield running


def protocol(one: Stack, name: str) -> dict[str, str]:
    """What an application is given to send over this protocol."""
    endpoint = one.grpc_endpoint if name == "grpc" else one.endpoint
    return {**one.environ(), "OTEL_EXPORTER_OTLP_PROTOCOL": name, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}


@pytest.mark.parametrize("name", ["http/protobuf", "grpc"])
def test_a_message_of_a_megabyte_arrives(one: Stack, tmp_path: Path, figures: Figures, name: str) -> None:
    truncated = 'sum(traces_span_metrics_calls_total{spanhook_truncated="true"})'
    before = one.prometheus.value(truncated)
    with teller(tmp_path / "app", protocol(one, name)) as app:
        app.tell(logs=5, spans=5)
        app.tell(logs=1, spans=1, size=LARGE)
        app.end()
        all_is_accounted_for(one, app, f"message of 1 MB, {name}", figures)
        assert lost(one, app) == (0, 0)
        bodies = [len(record.body) for record in one.sink.records() if record.attributes.get("number") == 5]
        assert bodies[-1] == LARGE
        cut = [span for span in one.sink.spans() if span.attributes.get("number") == 5][-1]
        assert len(cut.attributes[semconv.GEN_AI_INPUT_MESSAGES].encode()) == 2048
        assert cut.attributes["spanhook.truncated"] is True
        until(lambda: one.prometheus.value(truncated) == before + 1, "count of spans that were cut")


@pytest.mark.parametrize("name", ["http/protobuf", "grpc"])
def test_a_message_past_every_limit_is_counted(one: Stack, tmp_path: Path, figures: Figures, name: str) -> None:
    with teller(tmp_path / "app", {**protocol(one, name), **ONE_BY_ONE}) as app:
        app.tell(logs=5, spans=5)
        app.tell(logs=1, spans=1, size=TOO_LARGE)
        app.tell(logs=5, spans=5)
        app.end()
        all_is_accounted_for(one, app, f"message of 70 MB, {name}", figures)
        assert lost(one, app) == (1, 1)


def test_a_request_past_the_limit_is_refused(one: Stack) -> None:
    """As of an SDK that has no limit of its own."""
    too_large = urllib.request.Request(
        f"{one.endpoint}/v1/logs", bytes(65 * 2**20), {"Content-Type": "application/x-protobuf"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(too_large, timeout=30)
    assert refused.value.code == 400
    refused.value.close()
