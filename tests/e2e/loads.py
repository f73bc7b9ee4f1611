"""Running ``spanhook load`` against the stack, and what Prometheus is expected to say of it."""

import json
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from spanhook import semconv
from spanhook.model import NANO
from tests.e2e.backends import Prometheus, Sample
from tests.e2e.stack import Stack

SERVICE = "spanhook-load"
RUNS = 300

#: Names as Prometheus has them, of the metrics that the load foretells.
PROMETHEUS_NAMES = {
    semconv.METRIC_TOKENS: "spanhook_usage_tokens_total",
    semconv.METRIC_COST: "spanhook_usage_cost_USD_total",
    semconv.METRIC_UNPRICED: "spanhook_usage_unpriced_total",
    semconv.METRIC_DECISIONS: "spanhook_hook_decisions_total",
    semconv.METRIC_CLIENT_DURATION: "gen_ai_client_operation_duration_seconds",
    semconv.METRIC_TIME_TO_FIRST_CHUNK: "gen_ai_client_operation_time_to_first_chunk_seconds",
    semconv.METRIC_CLIENT_TOKENS: "gen_ai_client_token_usage",
    semconv.METRIC_AGENT_DURATION: "gen_ai_invoke_agent_duration_seconds",
    semconv.METRIC_AGENT_INFERENCE_CALLS: "gen_ai_invoke_agent_inference_calls",
    semconv.METRIC_AGENT_TOOL_CALLS: "gen_ai_invoke_agent_tool_calls",
    semconv.METRIC_TOOL_DURATION: "gen_ai_execute_tool_duration_seconds",
    semconv.METRIC_RUN_LLM_CALLS: "spanhook_run_llm_calls",
    semconv.METRIC_RUN_TOOL_CALLS: "spanhook_run_tool_calls",
    semconv.METRIC_HOOK_DURATION: "spanhook_hook_duration_seconds",
    semconv.METRIC_BUDGET_TOKENS: "spanhook_budget_tokens_total",
    semconv.METRIC_BUDGET_COST: "spanhook_budget_cost_USD_total",
    semconv.METRIC_APPROVAL_REQUESTS: "spanhook_approval_requests_total",
    semconv.METRIC_APPROVAL_WAIT: "spanhook_approval_wait_seconds",
    semconv.METRIC_REMOTE_POLICY_DURATION: "spanhook_remote_policy_duration_seconds",
    semconv.METRIC_REMOTE_POLICY_ERRORS: "spanhook_remote_policy_errors_total",
    semconv.METRIC_REDACTION_FINDINGS: "spanhook_redaction_findings_total",
    semconv.METRIC_INJECTION_FINDINGS: "spanhook_injection_findings_total",
    semconv.METRIC_STREAM_HELD: "spanhook_stream_held_seconds",
}

#: Labels that say whose series it is, not which.
_WHOSE = re.compile(r"__name__|job|instance|service_.*|deployment_.*|otel_scope_.*")

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def load(environ: Mapping[str, str], runs: int = RUNS, seed: int = 1) -> Any:
    """Run the load where its telemetry goes to ``environ``; returns the document it prints."""
    ran = subprocess.run(
        [sys.executable, "-m", "spanhook", "load", "--runs", str(runs), "--seed", str(seed), "--json"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def foretold(document: Any) -> Series:
    """The series that the load says there must be: counters as they are, histograms as their count and sum."""
    expected: Series = {}
    for metric, rows in document["metrics"].items():
        name = PROMETHEUS_NAMES[metric]
        for row in rows:
            labels = frozenset((_name(key), _text(value)) for key, value in row["attributes"].items())
            if "value" in row:
                expected[name, labels] = row["value"]
            for part in ("count", "sum"):
                if part in row:
                    expected[f"{name}_{part}", labels] = row[part]
    return expected


def _name(attribute: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", attribute)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def stored(prometheus: Prometheus, names: set[str], instance: str) -> Series:
    """What Prometheus has of one process, by name and attributes."""
    found: Series = {}
    for sample in prometheus.query(
        f'last_over_time({{__name__=~"{"|".join(sorted(names))}", instance="{instance}"}}[1h])'
    ):
        key = (sample.labels["__name__"], _which(sample))
        assert key not in found, f"two series where the attributes tell of one: {sample.labels}"
        found[key] = sample.value
    return found


def complete(prometheus: Prometheus, document: Any, instance: str) -> bool:
    """Whether all that a load has printed is in Prometheus.

    Series alone would not tell: each begins with a zero that Prometheus puts there, and grows with every export.
    """
    expected = foretold(document)
    there = stored(prometheus, {name for name, _ in expected}, instance)
    return all(math.isclose(there.get(key, 0.0), value, rel_tol=1e-12) for key, value in expected.items())


def _which(sample: Sample) -> frozenset[tuple[str, str]]:
    return frozenset((key, value) for key, value in sample.labels.items() if not _WHOSE.fullmatch(key))


DECIDED = ("spanhook_mode", "spanhook_hook", "spanhook_event", "spanhook_decision")
Figures = dict[str, Counter[tuple[str, ...]]]


def foretold_events(document: Any) -> Figures:
    """What the log events of a load must add up to: runs, tokens and nano-dollars by user, decisions by hook."""
    totals = document["totals"]
    return {
        "runs": Counter({(status,): runs for status, runs in totals["runs_by_status"].items()}),
        "tokens": +Counter({(user,): one["total_tokens"] for user, one in totals["by_user"].items()}),
        "cost": +Counter({(user,): _nano(one["cost"]["usd"]) for user, one in totals["by_user"].items()}),
        "decisions": Counter(
            {
                (mode, hook, event, decision): count
                for mode, of in (("enforce", "decisions"), ("shadow", "shadow_decisions"))
                for hook, of_hook in totals[of].items()
                for event, of_event in of_hook.items()
                for decision, count in of_event.items()
                if decision != "allow"
            }
        ),
    }


def figures(events: Iterable[Mapping[str, str]]) -> Figures:
    """The same, worked out from log events as ``stored_events`` gives them."""
    found: Figures = {name: Counter() for name in ("runs", "tokens", "cost", "decisions")}
    for event in events:
        if event["event_name"] == semconv.EVENT_DECISION:
            found["decisions"][tuple(event[name] for name in DECIDED)] += 1
        elif event["event_name"] == semconv.EVENT_RUN:
            user = (event.get("user_id", ""),)
            found["runs"][event["spanhook_status"],] += 1
            found["tokens"][user] += int(event["spanhook_usage_input_tokens"])
            found["tokens"][user] += int(event["spanhook_usage_output_tokens"])
            found["cost"][user] += _nano(event.get("spanhook_cost_usd", "0"))
    return {name: +counted for name, counted in found.items()}


def _nano(dollars: str) -> int:
    return round(float(dollars) * NANO)


def stored_events(one: Stack, instance: str) -> list[dict[str, str]]:
    """The attributes of what one process has logged, as Loki names and writes them, whoever has the records."""
    if one.loki is not None:
        now = time.time()
        lines = one.loki.query(f'{{service_instance_id="{instance}"}}', now - 3600, now + 60)
        return [line["labels"] for line in lines]
    return [
        {_name(key): _text(value) for key, value in record.attributes.items()}
        for record in one.sink.records()
        if record.resource.get("service.instance.id") == instance
    ]
