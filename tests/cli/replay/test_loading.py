"""The command: its hooks, what it prints, its exit codes, and that it leaves everything as it is."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanhook.cli.replay import run_replay
from spanhook.errors import ConfigurationError
from tests.cli.replay.lines import line, span

HOOKS = """
import os
from opentelemetry.sdk.trace import TracerProvider
from spanhook import Hooks, Reject

hooks = Hooks()
exported = []
spans = TracerProvider(shutdown_on_exit=False).get_tracer("mine")

@hooks.before("tool.execute", names={"refund"})
def no_refunds(op):
    with spans.start_as_current_span("check") as span:
        exported.append(span.is_recording())
    raise Reject("no refunds,\\n today")
"""
POLICIES = """
version: 1
mode: off
stores: {default: "sqlite:///counts.db"}
policies:
  - {use: budget, id: spending, with: {per: tenant, window: day, tokens: 10}}
  - {use: tool_policy, id: tools, with: {default: allow, rules: [{deny: [wire]}]}}
  - {use: approval, id: people, tools: [close]}
  - {use: remote_policy, id: service, tools: [close], with: {service: opa, url: "http://127.0.0.1:1/v1/data/a"}}
  - {use: audit_log, id: records}
"""
CONDITIONS = """
version: 1
policies:
  - use: tool_policy
    id: refunds
    with:
      default: allow
      rules:
        - deny: [refund]
          when: "arguments.amount > 50 && identity.tenant_id != 'internal'"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hooks.py").write_text(HOOKS, "utf-8")
    (tmp_path / "spans.jsonl").write_text(
        line(span(gen_ai__tool__name="refund", user__id="ann"), span(at=1, gen_ai__tool__name="search")) + "\n", "utf-8"
    )
    yield tmp_path
    sys.modules.pop("hooks", None)


def run(*files: str, compare: bool = False, as_json: bool = False, config: str = "", **given: object) -> int:
    return run_replay(files or ("spans.jsonl",), compare, as_json, config=config, **given)


def test_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(hooks=["./hooks.py:hooks"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (
        "2 operations in 2 spans\n"
        "\n"
        "decisions\n"
        "  time                      kind          name    whose  hook        decision  reason\n"
        "  2025-06-15T15:06:40.000Z  tool.execute  refund  ann    no_refunds  reject    no refunds, today\n"
        "\n"
        "by hook and decision\n"
        "  no_refunds  reject  1\n"
    )


def test_comparison(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(hooks=["./hooks.py:hooks"], compare=True) == 1
    out, _ = capsys.readouterr()
    assert "  differs  2025-06-15T15:06:40.000Z  tool.execute  refund  ann    no_refunds  allow  reject  no ref" in out
    assert "\n0 same, 1 differ, 0 unknown\n" in out


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(hooks=["./hooks.py:hooks"], as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["operations"], found["comparison"], found["unreached"]) == (2, None, [])
    assert found["summary"] == [{"hook": "no_refunds", "decision": "reject", "mode": "enforce", "count": 1}]
    [one] = found["decisions"]
    assert (one["user_id"], one["event"], one["reason"]) == ("ann", "tool.execute.pre", "no refunds,\n today")


def test_broken_lines_end_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "spans.jsonl").open("a") as file:
        file.write("{\n" + '{"resourceLogs": []}\n')
    assert run(hooks=["./hooks.py:hooks"]) == 1
    out, err = capsys.readouterr()
    assert "no_refunds" in out
    assert "\nbeside these\n  1  lines of logs or metrics: skipped\n" in out
    assert err.startswith("spanhook replay: spans.jsonl:2: it is not JSON: ")


def test_policies_change_nothing_outside(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "spanhook.yaml").write_text(POLICIES, "utf-8")
    closing = span(gen_ai__tool__name="close", decisions=(("people", "pre", "pause"),), status="interrupted")
    (folder / "spans.jsonl").write_text(line(span(gen_ai__tool__name="wire"), closing), "utf-8")
    assert run(config="spanhook.yaml", as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["hook"], one["decision"], one["reason"]) for one in found["decisions"] if one["hook"] != "tools"] == [
        ("service", "unknown", "what the service would answer"),
        ("people", "unknown", "what people would answer"),
    ]
    assert [one["decision"] for one in found["decisions"] if one["hook"] == "tools"] == ["reject"]
    assert sorted(os.listdir(folder)) == ["hooks.py", "spanhook.yaml", "spans.jsonl"]


def test_conditions_of_policies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "spanhook.yaml").write_text(CONDITIONS, "utf-8")
    tools = (
        span(gen_ai__tool__name="refund", gen_ai__tool__call__arguments='{"amount": 60}'),
        span(at=1, gen_ai__tool__name="refund", gen_ai__tool__call__arguments='{"amount": 40}'),
        span(at=2, gen_ai__tool__name="refund"),
        span(at=3, gen_ai__tool__name="refund", spanhook__tenant__id="internal"),
    )
    (folder / "spans.jsonl").write_text(line(*tools), "utf-8")
    assert run(config="spanhook.yaml", as_json=True) == 0
    found = [(one["time"][-7:-5], one["decision"]) for one in json.loads(capsys.readouterr().out)["decisions"]]
    assert found == [("40", "reject"), ("42", "unknown"), ("43", "unknown")]


def test_nothing_is_exported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    (folder / "quiet.py").write_text(HOOKS, "utf-8")
    assert run(hooks=["quiet:hooks"]) == 0
    import quiet  # type: ignore[import-not-found] # pyright: ignore[reportMissingImports]

    assert quiet.exported == [False]
    assert "OTEL_SDK_DISABLED" not in os.environ


def test_stores_of_hooks_in_python_are_not_changed(folder: Path) -> None:
    (folder / "counting.py").write_text(
        "from spanhook import Hooks\nfrom spanhook.hooks.budget import Budget\n"
        "hooks = Hooks(Budget(tokens=9, store='sqlite:///counts.db'))\n",
        "utf-8",
    )
    with pytest.raises(ConfigurationError, match="'budget' counts in sqlite://, which a replay would change"):
        run(hooks=["./counting.py:hooks"])


def test_mistakes(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="there are no hooks to replay"):
        run()
    with pytest.raises(ConfigurationError, match=r"none\.jsonl: No such file"):
        run("none.jsonl", hooks=["./hooks.py:hooks"])
    with pytest.raises(ConfigurationError, match="name the files"):
        run_replay((), False, False, hooks=["./hooks.py:hooks"], config="")
