"""Agent libraries that an application uses and that are not bound are seen on the first dashboard, and alerted of."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from spanhook import semconv
from tests.e2e.programs import until
from tests.e2e.stack import Stack
from tests.e2e.test_rules import RULES
from tests.panels import queries
from tests.standin import BY_NAME, library

pytestmark = pytest.mark.e2e

IN_USE, IMPORTABLE = "dashscope", "agno"
UNBOUND = {(IN_USE, semconv.STATE_UNBOUND), (IMPORTABLE, semconv.STATE_IMPORTABLE)}


def test_libraries_that_are_not_bound_are_shown(running: Stack, tmp_path: Path) -> None:
    for name in (IN_USE, IMPORTABLE):
        library(tmp_path / "installed", BY_NAME[name])
    (tmp_path / "app.py").write_text(f"import {IN_USE}\n")
    service = f"unbound-{uuid.uuid4()}"
    ran = subprocess.run(
        [sys.executable, "-m", "spanhook", "run", "app.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            **running.environ(),
            "OTEL_SERVICE_NAME": service,
            "PYTHONPATH": str(tmp_path / "installed"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr

    def states(panel: str) -> set[tuple[str, str]]:
        [text] = [one.put_in({"service": service}) for one in queries() if str(one) == panel]
        labels = [sample.labels for sample in running.prometheus.query(text)]
        return {(one["spanhook_library"], one["spanhook_state"]) for one in labels}

    def figure(panel: str) -> float:
        [text] = [one.put_in({"service": service}) for one in queries() if str(one) == panel]
        return running.prometheus.value(text)

    until(lambda: states("agents/Libraries that are not bound/A") >= UNBOUND, "libraries on the first dashboard")
    assert states("agents/Libraries that are not bound/A") == UNBOUND
    assert states("hooks/Libraries by service/A") > UNBOUND
    assert figure("agents/Ungated/A") == figure("hooks/Ungated libraries/A") == 1
    alerts = [one.labels for one in running.prometheus.query(RULES["SpanhookGateUnbound"])]
    told = {(one["spanhook_library"], one["spanhook_state"]) for one in alerts if one["service_name"] == service}
    assert told == {(IN_USE, semconv.STATE_UNBOUND)}
