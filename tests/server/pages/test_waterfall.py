import json
from datetime import UTC, datetime, timedelta
from typing import Any

from spanhook.server.pages.waterfall import WIDTH, Row, waterfall
from spanhook.server.routes.run_models import Decision, LogRecord, RunSummary, RunWithTrace, Span

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def span(name: str, parent: str = "", start: float = 0, took: float = 1, **given: Any) -> Span:
    fields: dict[str, Any] = {
        "run_id": "r",
        "kind": "",
        "status": "",
        "scope": "",
        "failed": False,
        "message": "",
        "attributes": {},
        "events": [],
        "start": BEGIN + timedelta(seconds=start),
        "end": BEGIN + timedelta(seconds=start + took),
        **given,
    }
    return Span(span_id=name, parent_id=parent, name=name, **fields)


def rows(*spans: Span, decisions: list[Decision] | None = None, logs: list[LogRecord] | None = None) -> list[Row]:
    run = RunSummary.model_construct(id="r")
    return waterfall(
        RunWithTrace.model_construct(run=run, spans=list(spans), logs=logs or [], more=False), decisions or []
    )


def test_spans_stand_below_those_that_they_are_within() -> None:
    found = rows(span("a", took=4), span("b", "a", 1), span("c", "b", 1.5, 0.5), span("d", "a", 2, 2))
    assert [(one.span.name, one.depth, one.start, one.width) for one in found] == [
        ("a", 0, 0, WIDTH), ("b", 1, 250, 250), ("c", 2, 375, 125), ("d", 1, 500, 500)
    ]  # fmt: skip
    assert rows() == []


def test_whatever_parents_say_each_span_has_one_row() -> None:
    lost = span("lost", "gone")
    circle = (span("x", "y"), span("y", "x"))
    found = rows(span("a"), lost, *circle, span("self", "self"), span("a", "a"))
    assert sorted(one.span.name for one in found) == ["a", "a", "lost", "self", "x", "y"]
    deep = [span(str(at), str(at - 1)) for at in range(3000)]
    assert [one.span.name for one in rows(*deep)] == [str(at) for at in range(3000)]
    assert max(one.depth for one in rows(*deep)) == 12


def test_bars_stay_within_and_can_be_seen() -> None:
    for one in rows(span("a", took=0), span("b", start=-5, took=-1), span("c", start=1e-6, took=0)):
        assert 0 < one.width <= WIDTH
        assert 0 <= one.start <= WIDTH - one.width


def test_model_calls_show_what_they_used_and_others_no_sums() -> None:
    used = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 3, "spanhook.cost.usd": 0.5}
    call, agent = rows(span("m", kind="llm.call", attributes=used), span("a", kind="agent.invoke", attributes=used))
    assert (call.input_tokens, call.output_tokens, call.cost_usd) == (20, 3, 0.5)
    assert (agent.input_tokens, agent.output_tokens, agent.cost_usd) == (None, None, None)
    odd = {"gen_ai.usage.input_tokens": "many", "gen_ai.usage.output_tokens": -1, "spanhook.cost.usd": float("nan")}
    (one,) = rows(span("m", kind="llm.call", attributes=odd))
    assert (one.input_tokens, one.output_tokens, one.cost_usd) == (None, None, None)


def test_decisions_and_captured_messages_are_at_their_span() -> None:
    made = Decision.model_construct(span_id="t", hook="refunds", decision="reject", mode="shadow")
    log = LogRecord.model_construct(
        span_id="m",
        event_name="gen_ai.client.inference.operation.details",
        attributes={"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]},
    )
    tool = span("t", attributes={"gen_ai.tool.call.arguments": json.dumps({"amount": 60}), "x": "y"})
    model, called = rows(span("m"), tool, decisions=[made], logs=[log])
    assert [(one.role, one.text) for one in model.messages] == [("user", "hello")]
    assert called.decisions == [made]
    assert called.messages[0].role == "arguments"
    assert called.attributes == [("x", "y")]
