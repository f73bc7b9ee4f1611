"""Running ``spanhook load`` against the stack, and what Prometheus is expected to say of it."""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from tests.e2e.backends import Prometheus, Sample

SERVICE = "spanhook-load"

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
    semconv.METRIC_TOOL_DURATION: "gen_ai_execute_tool_duration_seconds",
    semconv.METRIC_RUN_LLM_CALLS: "spanhook_run_llm_calls",
    semconv.METRIC_RUN_TOOL_CALLS: "spanhook_run_tool_calls",
    semconv.METRIC_HOOK_DURATION: "spanhook_hook_duration_seconds",
}

#: Labels that say whose series it is, not which.
_WHOSE = re.compile(r"__name__|job|instance|service_.*|deployment_.*|otel_scope_.*")

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def load(environ: Mapping[str, str], runs: int = 300, seed: int = 1) -> Any:
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
            labels = frozenset(
                (re.sub(r"[^A-Za-z0-9_]", "_", key), _text(value)) for key, value in row["attributes"].items()
            )
            if "value" in row:
                expected[name, labels] = row["value"]
            for part in ("count", "sum"):
                if part in row:
                    expected[f"{name}_{part}", labels] = row[part]
    return expected


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
