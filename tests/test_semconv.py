"""Spans, metrics and events against the facts of the conventions.

The tables below state what https://github.com/open-telemetry/semantic-conventions-genai asks for (attributes that are
required, those that a sampler needs when a span starts, span names and kinds, instruments, units and buckets), and what
the project's own names are, as its documentation promises them.
"""

import json
import re
from typing import Any

import pytest
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

import spanhook
from spanhook import Hooks, Operation, Reject, Settings, semconv
from spanhook.cli.conformance.libraries.langchain import Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import CHAT_WAYS
from spanhook.cli.conformance.subject import Body, settle
from spanhook.testing import recorder
from tests.conformance.everything import HERE

SUBJECT = {subject.name: subject for subject in HERE}

#: By gen_ai.operation.name: the span's name, its kind, and what must be there when it starts.
SPANS: dict[str, tuple[str, str, set[str]]] = {
    "chat": (
        r"chat gpt-4o-mini",
        "CLIENT",
        {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
    ),
    "text_completion": (
        r"text_completion gpt-3\.5-turbo-instruct",
        "CLIENT",
        {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
    ),
    "embeddings": (
        r"embeddings text-embedding-3-small",
        "CLIENT",
        {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"},
    ),
    "retrieval": (r"retrieval", "CLIENT", {"gen_ai.operation.name", "spanhook.retriever.name"}),
    "execute_tool": (
        r"execute_tool look_up",
        "INTERNAL",
        {"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type"},
    ),
    "invoke_agent": (
        r"invoke_agent worker",
        "INTERNAL",
        {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name"},
    ),
}

#: Instruments: unit, type, bucket boundaries.
METRICS: dict[str, tuple[str, str, tuple[float, ...] | None]] = {
    "gen_ai.client.operation.duration": ("s", "Histogram", semconv.DURATION_BUCKETS),
    "gen_ai.client.operation.time_to_first_chunk": ("s", "Histogram", semconv.DURATION_BUCKETS),
    "gen_ai.client.token.usage": ("{token}", "Histogram", semconv.TOKEN_BUCKETS),
    "gen_ai.invoke_agent.duration": ("s", "Histogram", semconv.AGENT_DURATION_BUCKETS),
    "gen_ai.invoke_agent.inference_calls": ("{inference_call}", "Histogram", semconv.CALL_BUCKETS),
    "gen_ai.invoke_agent.tool_calls": ("{tool_call}", "Histogram", semconv.CALL_BUCKETS),
    "gen_ai.execute_tool.duration": ("s", "Histogram", semconv.DURATION_BUCKETS),
    "spanhook.run.llm_calls": ("{call}", "Histogram", semconv.CALL_BUCKETS),
    "spanhook.run.tool_calls": ("{call}", "Histogram", semconv.CALL_BUCKETS),
    "spanhook.usage.tokens": ("{token}", "Sum", None),
    "spanhook.usage.cost": ("USD", "Sum", None),
    "spanhook.hook.decisions": ("{decision}", "Sum", None),
    "spanhook.hook.time": ("s", "Sum", None),
    "spanhook.hook.duration": ("s", "Histogram", None),
    "spanhook.info": ("{process}", "Gauge", None),
    "spanhook.points": ("{point}", "Gauge", None),
}

#: What a metric may be told apart by. User, session and run ids are none of it.
BOUNDED = {
    "error.type",
    "gen_ai.agent.name",
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.token.type",
    "gen_ai.tool.name",
    "gen_ai.tool.type",
    "openai.response.service_tier",
    "process.runtime.version",
    "server.address",
    "server.port",
    "spanhook.component",
    "spanhook.cost.source",
    "spanhook.coverage",
    "spanhook.decision",
    "spanhook.event",
    "spanhook.fail_mode",
    "spanhook.hook",
    "spanhook.hooks.digest",
    "spanhook.library",
    "spanhook.library.version",
    "spanhook.mode",
    "spanhook.state",
    "spanhook.status",
    "spanhook.token.bucket",
    "spanhook.usage.estimated",
    "spanhook.version",
}


class Watching(Sampler):
    """A sampler that keeps what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any, dict[str, Any]]] = []

    def should_sample(
        self,
        parent_context: Any,
        trace_id: int,
        name: str,
        kind: Any = None,
        attributes: Any = None,
        *rest: Any,
        **more: Any,
    ) -> SamplingResult:
        self.asked.append((name, kind, dict(attributes or {})))
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        return "watching"


def test_buckets_are_the_conventions() -> None:
    assert semconv.DURATION_BUCKETS == (
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    )  # fmt: skip
    assert semconv.TOKEN_BUCKETS == (
        1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
    )  # fmt: skip
    assert semconv.AGENT_DURATION_BUCKETS == (
        0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["chat", "text", "tool", "retriever", "embeddings", "graph"])
def test_spans_are_named_and_start_as_the_conventions_ask(name: str) -> None:
    sampler = Watching()
    subject = SUBJECT[name]
    with recorder(sampler=sampler) as seen:
        for way in subject.ways.values():
            settle(way(subject.make(Body())))
    asked = [one for one in sampler.asked if one[2].get("gen_ai.operation.name") in SPANS]
    assert asked
    for span_name, kind, attributes in asked:
        pattern, expected_kind, required = SPANS[attributes["gen_ai.operation.name"]]
        assert re.fullmatch(pattern, span_name)
        assert kind.name == expected_kind
        assert required <= set(attributes)
    assert all(span.name in {one[0] for one in sampler.asked} for span in seen.spans)


def everything() -> tuple[dict[str, Any], list[Any], list[Any]]:
    """Metrics, spans and events of runs that use every feature."""
    hooks = Hooks()
    hooks.before("*")(lambda op: None)

    @hooks.before("*", timeout=60.0)
    async def agate(op: Operation) -> None:
        return None

    @hooks.before("tool.execute", names={"refund"})
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    with recorder(hooks, settings=Settings(steps=True)) as seen:
        with spanhook.context(tenant_id="acme", user_id="ann", session_id="s1", plan="pro"):
            consume(agent(Calls()), "invoke")
            settle(CHAT_WAYS["stream"](SUBJECT["chat"].make(Body())))
        data = seen._reader.get_metrics_data()
        metrics = {
            metric.name: metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }
        return metrics, seen.spans, seen.events


def test_instruments() -> None:
    metrics, _, _ = everything()
    assert set(METRICS) <= set(metrics)
    for name, (unit, sort, buckets) in METRICS.items():
        metric = metrics[name]
        assert metric.unit == unit, name
        assert type(metric.data).__name__ == sort, name
        for point in metric.data.data_points:
            assert set(point.attributes or {}) <= BOUNDED, name
            if buckets is not None:
                assert tuple(point.explicit_bounds) == buckets, name
        if sort == "Sum":
            assert metric.data.is_monotonic


def test_every_name_that_is_written_stands_in_semconv() -> None:
    known = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}
    metrics, spans, events = everything()
    written = set(metrics)
    for metric in metrics.values():
        for point in metric.data.data_points:
            written |= set(point.attributes or {})
    for span in spans:
        written |= set(span.attributes or {})
        for event in span.events:
            written |= {event.name, *(event.attributes or {})}
    for event in events:
        written |= {event["name"], *event["attributes"], *(event["body"] or {})}
    assert written - known == {"plan"}  # the application's own


def test_attributes_have_the_types_the_conventions_give_them() -> None:
    _, spans, _ = everything()
    for span in spans:
        for key, value in (span.attributes or {}).items():
            if key.endswith("_tokens") or key in ("spanhook.llm_calls", "spanhook.tool_calls"):
                assert type(value) is int, key
            elif key.endswith(("finish_reasons", "stop_sequences", "modified")):
                assert type(value) is tuple, key
            elif key in ("spanhook.cost.usd", "gen_ai.response.time_to_first_chunk"):
                assert type(value) is float, key
            elif key == "gen_ai.request.stream":
                assert type(value) is bool, key
            else:
                assert type(value) is str, key


def test_events_can_be_written_as_json() -> None:
    _, _, events = everything()
    assert {event["name"] for event in events} == {"spanhook.run", "spanhook.decision"}
    json.dumps(events)
    decision = next(event["attributes"] for event in events if event["name"] == "spanhook.decision")
    assert decision["spanhook.hook"] == "refuse"
    assert decision["spanhook.target"] == "refund"
    assert decision["spanhook.tenant.id"] == "acme"
    assert decision["spanhook.status_code"] == 402
