"""A machine whose clock is wrong costs nobody else's figures: Prometheus refuses all of a request for one sample."""

import json
import time
import urllib.request
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.backends import Prometheus
from tests.e2e.programs import until
from tests.e2e.stack import Stack
from tests.e2e.tiers import tiers

pytestmark = pytest.mark.e2e

OTHERS = 20
HOUR = 3600.0
WRONG = (-3 * HOUR, HOUR)
"""Seconds by which a clock is off: too far back for Prometheus to sort in, and too far ahead."""


def counted(endpoint: str, headers: Mapping[str, str], service: str, instance: str, at: float) -> None:
    """Send what one process has counted, as of this time."""
    names = {"service.name": service, "service.instance.id": instance}
    point = {
        "startTimeUnixNano": str(int((at - 1) * 1e9)),
        "timeUnixNano": str(int(at * 1e9)),
        "asInt": "5",
    }
    total = {"name": "made", "sum": {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [point]}}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in names.items()]
    body = {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": [{"metrics": [total]}]}]}
    sent = urllib.request.Request(
        f"{endpoint}/v1/metrics", json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    )
    urllib.request.urlopen(sent, timeout=10).close()


def nobody_else_loses(endpoint: str, headers: Mapping[str, str], prometheus: Prometheus) -> None:
    """Some machines with wrong clocks among others, all at once."""
    service, now = f"clocks-{uuid.uuid4()}", time.time()
    for number in range(OTHERS):
        counted(endpoint, headers, service, f"right-{number}", now)
        for off in WRONG:
            counted(endpoint, headers, service, f"wrong-{off}-{number}", now + off)
    arrived = f'count(last_over_time(made_total{{service_name="{service}"}}[1h]) == 5)'
    until(lambda: prometheus.value(arrived) == OTHERS, f"what {OTHERS} others have counted", 20)


def test_one_collector(running: Stack) -> None:
    nobody_else_loses(running.endpoint, {}, running.prometheus)


def test_two_tiers(tmp_path: Path) -> None:
    with tiers(tmp_path) as two:
        nobody_else_loses(two.endpoint, {"Authorization": f"Bearer {two.token}"}, two.prometheus)
