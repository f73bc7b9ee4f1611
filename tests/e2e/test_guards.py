"""What ready-made hooks find, subscriptions miss and agents hand off is where a reader looks for it."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.e2e.guarded import CALLS_THAT_FAIL, HANDED_OFF, UNHEARD
from tests.e2e.programs import until
from tests.e2e.stack import Stack
from tests.e2e.test_rules import RULES
from tests.panels import queries

pytestmark = pytest.mark.e2e

HOOKS, APPLICATION = (Path(__file__).with_name(name) for name in ("guards.py", "guarded.py"))

#: Panels, and a label of an answer that each must have, if any.
PANELS = {
    "agents/Hand-offs by status/A": "success",
    "hooks/Circuits open/A": "",
    "hooks/Circuits/A": "pay",
    "hooks/Redacted values/A": "EMAIL",
    "hooks/Signs of injection/A": "override",
    "hooks/Audit records/B": "audit_log",
    "pipeline/Events not delivered/A": "",
    "usage/Time streams are held back/B": "",
}
ALERTS = ("SpanhookCircuitOpen", "SpanhookAuditFailing", "SpanhookEventsNotDelivered")


@pytest.fixture(scope="module")
def service(running: Stack) -> str:
    """An application that has ended."""
    name = f"guarded-{uuid.uuid4()}"
    ran = subprocess.run(
        [sys.executable, "-m", "spanhook", "run", "--hooks", f"{HOOKS}:hooks", str(APPLICATION)],
        env={**os.environ, **running.environ(), "OTEL_SERVICE_NAME": name},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return name


@pytest.mark.parametrize("panel", PANELS)
def test_panels_show_it(running: Stack, service: str, panel: str) -> None:
    [query] = [one for one in queries() if str(one) == panel]
    found = until(lambda: running.prometheus.query(query.put_in({"service": service})), f"data for {panel}", 90)
    assert not PANELS[panel] or PANELS[panel] in {value for one in found for value in one.labels.values()}


@pytest.mark.parametrize("alert", ALERTS)
def test_alerts_tell_of_it(running: Stack, service: str, alert: str) -> None:
    def told() -> list[float]:
        answers = running.prometheus.query(RULES[alert])
        return [one.value for one in answers if one.labels["service_name"] == service]

    assert until(told, alert)


def test_events_that_were_not_delivered_are_counted(running: Stack, service: str) -> None:
    of = f'service_name="{service}", spanhook_component="subscription"'
    counted = f"last_over_time(spanhook_telemetry_dropped_total{{{of}}}[1h])"
    [dropped] = until(lambda: running.prometheus.query(counted), "what was dropped")
    assert dropped.value >= UNHEARD


def test_only_what_is_telemetry_is_lost(running: Stack, service: str) -> None:
    """Three operations have no audit record; the events that nobody got are not among what was lost.

    The panel adds what the collector gave up, of all services; that is what it shows for a service nobody has.
    """
    [query] = [one for one in queries() if str(one) == "pipeline/Items lost/A"]
    own = f"({query.put_in({'service': service})}) - ({query.put_in({'service': 'nobody'})})"
    until(lambda: running.prometheus.value(own) == CALLS_THAT_FAIL, "what was lost")
    series = f'spanhook_telemetry_dropped_total{{service_name="{service}"}}'
    counted = f"sum by (spanhook_component) (last_over_time({series}[1h]))"
    dropped = {one.labels["spanhook_component"]: one.value for one in running.prometheus.query(counted)}
    assert dropped.pop("subscription") >= UNHEARD
    assert dropped == {"auditor": CALLS_THAT_FAIL}


def test_hand_offs_are_in_traces(running: Stack, service: str) -> None:
    tempo = running.tempo
    assert tempo is not None
    [query] = [one for one in queries() if str(one) == "agents/Who handed off to whom/A"]
    found = until(lambda: tempo.query(query.put_in({"service": service})), "hand-offs", 90)
    assert [one.attributes["gen_ai.agent.name"] for one in found] == ["billing"] * HANDED_OFF
