"""Spans are what OpenTelemetry's own encoder makes of them, whatever is in them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode

from spanhook.export.wire.encoders import traces
from tests.export.wire import drawn
from tests.export.wire.comparing import never, same

statuses = st.sampled_from(StatusCode).flatmap(
    lambda code: st.builds(
        Status, st.just(code), drawn.texts | drawn.odd_texts if code is StatusCode.ERROR else st.none()
    )
)
events = st.builds(Event, drawn.texts, drawn.attributes, drawn.times)
links = st.builds(Link, drawn.contexts, drawn.attributes)


def bounded(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A few, of which some may have been dropped."""
    few = st.lists(one, max_size=3)
    return few | few.map(lambda items: BoundedList.from_seq(1, items))


spans = st.builds(
    ReadableSpan,
    st.sampled_from(("chat", "", "é")) | drawn.texts | drawn.odd_texts,
    drawn.contexts,
    st.none() | drawn.contexts,
    drawn.resources,
    drawn.attributes,
    bounded(events),
    bounded(links),
    st.sampled_from(SpanKind),
    status=st.none() | statuses,
    start_time=drawn.times,
    end_time=drawn.times,
    instrumentation_scope=drawn.scopes,
)


@pytest.mark.slow
@given(st.lists(spans, max_size=4))
def test_every_batch_is_encoded_alike(batch: list[ReadableSpan]) -> None:
    same(encode_spans, traces(encode_spans), batch)


@given(st.lists(spans, min_size=1, max_size=2), drawn.resources, drawn.scopes)
def test_equal_resources_and_scopes_are_one(batch: list[ReadableSpan], resource: Any, scope: Any) -> None:
    context = SpanContext(1, 2, is_remote=False)
    copied = type(resource)(resource.attributes, resource.schema_url)
    alike = [
        ReadableSpan("one", context, resource=resource, instrumentation_scope=scope),
        ReadableSpan("two", context, resource=copied, instrumentation_scope=scope),
    ]
    same(encode_spans, traces(encode_spans), [alike[0], *batch, alike[1]])


def ended(**attributes: Any) -> ReadableSpan:
    """A span as the SDK exports it."""
    span: Any = TracerProvider(shutdown_on_exit=False).get_tracer("tracer", "1").start_span("one")
    span.set_attributes(attributes)
    span.record_exception(ValueError("no"))
    span.add_link(SpanContext(1, 2, is_remote=True), {"a": "b"})
    span.set_status(StatusCode.ERROR, "no")
    span.end()
    return span


def test_what_is_usual_needs_no_other_encoder() -> None:
    batch = [ended(text="a", texts=["a", "b"], integer=-1, integers=(1, 2), double=0.5, yes=True)]
    message = encode_spans(batch)
    assert type(message).FromString(traces(never)(batch)) == message


@pytest.mark.parametrize("unknown", [None, 2**64, "\ud800", [None], b"".join])
def test_what_is_not_known_costs_only_its_own_span(unknown: object) -> None:
    asked: list[int] = []

    def theirs(batch: Any) -> Any:
        asked.append(len(batch))
        return encode_spans(batch)

    odd = ReadableSpan("odd", SpanContext(1, 2, is_remote=False), attributes={"known": 1, "unknown": unknown})  # pyright: ignore[reportArgumentType]
    batch = [ended(), odd, ended()]
    same(encode_spans, traces(theirs), batch)
    assert asked == [1]
