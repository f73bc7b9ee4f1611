"""What ready-made hooks find, subscriptions miss and agents hand off is where a reader looks for it."""

import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spanhook import semconv
from tests.e2e.guarded import CALLS_THAT_FAIL, HANDED_OFF, TRANSFERS, UNHEARD
from tests.e2e.programs import until
from tests.e2e.stack import Stack
from tests.e2e.test_rules import RULES
from tests.hooks.remote_policy.policy_server import Odd, PolicyServer, Seen, serving
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
    "hooks/Policy services not asked/A": "",
    "hooks/Time until a policy has decided/A": "slow",
    "hooks/Time until a policy has decided/B": "transfers",
    "hooks/Verdicts of policies/A": "deny",
    "hooks/Failed attempts to ask/A": "PolicyNotAsked",
    "pipeline/Events not delivered/A": "",
    "usage/Time streams are held back/B": "",
}
ALERTS = (
    "SpanhookCircuitOpen",
    "SpanhookPolicyCircuitOpen",
    "SpanhookPolicyFailing",
    "SpanhookAuditFailing",
    "SpanhookEventsNotDelivered",
)
SLOW_S = 0.3


@dataclass(frozen=True, slots=True)
class Guarded:
    """An application that has ended, and the policy service that it has asked."""

    service: str
    policies: PolicyServer

    def answers(self) -> Counter[Any]:
        """What the service was asked by ``transfers``, by amount."""
        bodies = [one.body for one in self.policies.seen]
        return Counter(one["arguments"]["amount"] for one in bodies if one["name"] == "transfer")


def decided(seen: Seen) -> Any:
    if seen.body["name"] == "look_up":
        return Odd(body=True, wait=SLOW_S)
    return {1: True, 1000: False, 13: "certainly", 500: Odd(500)}[seen.body["arguments"]["amount"]]


@pytest.fixture(scope="module")
def guarded(running: Stack) -> Generator[Guarded, None, None]:
    name = f"guarded-{uuid.uuid4()}"
    with serving(decided) as policies:
        ran = subprocess.run(
            [sys.executable, "-m", "spanhook", "run", "--hooks", f"{HOOKS}:hooks", str(APPLICATION)],
            env={**os.environ, **running.environ(), "OTEL_SERVICE_NAME": name, "POLICIES": policies.url},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        yield Guarded(name, policies)


@pytest.fixture
def service(guarded: Guarded) -> str:
    return guarded.service


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


def _stated(running: Stack, service: str, panel: str) -> dict[str, float]:
    """What a panel says of each policy; those at zero left out."""
    [query] = [one for one in queries() if str(one) == panel]
    answers = running.prometheus.query(query.put_in({"service": service}))
    return {one.labels.get("spanhook_hook", ""): one.value for one in answers if one.value}


def test_panels_state_what_the_policy_service_was_asked(running: Stack, guarded: Guarded) -> None:
    """Two failures open the circuit, so the service never sees the transfers after them."""
    asked, wanted = guarded.answers(), Counter(TRANSFERS)
    not_asked = wanted - asked
    assert (asked, not_asked) == ({1: 3, 1000: 2, 13: 1, 500: 2}, {1: 4})
    slow = len(guarded.policies.seen) - asked.total()
    undecided = asked[13] + asked[500] + not_asked.total()
    table = "hooks/Remote policies by service"
    stated = {
        "hooks/Policy questions/A": {"": len(guarded.policies.seen) + not_asked.total()},
        "hooks/Policy questions without an answer/A": {"": undecided / (slow + len(TRANSFERS))},
        "hooks/Policy services not asked/A": {"": 1},
        f"{table}/A": {"transfers": len(TRANSFERS), "slow": slow},
        f"{table}/B": {"transfers": undecided},
        f"{table}/C": {"transfers": undecided},
        f"{table}/D": {},
        f"{table}/E": {"transfers": asked[500] + not_asked.total()},  # what is not understood is refused, no failure
        f"{table}/F": {"transfers": 1},
    }
    until(
        lambda: all(_stated(running, guarded.service, one) == pytest.approx(of) for one, of in stated.items()),
        f"panels that state {stated}",
    )


def test_a_slow_policy_service_is_shown_as_slow(running: Stack, guarded: Guarded) -> None:
    """A quantile is as exact as the histogram: its bucket begins where the one before ends."""
    bucket = max(bound for bound in semconv.DURATION_BUCKETS if bound < SLOW_S)
    shown = until(lambda: _stated(running, guarded.service, "hooks/Time until a policy has decided/B"), "latency")
    assert shown["slow"] > bucket


def test_failed_attempts_are_shown_by_type(running: Stack, guarded: Guarded) -> None:
    counted = f'last_over_time(spanhook_remote_policy_errors_total{{service_name="{guarded.service}"}}[1h])'
    asked = guarded.answers()
    wanted = {
        "spanhook.hooks.remote_policy.PolicyOverloaded": asked[500],
        "spanhook.hooks.remote_policy.UnreadableAnswer": asked[13],
        "spanhook.hooks.remote_policy.PolicyNotAsked": len(TRANSFERS) - asked.total(),
    }
    until(
        lambda: {one.labels["error_type"]: one.value for one in running.prometheus.query(counted)} == wanted,
        "errors by type",
    )


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
