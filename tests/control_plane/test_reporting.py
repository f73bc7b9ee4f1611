"""What processes' hooks did is on the server: of code, of policies and of definitions."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import spanhook
from spanhook import ConfigurationError, Hooks
from spanhook.config import load_file
from spanhook.control_plane import problems
from spanhook.control_plane.applying import Applied
from spanhook.control_plane.client import Client, Unreachable
from spanhook.control_plane.reporting import Reporter, facts_of
from spanhook.hooks.tool_policy import ToolPolicy
from spanhook.testing import recorder
from tests.control_plane.answering import answering
from tests.control_plane.processes import CONFIGURATION, POLICY, server, until
from tests.ports import free_port

APP = """
import spanhook

@spanhook.tool
def refund():
    return "paid"

@spanhook.tool
def search():
    return "found"

for tool in (search, search, refund):
    try:
        tool()
    except spanhook.Reject as refused:
        print(refused)
"""
HOOKS = """
from spanhook import Hooks

hooks = Hooks()

@hooks.before("tool.execute", names={"search"})
def seen(op):
    pass

@hooks.before("tool.execute", names={"search"}, fail_mode="open")
def broken(op):
    raise ValueError("the secret")
"""
REFUSING = {"default": "allow", "rules": [{"deny": ["refund"], "reason": "no refunds"}]}


def test_what_hooks_of_a_short_process_did_is_on_the_server(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "hooks.py").write_text(HOOKS)
    (tmp_path / "spanhook.yaml").write_text(CONFIGURATION.format(port=port, fail_mode="closed"))
    with server(tmp_path, port), httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        given = {"name": "guard", "event_type": "tool.execute.pre", "handler_ref": POLICY, "config": REFUSING}
        assert client.post("/v1/hooks", json=given).status_code == 201
        content = "settings: {execution_log_enabled: true}"
        assert client.put("/v1/policy", json={"content": content}).status_code == 200
        command = [sys.executable, "-m", "spanhook", "run", "--hooks", "hooks.py:hooks", "app.py"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert "no refunds" in ran.stdout

        def statistics() -> Any:
            return client.get("/v1/hooks/stats").json()

        until(lambda: statistics()["executions"] == 7)
        found = statistics()
        counted = {one["hook_name"]: (one["executions"], one["failures"], one["rejections"]) for one in found["hooks"]}
        assert counted == {"broken": (2, 2, 0), "guard": (3, 0, 1), "seen": (2, 0, 0)}
        assert all(one["p95_ms"] >= one["p50_ms"] >= 0 for one in found["hooks"])
        assert (found["total_hooks"], found["total_definitions"]) == (3, 1)
        assert found["by_event_type"] == {"tool.execute": 2, "tool.execute.pre": 1}
        assert found["event_types_active"] == ["tool.execute", "tool.execute.pre"]
        [process] = client.get("/v1/processes").json()["processes"]
        assert {(one["name"], one["priority"]) for one in process["hooks"]} == {("seen", 75), ("broken", 75)}
        logs = client.get("/v1/hooks/logs").json()["logs"]
        assert [(one["name"], one["aborted"], one["abort_reason"]) for one in logs] == [
            ("search", False, ""),
            ("search", False, ""),
            ("refund", True, "no refunds"),
        ]
        assert "the secret" not in str(logs)
        assert client.get(f"/v1/hooks/logs/{logs[0]['log_id']}").json() == logs[0]


def test_a_report_that_was_not_taken_is_sent_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering() as told:
        reporter, nothing = Reporter(Client(told.url, None)), Applied((Hooks(),))
        told.report_status = 503
        with pytest.raises(Unreachable):
            reporter.tell(nothing, "", ending=False)
        told.report_status = 200
        reporter.tell(nothing, "", ending=False)
        assert len(told.reports) == 1
        monkeypatch.setattr("spanhook.control_plane.reporting.RETRY_S", 0.0)
        told.report_status = 503
        monkeypatch.setattr(reporter, "_due", 0.0)
        monkeypatch.setattr(reporter, "_due_if_changed", 0.0)
        with pytest.raises(Unreachable):
            reporter.tell(nothing, "", ending=False)
        told.report_status = 200
        for _ in range(2):
            reporter.tell(nothing, "", ending=False)
        assert len(told.reports) == 3


def test_remarks_of_hooks_are_reported_and_can_be_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("spanhook.hooks.tool_policy.MANY_CALLS", 1)
    policy = ToolPolicy([{"deny": ["reefund"]}])
    with recorder(Hooks(policy)), spanhook.operation("tool.execute", "refund"):
        pass
    with recorder(Hooks(policy)):
        facts = facts_of(Applied(()), "")
    remark = "rule 1, which denies 'reefund', has matched no name in 1 tool calls"
    assert facts["problems"] == [{"subject": "tool_policy", "message": remark}]
    with answering() as told:
        (tmp_path / "spanhook.yaml").write_text(f"version: 1\ncontrol_plane: {{url: '{told.url}'}}\n...\n")
        file = load_file(str(tmp_path / "spanhook.yaml"))
        told.sends(json.dumps({"processes": [{**facts, "service": "desk", "host": "box", "pid": 7}]}).encode())
        assert [*problems(file)] == [("desk (box, process 7)", f"tool_policy: {remark}")]
        told.status = 403
        with pytest.raises(ConfigurationError, match="does not say what processes report: it has answered 403"):
            list(problems(file))
