"""Kafka between the tiers: all of a load passes, each trace by one gateway, whoever is away for a while."""

import secrets
import uuid
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from itertools import count

import pytest

from tests.e2e.kafka import Broker, broker
from tests.e2e.loads import foretold, load, stored
from tests.e2e.programs import until
from tests.e2e.sending import Application, application
from tests.e2e.tiers import Tiers, tiers

pytestmark = pytest.mark.e2e

PARTITIONS = 12
STEPS = tuple(("chat house-model-1", "success") for _ in range(3))
SPANS = 1 + len(STEPS)


@dataclass(frozen=True, slots=True)
class Between:
    """Two tiers and the broker between them."""

    tiers: Tiers
    broker: Broker

    def numbers(self, mark: str) -> Counter[int]:
        """The numbers of the log events of this mark that have arrived."""
        return Counter(
            int(record.attributes["number"]) for record in self.tiers.records() if record.attributes.get("mark") == mark
        )

    def whole(self, traces: set[str]) -> bool:
        """Whether all spans of these traces have arrived, each at least once."""
        spans = {(span.trace_id, span.span_id) for span in self.tiers.spans() if span.trace_id in traces}
        return Counter(trace for trace, _ in spans) == dict.fromkeys(traces, SPANS)

    def shared(self) -> bool:
        """Whether each gateway reads half of the partitions of each topic."""
        members = {
            (f"spanhook-gateway-{signal}", name): PARTITIONS // 2
            for signal in ("traces", "metrics", "logs")
            for name in self.tiers.gateways
        }
        return self.broker.members() == members


@pytest.fixture(scope="module")
def between(tmp_path_factory: pytest.TempPathFactory) -> Generator[Between, None, None]:
    folder = tmp_path_factory.mktemp("kafka")
    with broker(folder / "kafka") as kafka:
        given = {
            "SPANHOOK_KAFKA_BROKERS": kafka.address,
            "SPANHOOK_KAFKA_INSECURE": "true",
            "SPANHOOK_SAMPLING_PERCENT": "100",
        }
        with tiers(folder, given, behind=[".kafka.yaml"]) as two:
            one = Between(two, kafka)
            until(one.shared, "gateways that read half of the partitions each")
            yield one


@pytest.fixture
def app(between: Between, monkeypatch: pytest.MonkeyPatch) -> Generator[Application, None, None]:
    for name, value in between.tiers.environ().items():
        monkeypatch.setenv(name, value)
    with application(between.tiers.endpoint) as one:
        yield one


class Telling:
    """Log events of one mark, numbered, with a trace for every second one."""

    def __init__(self, app: Application) -> None:
        self.app, self.mark, self.traces = app, uuid.uuid4().hex, set[str]()
        self.next = count()

    def __call__(self, times: int = 100) -> None:
        for _ in range(times):
            self.app.log("spanhook.run", {}, {"mark": self.mark, "number": next(self.next)})
        self.traces |= {self.app.run("invoke_agent one", children=STEPS) for _ in range(times // 2)}
        assert self.app.logger_provider.force_flush()
        assert self.app.tracer_provider.force_flush()


def test_a_load_passes_whole(between: Between) -> None:
    service, instance = f"shop-{uuid.uuid4()}", str(uuid.uuid4())
    two = between.tiers
    document = load(two.environ(service__name=service, service__instance__id=instance))
    totals = document["totals"]
    spans, events = sum(totals["spans"].values()) + sum(totals["guardrail_spans"].values()), totals["events"]

    until(lambda: two.told(service).total() >= sum(events.values()), f"log events {events}")
    assert two.told(service) == events

    until(lambda: len([span for span in two.spans() if span.resource["service.name"] == service]) >= spans, "all spans")
    first, second = (
        Counter(span.trace_id for span in one.sink.spans() if span.resource["service.name"] == service)
        for one in two.gateways.values()
    )
    assert first.total() + second.total() == spans
    assert min(len(first), len(second)) > 0
    assert not first.keys() & second.keys()

    query = f'sum by (instance) (traces_span_metrics_calls_total{{service_name="{service}"}})'
    wanted = dict(zip(two.gateways, (first.total(), second.total()), strict=True))
    until(
        lambda: {one.labels["instance"]: one.value for one in two.prometheus.query(query)} == wanted,
        f"span metrics {wanted}",
    )

    expected = foretold(document)
    names = {name for name, _ in expected}

    def arrived() -> bool:
        there = stored(two.prometheus, names, instance)
        return all(there.get(key, 0.0) > 0.0 or not value for key, value in expected.items())

    until(arrived, "series of the load in Prometheus")
    found = stored(two.prometheus, names, instance)
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("megabytes", [3, 8])
def test_a_large_log_event_passes(between: Between, app: Application, megabytes: int) -> None:
    """Kafka takes 1 MB unless told otherwise, after compression: half of what is random and hexadecimal."""
    body, mark = secrets.token_hex(megabytes << 19), uuid.uuid4().hex
    app.log("gen_ai.client.inference.operation.details", body, {"mark": mark, "number": 0})
    assert app.logger_provider.force_flush()
    until(lambda: between.numbers(mark), f"log event of {megabytes} MB")
    (arrived,) = [record.body for record in between.tiers.records() if record.attributes.get("mark") == mark]
    assert arrived == body


def test_nothing_is_lost_while_kafka_is_away(between: Between, app: Application) -> None:
    tell = Telling(app)
    tell()
    between.broker.kill()
    tell()
    until(
        lambda: "unable to open connection to broker" in between.tiers.agent.log.read_text(),
        "attempts to reach the broker",
    )
    tell()
    between.broker.start()
    tell()
    until(lambda: between.whole(tell.traces), "every trace")
    until(lambda: len(between.numbers(tell.mark)) == 400, "every log event")


def test_nothing_is_lost_while_the_gateways_are_away(between: Between, app: Application) -> None:
    tell = Telling(app)
    for one in between.tiers.gateways.values():
        one.collector.stop()
    tell()
    for one in between.tiers.gateways.values():
        one.collector.start()
    tell()
    until(lambda: between.whole(tell.traces), "every trace")
    until(lambda: len(between.numbers(tell.mark)) == 200, "every log event")


def test_of_a_gateway_that_is_killed_the_other_takes_over(between: Between, app: Application) -> None:
    tell = Telling(app)
    between.tiers.gateways["gateway-1"].collector.kill()
    tell()
    until(lambda: len(between.numbers(tell.mark)) == 100, "every log event, by the gateway that is left", 90)
    until(lambda: between.whole(tell.traces), "every trace")
    between.tiers.gateways["gateway-1"].collector.start()
    until(between.shared, "gateways that read half of the partitions each again")
    tell()
    until(lambda: len(between.numbers(tell.mark)) == 200, "every log event")
    until(lambda: between.whole(tell.traces), "every trace")
