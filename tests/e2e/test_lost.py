"""What spanhook itself does not keep is where a reader looks for it."""

import os
import subprocess
import sys
import uuid
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.leaky import CALLS
from tests.e2e.programs import until
from tests.e2e.stack import Stack
from tests.panels import queries

pytestmark = pytest.mark.e2e

PANELS = ("agents/Items lost", "pipeline/Items lost", "pipeline/Dropped and not exported")


def test_what_spanhook_does_not_keep_is_counted_and_shown(running: Stack) -> None:
    service = f"leaky-{uuid.uuid4()}"
    ran = subprocess.run(
        [sys.executable, "-m", "spanhook", "run", str(Path(__file__).with_name("leaky.py"))],
        env={**os.environ, **running.environ(), "OTEL_SERVICE_NAME": service},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    counted = f'last_over_time(spanhook_telemetry_dropped_total{{service_name="{service}"}}[1h]) > 0'
    [dropped] = until(lambda: running.prometheus.query(counted), "what was dropped")
    assert (dropped.labels["spanhook_component"], dropped.value) == ("report", CALLS)
    for panel in PANELS:
        texts = [one.put_in({"service": service}) for one in queries() if str(one).rpartition("/")[0] == panel]
        assert texts
        until(partial(_any, running, texts), f"a figure in {panel}")


def _any(running: Stack, texts: list[str]) -> bool:
    return any(running.prometheus.query(f"({text}) > 0") for text in texts)
