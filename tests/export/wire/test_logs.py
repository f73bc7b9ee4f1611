"""Log records are what OpenTelemetry's own encoder makes of them, whatever is in them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from spanhook.export.wire.encoders import logs
from tests.export.wire import drawn
from tests.export.wire.comparing import same

inside = st.none() | drawn.contexts.map(lambda one: set_span_in_context(NonRecordingSpan(one), Context()))
given_records = st.builds(
    LogRecord,
    timestamp=drawn.times,
    observed_timestamp=drawn.times,
    context=inside,
    severity_text=st.none() | drawn.texts,
    severity_number=st.none() | st.sampled_from(SeverityNumber),
    body=drawn.values | drawn.sequences,
    attributes=drawn.attributes,
    event_name=st.none() | drawn.texts | drawn.odd_texts,
)
records = st.builds(ReadableLogRecord, given_records, drawn.resources, drawn.scopes)


@given(st.lists(records, max_size=4))
def test_every_batch_is_encoded_alike(batch: list[ReadableLogRecord]) -> None:
    same(encode_logs, logs(encode_logs), batch)


@pytest.mark.parametrize(
    "body", [None, "text", {"by_model": {"a": {"tokens": 1, "cost": 0.5}}}, [1, "a", True], b"\xff"]
)
def test_what_is_usual_needs_no_other_encoder(body: Any) -> None:
    asked: list[Any] = []

    def theirs(batch: Any) -> Any:
        asked.append(batch)
        return encode_logs(batch)

    ours = logs(theirs)
    asked.clear()  # it asks once what stands for no body
    record = LogRecord(body=body, severity_number=SeverityNumber.INFO, attributes={"a": 1}, event_name="one")
    same(encode_logs, ours, [ReadableLogRecord(record, Resource({"service.name": "one"}))])
    assert asked == []
