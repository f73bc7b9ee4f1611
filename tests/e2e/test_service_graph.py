"""The service graph counts every call, also where there are many and nobody answers with a span of their own."""

from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind

from tests.e2e.programs import until
from tests.e2e.stack import stack

pytestmark = pytest.mark.e2e

CALLS = 20_000
CALLED = {
    "openai": {"gen_ai.provider.name": "openai"},
    "models.test": {"gen_ai.provider.name": "openai", "server.address": "models.test"},
    "Policies": {"spanhook.retriever.name": "Policies"},
    "unknown": {},
}


def test_every_call_counts_by_the_best_name_there_is(tmp_path: Path) -> None:
    with stack(tmp_path, {"SPANHOOK_SAMPLING_PERCENT": "0"}) as one:
        provider = TracerProvider(resource=Resource.create({"service.name": "busy"}))
        exporter = OTLPSpanExporter(f"{one.endpoint}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=CALLS))
        tracer = provider.get_tracer("made-up")
        for _ in range(CALLS // len(CALLED)):
            for attributes in CALLED.values():
                tracer.start_span("chat", kind=SpanKind.CLIENT, attributes=attributes).end()
        provider.shutdown()

        def found() -> dict[str, float]:
            query = 'sum by (server) (traces_service_graph_request_total{client="busy"})'
            return {sample.labels["server"]: sample.value for sample in one.prometheus.query(query)}

        until(lambda: sum(found().values()) >= CALLS, f"{CALLS} calls")
        assert found() == dict.fromkeys(CALLED, CALLS / len(CALLED))
