"""How much time ``import spanhook`` adds to OpenTelemetry's own imports.

Each import is repeated in fresh interpreters with everything compiled; the minimum counts.
"""

import json
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.process import ROOT, environment

_OPENTELEMETRY = (
    "opentelemetry.sdk.trace",
    "opentelemetry.sdk.metrics",
    "opentelemetry.sdk._logs",
    "opentelemetry.instrumentation.instrumentor",
    "wrapt",
)
_PROGRAM = """
import json, time
def clocks(): return time.perf_counter(), time.process_time()
before = clocks()
import {opentelemetry}
between = clocks()
import spanhook
after = clocks()
print(json.dumps([[b - a for a, b in zip(before, between)], [b - a for a, b in zip(between, after)]]))
"""


def measure(times: int) -> dict[str, Any]:
    """Milliseconds of both imports, wall time and CPU time."""
    program = _PROGRAM.format(opentelemetry=", ".join(_OPENTELEMETRY))
    with tempfile.TemporaryDirectory() as compiled:
        variables = {**environment(), "PYTHONPYCACHEPREFIX": compiled}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)

        def once() -> Any:
            done = subprocess.run(
                [sys.executable, "-c", program], env=variables, cwd=ROOT, check=True, capture_output=True, text=True
            )
            return json.loads(done.stdout)

        once()  # compiles
        taken = [once() for _ in range(times)]
    least = [[min(one[part][clock] for one in taken) * 1e3 for clock in (0, 1)] for part in (0, 1)]
    return {
        "times": times,
        "opentelemetry_ms": least[0][0],
        "opentelemetry_cpu_ms": least[0][1],
        "spanhook_ms": least[1][0],
        "spanhook_cpu_ms": least[1][1],
    }
