"""No panel and no rule counts what frameworks report themselves under the names of the conventions."""

import re
import uuid
from collections.abc import Generator
from dataclasses import dataclass

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from grafana.src.names import INSTRUMENTS
from grafana.src.queries import SCOPED
from spanhook import semconv
from tests.e2e.programs import until
from tests.e2e.stack import Stack, stack
from tests.e2e.test_rules import RULES
from tests.panels import Query, queries

pytestmark = pytest.mark.e2e

QUERIES = [query for query in queries() if query.source == "prometheus" and re.search(r"\bgen_ai_\w+\{", query.text)]
OF_CONVENTIONS = {name: unit for name, (unit, _) in INSTRUMENTS.items() if name.startswith("gen_ai.")}
SCOPES = ("agent_framework", "gcp.vertex.agent")
ATTRIBUTES = {
    semconv.GEN_AI_OPERATION_NAME: "chat",
    semconv.GEN_AI_PROVIDER_NAME: "openai",
    semconv.GEN_AI_REQUEST_MODEL: "gpt-4o-mini",
    semconv.GEN_AI_RESPONSE_MODEL: "gpt-4o-mini",
    semconv.GEN_AI_TOKEN_TYPE: "input",
    semconv.GEN_AI_AGENT_NAME: "planner",
    semconv.GEN_AI_TOOL_NAME: "search",
    semconv.STATUS: "success",
}
"""All that queries ask for; a framework would not set the last."""


@dataclass(frozen=True, slots=True)
class Reported:
    """A stack that only frameworks have reported to, and the service they belong to."""

    stack: Stack
    service: str

    def answers(self, text: str) -> list[float]:
        return [one.value for one in self.stack.prometheus.query(text) if one.value == one.value]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Generator[Reported, None, None]:
    service = f"frameworks-{uuid.uuid4()}"
    with stack(tmp_path_factory.mktemp("frameworks"), loki=False) as one:
        resource = Resource({"service.name": service, "service.instance.id": str(uuid.uuid4())})
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{one.endpoint}/v1/metrics"), 1000)
        provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        histograms = [
            provider.get_meter(scope).create_histogram(name, unit)
            for scope in SCOPES
            for name, unit in OF_CONVENTIONS.items()
        ]

        def arrived() -> bool:
            for histogram in histograms:
                for _ in range(100):
                    histogram.record(1.5, ATTRIBUTES)
            provider.force_flush()
            found = one.prometheus.query(f'{{__name__=~"gen_ai_.+_count", service_name="{service}"}}')
            return len([series for series in found if series.value > 100]) >= len(histograms)

        until(arrived, "two values of each series of the frameworks")
        yield Reported(one, service)
        provider.shutdown()


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_panel_shows_nothing_of_it(reported: Reported, query: Query) -> None:
    assert not any(reported.answers(query.put_in({"service": reported.service})))


def test_panels_would_show_it_by_name_alone(reported: Reported) -> None:
    """Otherwise the test above could not fail."""
    unscoped = {str(one): one.put_in({"service": reported.service}).replace(f"{SCOPED}, ", "") for one in QUERIES}
    assert SCOPED not in "".join(unscoped.values())
    shown = {name for name, text in unscoped.items() if any(reported.answers(text))}
    assert {name.partition("/")[0] for name in shown} == {"agents", "tools", "usage"}
    assert len(shown) > len(QUERIES) / 3


def test_rules_record_nothing_of_it(reported: Reported) -> None:
    for name, expression in RULES.items():
        if "gen_ai_" in expression:
            assert not any(
                one.value
                for one in reported.stack.prometheus.query(expression)
                if reported.service in one.labels.values()
            ), name
