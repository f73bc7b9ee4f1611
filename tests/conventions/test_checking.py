"""The check of what is emitted finds what is wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, StatusCode

from spanhook import semconv
from tests.conventions.checking import FACTS, LEVELS, Checker

CHAT: dict[str, Any] = {
    semconv.KIND: "llm.call",
    semconv.GEN_AI_OPERATION_NAME: "chat",
    semconv.GEN_AI_PROVIDER_NAME: "openai",
    semconv.GEN_AI_REQUEST_MODEL: "gpt-4o-mini",
}


def span(
    change: dict[str, Any],
    name: str = "chat gpt-4o-mini",
    kind: SpanKind = SpanKind.CLIENT,
    schema: str = semconv.SCHEMA_URL,
) -> Any:
    made: Any = TracerProvider(shutdown_on_exit=False).get_tracer("x", schema_url=schema).start_span(name, kind=kind)
    made.set_attributes({key: value for key, value in {**CHAT, **change}.items() if value is not None})
    return made


def problems(made: Any, *sets: str, **more: Any) -> str:
    return "; ".join(Checker(*(sets or ("v1.41",))).span(made, **more))


def test_a_span_as_it_should_be() -> None:
    assert problems(span({}), at_start=CHAT) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gen_ai.made.up": "x"}, "gen_ai.made.up is in no convention and not in the registry"),
        ({"spanhook.made.up": "x"}, "spanhook.made.up is in no convention and not in the registry"),
        ({semconv.GEN_AI_PROVIDER_NAME: None}, "has no gen_ai.provider.name"),
        ({semconv.GEN_AI_OPERATION_NAME: None}, "has no gen_ai.operation.name"),
        ({semconv.GEN_AI_REQUEST_TEMPERATURE: 1}, "gen_ai.request.temperature is 1, no double"),
        ({semconv.GEN_AI_USAGE_INPUT_TOKENS: 1.0}, "gen_ai.usage.input_tokens is 1.0, no int"),
        ({semconv.GEN_AI_REQUEST_STREAM: "yes"}, "gen_ai.request.stream is 'yes', no boolean"),
        ({semconv.GEN_AI_RESPONSE_FINISH_REASONS: "stop"}, "finish_reasons is 'stop', no string[]"),
        ({semconv.SERVER_ADDRESS: "a.test"}, "has only one of server.port and server.address"),
        ({semconv.GEN_AI_REQUEST_CHOICE_COUNT: 1}, "gen_ai.request.choice.count is 1, which goes without saying"),
        ({semconv.GEN_AI_REQUEST_TOP_K: 1}, "gen_ai.request.top_k is 1, no double"),
        ({semconv.GEN_AI_TOOL_NAME: "search"}, "gen_ai.tool.name has no place on it"),
        ({semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: 1.0}, "without gen_ai.request.stream"),
        ({semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 1}, "is no part of gen_ai.usage.input_tokens"),
        ({semconv.ERROR_TYPE: "KeyError"}, "has one without having failed"),
        ({semconv.STATUS: "fine"}, "spanhook.status is 'fine', which the registry has not"),
    ],
)
def test_a_wrong_attribute(change: dict[str, Any], said: str) -> None:
    assert said in problems(span(change))


def test_a_wrong_name_kind_start_or_schema() -> None:
    assert "is not named" in problems(span({}, name="gpt-4o-mini"))
    assert "is INTERNAL, not client" in problems(span({}, kind=SpanKind.INTERNAL))
    assert "a sampler was not told of gen_ai.provider.name" in problems(
        span({}), at_start={key: value for key, value in CHAT.items() if key != semconv.GEN_AI_PROVIDER_NAME}
    )
    assert "schema" in problems(span({}, schema=""))


def test_a_failure_without_its_type() -> None:
    made = span({})
    made.set_status(StatusCode.ERROR)
    assert "failed without error.type" in problems(made)


def test_a_name_of_the_other_set() -> None:
    assert "content, for which nobody" in "; ".join(
        Checker("v1.41", content=False).span(span({semconv.GEN_AI_INPUT_MESSAGES: "[]"}))
    )
    older = span({semconv.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS: 1, semconv.GEN_AI_USAGE_INPUT_TOKENS: 1}, schema="")
    older.add_event("exception")
    assert "cache_creation.input_tokens is of v1.41 alone" in problems(older, "newest")
    assert "event 'exception' is of v1.41 alone" in problems(older, "newest")
    assert problems(older, "v1.41", "newest") == ""


@pytest.mark.parametrize(
    ("name", "attributes", "said"),
    [
        ("spanhook.made_up", {}, "is in no convention"),
        (semconv.EVENT_RUN, {}, "has no spanhook.run.id"),
        (semconv.EVENT_CLIENT_EXCEPTION, {}, "is of newest alone"),
        (semconv.EVENT_CLIENT_EXCEPTION, {}, "has none of exception.type, exception.message"),
        (semconv.EVENT_INFERENCE_DETAILS, {}, "has no gen_ai.provider.name"),
        (semconv.EVENT_INFERENCE_DETAILS, {semconv.GEN_AI_INPUT_MESSAGES: "[]"}, "must be structured"),
        (semconv.EVENT_INFERENCE_DETAILS, {semconv.GEN_AI_OPERATION_NAME: "embeddings"}, "is about embeddings"),
        (semconv.EVENT_DECISION, {}, "belongs to no span"),
    ],
)
def test_a_wrong_event(name: str, attributes: dict[str, Any], said: str) -> None:
    record = LogRecord(event_name=name, attributes=attributes, severity_number=SeverityNumber.INFO, context=Context())
    assert said in "; ".join(Checker("v1.41").event(record))


def test_a_wrong_severity() -> None:
    record = LogRecord(event_name=semconv.EVENT_INFERENCE_DETAILS, severity_number=SeverityNumber.INFO)
    assert "has severity INFO, not DEBUG" in "; ".join(Checker("newest").event(record))
    assert "severity" not in "; ".join(Checker("v1.41").event(record))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda meter: meter.create_counter("gen_ai.made.up").add(1), "is in no convention"),
        (lambda meter: meter.create_counter(semconv.METRIC_TOOL_DURATION, "s").add(0), "is no histogram"),
        (lambda meter: meter.create_histogram(semconv.METRIC_TOOL_DURATION, "ms").record(1.0), "unit 'ms'"),
        (
            lambda meter: meter.create_histogram(semconv.METRIC_CLIENT_DURATION, "s").record(1.0),
            "a series has no gen_ai.operation.name",
        ),
        (
            lambda meter: meter.create_histogram(semconv.METRIC_INFERENCE_DURATION, "s").record(1.0),
            "is of newest alone",
        ),
        (
            lambda meter: meter.create_histogram(semconv.METRIC_CLIENT_TOKENS, "{token}").record(
                1.5, {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_PROVIDER_NAME: "openai"}
            ),
            "1.5 is no int",
        ),
    ],
)
def test_a_wrong_metric(make: Callable[[Any], None], said: str) -> None:
    reader = InMemoryMetricReader()
    make(MeterProvider([reader], shutdown_on_exit=False).get_meter("x"))
    data = reader.get_metrics_data()
    assert data is not None
    (metric,) = data.resource_metrics[0].scope_metrics[0].metrics
    assert said in "; ".join(Checker("v1.41").metric(metric))


# ----------------------------------------------------------------- the facts themselves


def test_every_attribute_has_a_requirement_level() -> None:
    spans = [names for span in FACTS["spans"].values() for level in LEVELS for names in span[level]]
    metrics = [
        name
        for told in (*FACTS["metrics"].values(), *FACTS["metric_groups"].values())
        for level in (*LEVELS, "and")
        for name in told.get(level, ())
    ]
    events = [
        name for told in FACTS["events"].values() for key in ("any_of", "recommended") for name in told.get(key, ())
    ]
    guardrails = {name for name in FACTS["attributes"] if name.startswith("gen_ai.guardrail.")}  # of a draft
    assert set(FACTS["attributes"]) - {*spans, *metrics, *events, *FACTS["anywhere"]} - guardrails == set()
    assert {*spans, *metrics, *events} - set(FACTS["attributes"]) == set()


def test_the_sets_are_those_that_names_are_written_by() -> None:
    told = {name: one["set"] for name, one in (FACTS["metrics"] | FACTS["events"]).items() if "set" in one}
    told |= {semconv.EVENT_EXCEPTION: "v1.41", **FACTS["only"]}
    part_of_another = {semconv.GEN_AI_TOKEN_TYPE, semconv.GEN_AI_TOKEN_MODALITY, semconv.EVENT_INTERNAL_EXCEPTION}
    assert {name: one for name, one in told.items() if name not in part_of_another} == semconv.SETS
