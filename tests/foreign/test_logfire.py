"""Beside Logfire itself, whose providers are global and cannot be hashed: no gate refuses because of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.foreign

PROGRAM = """
import json, logging, sys
import logfire
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from logfire.testing import TestExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
import spanhook
from spanhook import Hooks
from spanhook.diagnostics import internal
from spanhook.export import existing, flush
from spanhook.hooks.budget import Budget
from spanhook.hooks.circuit_breaker import CircuitBreaker
from spanhook.hooks.loop_guard import LoopGuard

reader, spans = InMemoryMetricReader(), TestExporter()

def configure():
    logfire.configure(send_to_logfire=False, console=False, metrics=logfire.MetricsOptions([reader]),
                      additional_span_processors=[SimpleSpanProcessor(spans)], inspect_arguments=False)

def gates():
    spanhook.instrument(Hooks(Budget("run", tokens=1_000_000), LoopGuard(), CircuitBreaker()),
                        only=[])

def call():
    with spanhook.operation("llm.call", "m", provider="acme", request={"messages": ["hi"]}) as op:
        op.record_usage(input_tokens=1, output_tokens=1)

order = sys.argv[1]
if order == "logfire before":
    configure(); gates(); call(); call()
elif order == "logfire after":
    gates(); call(); configure(); call()
flush()
data = reader.get_metrics_data()
print(json.dumps({
    "metrics": sorted({m.name for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}),
    "spans": [s["name"] for s in spans.exported_spans_as_dict()],
    "errors": dict(internal.counts),
    "providers": [type(existing(one)).__module__.split(".")[0] for one in ("traces", "metrics", "logs")],
}))
"""


def ran(order: str, tmp_path: Path) -> dict[str, Any]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program, order], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("order", ["logfire before", "logfire after"])
def test_gates_beside_logfire(order: str, tmp_path: Path) -> None:
    found = ran(order, tmp_path)
    assert found["errors"] == {}
    assert {"spanhook.usage.tokens", "spanhook.budget.tokens"} <= set(found["metrics"])
    assert found["spans"][-1] == "chat m"
    assert found["providers"] == ["logfire"] * 3
