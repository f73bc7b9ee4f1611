"""What spanhook itself exports, from an operation to the pages of the control plane."""

import pytest
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.store.control import (
    Database,
    DecisionFilter,
    Ingestor,
    Run,
    RunFilter,
    decisions_page,
    run_detail,
    runs_page,
    usage_by,
)
from tests.store.control.otlp import PROTOBUF

pytestmark = pytest.mark.anyio
hooks = Hooks()


@hooks.before("tool.execute", names={"refund"}, priority=10)
def guard(op: Operation) -> None:
    with spanhook.operation("llm.call", "judge", provider="acme", request={"messages": []}) as judged:
        judged.record_usage(input_tokens=7, output_tokens=1)
    raise Reject("not without a person", status_code=402)


@hooks.before("llm.call", mode="shadow", priority=20)
def shadow(op: Operation) -> None:
    raise Reject("never a model")


def _application() -> None:
    with (
        spanhook.context(tenant_id="acme", user_id="ann", session_id="s"),
        spanhook.operation("agent.invoke", "desk"),
    ):
        for tokens in (100, 200):
            with spanhook.operation("llm.call", "m", provider="acme", request={"messages": []}) as call:
                call.record_usage(input_tokens=tokens, output_tokens=10)
        with pytest.raises(Reject), spanhook.operation("tool.execute", "refund", request={"arguments": {"a": 1}}):
            raise AssertionError
        with spanhook.operation("tool.execute", "search", request={"arguments": {}}):
            pass


@pytest.mark.parametrize("signals", [("traces", "logs"), ("logs", "traces"), ("traces",), ("logs",)])
async def test_an_application(database: Database, ingestor: Ingestor, signals: tuple[str, ...]) -> None:
    spans, records = InMemorySpanExporter(), InMemoryLogRecordExporter()
    tracing, logging = TracerProvider(), LoggerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    logging.add_log_record_processor(SimpleLogRecordProcessor(records))
    spanhook.instrument(hooks, tracer_provider=tracing, logger_provider=logging)
    _application()
    spanhook.uninstrument()
    bodies = {
        "traces": encode_spans(spans.get_finished_spans()).SerializeToString(),
        "logs": encode_logs(records.get_finished_logs()).SerializeToString(),
    }
    for _ in range(2):
        for signal in signals:
            kept = await ingestor.take(signal, bodies[signal], content_type=PROTOBUF)  # pyright: ignore[reportArgumentType]
            assert not kept.rejected
    page = (await runs_page(database, "acme", RunFilter())).rows
    [run] = [one for one in page if one.agent == "desk"]
    _check(run)
    assert [one.id for one in page] == [run.id]
    by_model = {row.by["model"]: row.used.input_tokens for row in await usage_by(database, "acme", ("model",))}
    assert by_model == {"m": 300, "judge": 7}
    decided = {
        (one.hook, one.decision, one.mode) for one in (await decisions_page(database, "acme", DecisionFilter())).rows
    }
    assert ("guard", "reject", "enforce") in {(hook.rpartition(".")[2], *rest) for hook, *rest in decided}
    detail = await run_detail(database, "acme", run.id)
    assert detail is not None
    assert len(detail.spans) == (6 if "traces" in signals else 0)


def _check(run: Run) -> None:
    assert (run.kind, run.status, run.user_id, run.session_id) == ("agent.invoke", "success", "ann", "s")
    assert (run.llm_calls, run.tool_calls, run.input_tokens, run.output_tokens) == (3, 1, 307, 21)
    assert (run.unpriced_tokens, run.cost_usd) == (328, None)
    assert {model: used.calls for model, used in run.by_model.items()} == {"judge": 1, "m": 2}
