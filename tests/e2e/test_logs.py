"""What is asked of the two log events, in Loki: who spent, who was blocked, by figures that the load has printed."""

import json
import time
import uuid
from collections import Counter, defaultdict
from typing import Any

import pytest

from tests.e2e.backends import Loki
from tests.e2e.loads import DECIDED, foretold_events, load
from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def told(running: Stack) -> tuple[Loki, str, Any, float]:
    """Loki, what selects the load's events there, the load's document, and when it started."""
    loki = running.needed_loki()
    instance, started = str(uuid.uuid4()), time.time()
    document = load({**running.environ(), "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={instance}"})
    return loki, f'{{service_name="spanhook-load", service_instance_id="{instance}"}}', document, started


def events(loki: Loki, selector: str, name: str, count: int, started: float) -> list[dict[str, Any]]:
    """All events of a name, once they are all there."""
    query = f'{selector} | event_name="{name}"'

    def found() -> list[dict[str, Any]] | None:
        lines = loki.query(query, started - 60, time.time() + 60)
        return lines if len(lines) >= count else None

    lines = until(found, f"{count} events {name}")
    assert len(lines) == count
    return lines


def test_every_run_is_told_with_its_user_and_cost(told: tuple[Loki, str, Any, float]) -> None:
    loki, selector, document, started = told
    totals = document["totals"]
    runs = events(loki, selector, "spanhook.run", totals["events"]["spanhook.run"], started)
    assert Counter(run["labels"]["spanhook_status"] for run in runs) == totals["runs_by_status"]
    by_user: Counter[str] = Counter()
    cost: defaultdict[str, float] = defaultdict(float)
    for run in runs:
        user = run["labels"].get("user_id", "")
        by_user[user] += 1
        cost[user] += float(run["labels"].get("spanhook_cost_usd", 0))
        assert len(run["labels"]["trace_id"]) == 32
    assert by_user == {user: one["runs"] for user, one in totals["by_user"].items()}
    assert dict(cost) == pytest.approx(
        {user: one["cost"]["usd_float"] for user, one in totals["by_user"].items()}, abs=1e-9
    )


def test_every_decision_but_to_allow_is_told(told: tuple[Loki, str, Any, float]) -> None:
    loki, selector, document, started = told
    totals = document["totals"]
    decisions = events(loki, selector, "spanhook.decision", totals["events"]["spanhook.decision"], started)
    told_of = Counter(tuple(one["labels"][key] for key in DECIDED) for one in decisions)
    assert told_of == foretold_events(document)["decisions"]
    assert {mode for mode, *_ in told_of} == {"enforce", "shadow"}
    assert all(one["labels"]["spanhook_decision_reason"] for one in decisions)


def test_users_and_runs_are_no_labels(told: tuple[Loki, str, Any, float]) -> None:
    loki, _, _, _ = told
    assert set(loki.labels()) <= {
        "service_name",
        "service_namespace",
        "service_instance_id",
        "deployment_environment_name",
    }


def test_a_message_of_a_megabyte_round_trips(running: Stack) -> None:
    loki, mark, message = running.needed_loki(), uuid.uuid4().hex, "é" * 500_000
    with application(running.endpoint) as app:
        body = {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": message}]}]}
        app.log("gen_ai.client.inference.operation.details", None, {"mark": mark, **body})
    now = time.time()
    lines = until(lambda: loki.query(f'{{service_name="made-up"}} | mark="{mark}"', now - 60, now + 60), "the message")
    assert len(lines) == 1
    assert json.loads(lines[0]["line"]) == body
