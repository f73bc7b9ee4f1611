"""The collector's file exporter writes what a load exports, and hooks decide about it as they did."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from spanhook.cli.replay.otlp import read_files
from spanhook.settings import CONTENT_VARIABLE
from tests.commands import SPANHOOK
from tests.e2e.programs import until
from tests.e2e.stack import sink_at
from tests.ports import free_ports

pytestmark = pytest.mark.e2e

HOOKS = "spanhook.cli.load.hooks:hooks"


def test_a_load_is_decided_as_it_was(tmp_path: Path) -> None:
    ports = free_ports(3)
    server = sink_at(tmp_path / "sink", *ports)
    server.start()
    environ = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{ports[1]}/v1/traces",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        CONTENT_VARIABLE: "SPAN_ONLY",
    }
    file = str(tmp_path / "sink" / "traces.jsonl")
    try:
        load = [*SPANHOOK, "load", "--runs", "45", "--json"]
        made = subprocess.run(load, env=environ, capture_output=True, text=True, check=True, timeout=300)
        spans = sum(json.loads(made.stdout)["totals"]["spans"].values())
        until(lambda: len(read_files([file], lambda _read: None).spans) >= spans, f"{spans} spans in {file}")
    finally:
        server.stop()
    replay = [*SPANHOOK, "replay", "--hooks", HOOKS, "--config", "", "--compare", "--json", file]
    done = subprocess.run(replay, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    comparison = json.loads(done.stdout)["comparison"]
    assert comparison["differs"] == 0
    assert comparison["same"] > 20
