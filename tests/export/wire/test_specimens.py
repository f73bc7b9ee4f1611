"""The installed version of OpenTelemetry is known, and one that has or encodes more is not."""

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource

from spanhook.export.wire import encoders
from spanhook.export.wire.specimens import agreed

ENCODERS = [
    ("traces", encode_spans, encoders.traces),
    ("logs", encode_logs, encoders.logs),
    ("metrics", encode_metrics, encoders.metrics),
]


@pytest.mark.parametrize(("signal", "theirs", "make"), ENCODERS)
def test_the_installed_version_is_known(
    signal: str, theirs: Any, make: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert agreed(signal, theirs, make(theirs)) is not None
    assert caplog.messages == []


@pytest.mark.parametrize(("signal", "theirs", "make"), ENCODERS)
def test_an_encoder_that_fills_more_fields_is_not_agreed_with(
    signal: str, theirs: Any, make: Callable[[Any], Any]
) -> None:
    def newer(data: Any) -> Any:
        message = theirs(data)
        getattr(message, message.DESCRIPTOR.fields[0].name)[0].resource.dropped_attributes_count = 1
        return message

    assert agreed(signal, newer, make(theirs)) is None


@pytest.mark.parametrize(("signal", "theirs", "make"), ENCODERS)
def test_an_sdk_that_has_more_is_not_agreed_with(
    signal: str, theirs: Any, make: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resource, "entities", (), raising=False)
    assert agreed(signal, theirs, make(theirs)) is None
