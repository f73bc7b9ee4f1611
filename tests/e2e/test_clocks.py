"""A machine whose clock is wrong costs nobody else's figures: Prometheus refuses all of a request for one sample."""

import time
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.backends import Prometheus
from tests.e2e.programs import until
from tests.e2e.sending import count
from tests.e2e.stack import Stack
from tests.e2e.tiers import tiers

pytestmark = pytest.mark.e2e

OTHERS = 20
HOUR = 3600.0
WRONG = (-3 * HOUR, HOUR)
"""Seconds by which a clock is off: too far back for Prometheus to sort in, and too far ahead."""


def nobody_else_loses(endpoint: str, headers: Mapping[str, str], prometheus: Prometheus) -> None:
    """Some machines with wrong clocks among others, all at once."""
    service, now = f"clocks-{uuid.uuid4()}", time.time()

    def send(name: str, at: float) -> None:
        resource = {"service.name": service, "service.instance.id": name}
        count(f"{endpoint}/v1/metrics", "made", 5, resource, {}, since=at - 1, at=at, headers=headers)

    for number in range(OTHERS):
        send(f"right-{number}", now)
        for off in WRONG:
            send(f"wrong-{off}-{number}", now + off)
    arrived = f'count(last_over_time(made_total{{service_name="{service}"}}[1h]) == 5)'
    until(lambda: prometheus.value(arrived) == OTHERS, f"what {OTHERS} others have counted", 20)


def test_one_collector(running: Stack) -> None:
    nobody_else_loses(running.endpoint, {}, running.prometheus)


def test_two_tiers(tmp_path: Path) -> None:
    with tiers(tmp_path) as two:
        nobody_else_loses(two.endpoint, {"Authorization": f"Bearer {two.token}"}, two.prometheus)
