"""What happens for the first time hours after its process began is told of: no series, then one with all of it."""

import time
from collections.abc import Generator

import pytest

from spanhook import semconv
from tests.e2e.backends import Prometheus
from tests.e2e.sending import count
from tests.e2e.stack import prometheus_at
from tests.e2e.test_rules import RULES
from tests.panels import queries
from tests.ports import free_ports

pytestmark = pytest.mark.e2e

MINUTE = 60.0
AGO = 4
"""Minutes ago, for the first time."""
RARE = {
    "spanhook.hook.decisions": 3,
    "spanhook.telemetry.dropped": 512,
    "otelcol_exporter_send_failed_log_records": 500,
}
GATE = {semconv.HOOK: "quota", semconv.EVENT: "tool.execute.pre", semconv.FAIL_MODE: "open"}
OF = {
    "spanhook.hook.decisions": {**GATE, semconv.DECISION: "error"},
    "spanhook.telemetry.dropped": {semconv.COMPONENT: "exporter.logs"},
    "otelcol_exporter_send_failed_log_records": {"exporter": "otlp_http/loki"},
}


@pytest.fixture(scope="module", params=[90, 240], ids="{} minutes old".format)
def prometheus(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Prometheus, None, None]:
    """Prometheus behind a process so many minutes old that exports each minute, ten calls let pass in each.

    Where Prometheus puts the zero in front of a series depends on the age: it takes nothing older than two hours.
    """
    at, alertmanager = free_ports(2)
    server = prometheus_at(tmp_path_factory.mktemp("first") / "prometheus", at, alertmanager)
    server.start()
    url, now = f"http://127.0.0.1:{at}", time.time()
    resource, since = {"service.name": "shop", "service.instance.id": "one"}, now - request.param * MINUTE

    def send(metric: str, value: int, attributes: dict[str, str], minute: int) -> None:
        to = f"{url}/api/v1/otlp/v1/metrics"
        count(to, metric, value, resource, attributes, since=since, at=now - minute * MINUTE)

    try:
        for minute in range(70, -1, -1):
            send("spanhook.hook.decisions", 10 * (request.param - minute), {**GATE, semconv.DECISION: "allow"}, minute)
        for minute in range(AGO, -1, -1):
            for metric, value in RARE.items():
                send(metric, value, OF[metric], minute)
        yield Prometheus(url)
    finally:
        server.stop()


@pytest.mark.parametrize("rule", ["SpanhookGateFailedOpen", "SpanhookPipelineLoss", "SpanhookSdkDropping"])
def test_alerts_fire(prometheus: Prometheus, rule: str) -> None:
    assert prometheus.query(RULES[rule])


@pytest.mark.parametrize(
    ("panel", "told"),
    [
        ("agents/Failed open/A", {"": 3}),
        ("hooks/Decisions by hook and event/A", {"allow": 600, "error": 3}),
        ("agents/Items lost/A", {"": 1012}),
        ("pipeline/Items lost/A", {"": 1012}),
    ],
)
def test_panels_state_it(prometheus: Prometheus, panel: str, told: dict[str, float]) -> None:
    [query] = [one for one in queries() if str(one) == panel]
    found = prometheus.query(query.put_in())
    assert {one.labels.get("spanhook_decision", ""): one.value for one in found} == told
