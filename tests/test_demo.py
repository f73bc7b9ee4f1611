"""The demo: what it prints, as text and as JSON, in this process and in one of its own."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from inline_snapshot import snapshot

from spanhook.demo import NEXT, model, run_demo
from spanhook.lifecycle import listeners, registry


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr(model, "SECONDS_PER_CALL", 0.0)
    monkeypatch.setattr(model, "SECONDS_PER_CHUNK", 0.0)
    yield
    assert listeners == []
    assert registry.hooks == []


@pytest.fixture
def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run_demo(live=False, as_json=True) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_every_run_has_its_status_usage_and_decisions(document: dict[str, Any]) -> None:
    told = [
        {
            "name": run["name"],
            "status": run["status"],
            "usage": run["usage"],
            "cost_usd": run["cost_usd"],
            "decisions": [{key: one[key] for key in one if key != "duration_ms"} for one in run["decisions"]],
        }
        for run in document["runs"]
    ]
    assert told == snapshot(
        [
            {
                "name": "allowed",
                "status": "success",
                "usage": {
                    "gpt-4o-mini": {
                        "input_tokens": 3879,
                        "output_tokens": 97,
                        "cache_read_tokens": 2048,
                        "cache_write_tokens": 0,
                        "reasoning_tokens": 0,
                        "cost_usd": 0.00048645,
                    }
                },
                "cost_usd": 0.00048645,
                "decisions": [],
            },
            {
                "name": "tool_rejected",
                "status": "success",
                "usage": {
                    "gpt-4o-mini": {
                        "input_tokens": 3861,
                        "output_tokens": 97,
                        "cache_read_tokens": 2048,
                        "cache_write_tokens": 0,
                        "reasoning_tokens": 0,
                        "cost_usd": 0.00048375,
                    }
                },
                "cost_usd": 0.00048375,
                "decisions": [
                    {
                        "hook": "cached",
                        "event": "tool.execute.pre",
                        "decision": "replace",
                        "reason": "answered instead of the call",
                    },
                    {
                        "hook": "paying_customers_only",
                        "event": "tool.execute.pre",
                        "decision": "reject",
                        "reason": "An active subscription is required",
                    },
                ],
            },
            {
                "name": "over_budget",
                "status": "rejected",
                "usage": {},
                "cost_usd": None,
                "decisions": [
                    {
                        "hook": "within_budget",
                        "event": "agent.invoke.pre",
                        "decision": "reject",
                        "reason": "globex has spent $25.04 of its $25.00",
                    }
                ],
            },
            {
                "name": "interrupted",
                "status": "interrupted",
                "usage": {
                    "gpt-4o-mini": {
                        "input_tokens": 1264,
                        "output_tokens": 32,
                        "cache_read_tokens": 0,
                        "cache_write_tokens": 0,
                        "reasoning_tokens": 0,
                        "cost_usd": 0.0002088,
                    }
                },
                "cost_usd": 0.0002088,
                "decisions": [],
            },
            {
                "name": "resumed",
                "status": "success",
                "usage": {
                    "gpt-4o-mini": {
                        "input_tokens": 1269,
                        "output_tokens": 21,
                        "cache_read_tokens": 1024,
                        "cache_write_tokens": 0,
                        "reasoning_tokens": 0,
                        "cost_usd": 0.00012615,
                    }
                },
                "cost_usd": 0.00012615,
                "decisions": [],
            },
            {
                "name": "streamed",
                "status": "success",
                "usage": {
                    "gpt-4o-mini": {
                        "input_tokens": 2552,
                        "output_tokens": 65,
                        "cache_read_tokens": 1024,
                        "cache_write_tokens": 0,
                        "reasoning_tokens": 0,
                        "cost_usd": 0.000345,
                    },
                    "gpt-4.1-nano": {
                        "input_tokens": 1230,
                        "output_tokens": 33,
                        "cache_read_tokens": 0,
                        "cache_write_tokens": 0,
                        "reasoning_tokens": 0,
                        "cost_usd": 0.0001362,
                    },
                },
                "cost_usd": 0.0004812,
                "decisions": [],
            },
        ]
    )


def test_spans_are_those_of_the_run_with_their_parents(document: dict[str, Any]) -> None:
    shape = {
        run["name"]: [(span["name"], span["status"], span["attributes"]["spanhook.status"]) for span in run["spans"]]
        for run in document["runs"]
    }
    assert shape == snapshot(
        {
            "allowed": [
                ("invoke_agent support-desk", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
                ("execute_tool search_orders", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
                ("execute_tool refund", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
            ],
            "tool_rejected": [
                ("invoke_agent support-desk", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
                ("execute_tool search_orders", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
                ("execute_tool refund", "ERROR", "rejected"),
                ("chat gpt-4o-mini", "UNSET", "success"),
            ],
            "over_budget": [("invoke_agent support-desk", "ERROR", "rejected")],
            "interrupted": [
                ("invoke_agent support-desk", "UNSET", "interrupted"),
                ("chat gpt-4o-mini", "UNSET", "success"),
                ("execute_tool close_account", "UNSET", "interrupted"),
            ],
            "resumed": [
                ("invoke_agent support-desk", "UNSET", "success"),
                ("execute_tool close_account", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
            ],
            "streamed": [
                ("invoke_agent support-desk", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
                ("execute_tool summarize_policy", "UNSET", "success"),
                ("chat gpt-4.1-nano", "UNSET", "success"),
                ("chat gpt-4o-mini", "UNSET", "success"),
            ],
        }
    )
    for run in document["runs"]:
        assert set(run) == {"name", "status", "trace_id", "usage", "cost_usd", "decisions", "spans"}
        assert len(run["trace_id"]) == 32
        int(run["trace_id"], 16)
        root, *inner = run["spans"]
        assert root["parent_id"] is None
        ids = {span["span_id"] for span in run["spans"]}
        assert {span["parent_id"] for span in inner} <= ids
        for span in run["spans"]:
            assert set(span) == {"name", "span_id", "parent_id", "status", "attributes"}
            assert len(span["span_id"]) == 16
        assert all(one["duration_ms"] >= 0 for one in run["decisions"])
    assert len({run["trace_id"] for run in document["runs"]}) == len(document["runs"])


def test_a_model_call_carries_what_it_used(document: dict[str, Any]) -> None:
    span = document["runs"][0]["spans"][3]
    ids = {key: value for key, value in span["attributes"].items() if key == "spanhook.run.id"}
    assert {**span["attributes"], "spanhook.run.id": len(ids["spanhook.run.id"])} == snapshot(
        {
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.operation.name": "chat",
            "spanhook.kind": "llm.call",
            "spanhook.status": "success",
            "spanhook.run.id": 32,
            "gen_ai.response.model": "gpt-4o-mini",
            "gen_ai.response.finish_reasons": ["tool_calls"],
            "session.id": "ann-order",
            "gen_ai.conversation.id": "ann-order",
            "user.id": "ann",
            "spanhook.tenant.id": "acme",
            "gen_ai.usage.input_tokens": 1298,
            "gen_ai.usage.output_tokens": 32,
            "gen_ai.usage.cache_read.input_tokens": 1024,
            "spanhook.cost.usd": 0.0001371,
        }
    )


def test_the_rejected_tool_is_explained_to_the_model_and_its_span_carries_the_decision(
    document: dict[str, Any],
) -> None:
    run = next(run for run in document["runs"] if run["name"] == "tool_rejected")
    decided = [span for span in run["spans"] if span["attributes"].get("spanhook.decision") == "reject"]
    assert [(span["name"], span["status"]) for span in decided] == [("execute_tool refund", "ERROR")]
    assert run["spans"][-1]["name"] == "chat gpt-4o-mini"


def test_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_demo(live=False, as_json=False) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert [line for line in lines if line[:1].isdigit() and line[1:3] == "/6"] == snapshot(
        [
            "1/6  An allowed run",
            "2/6  A tool call rejected, and explained to the model",
            "3/6  A run rejected for its budget",
            "4/6  An interrupted run",
            "5/6  Its resume",
            "6/6  A streamed run",
        ]
    )
    assert [line.strip() for line in lines if " · " in line and "tenant" not in line] == snapshot(
        [
            "│     replace · cached · answered instead of the call",
            "│     reject 402 · paying_customers_only · An active subscription is required",
            "reject 429 · within_budget · globex has spent $25.04 of its $25.00",
        ]
    )
    assert captured.out.endswith("\n".join(NEXT) + "\n")
    start = lines.index("usage by model, all 6 runs")
    assert lines[start : start + 3] == snapshot(
        [
            "usage by model, all 6 runs",
            "  gpt-4o-mini   12,825 in (6,144 cached)  312 out  $0.001650",
            "  gpt-4.1-nano                  1,230 in   33 out  $0.000136",
        ]
    )
    assert "\x1b" not in captured.out
    assert max(map(len, lines)) <= 110


def test_played_again_it_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    usages: list[Any] = []
    for _ in range(2):
        run_demo(live=False, as_json=True)
        usages.append([run["usage"] for run in json.loads(capsys.readouterr().out)["runs"]])
    assert usages[0] == usages[1]


# ----------------------------------------------------------------------------------------------- what may be missing


def test_a_missing_library_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("spanhook.demo.find_spec", lambda name: None if name == "langgraph" else find(name))
    assert run_demo(live=False, as_json=False) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == snapshot('spanhook demo needs langgraph: pip install "spanhook[demo]"\n')


def test_live_needs_a_key(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert run_demo(live=True, as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == snapshot("spanhook demo --live asks OpenAI's models, which needs a key in OPENAI_API_KEY\n")


def test_an_unknown_exporter_is_a_mistake_in_the_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "carrier-pigeon")
    assert run_demo(live=False, as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("spanhook demo: OTEL_TRACES_EXPORTER='carrier-pigeon': no such exporter")
    assert captured.err.count("\n") == 1


# ----------------------------------------------------------------------------------------------- a process of its own


def play(variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    program = "import sys; from spanhook.demo import run_demo; sys.exit(run_demo(live=False, as_json=True))"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        env={**environment, "LANGSMITH_TRACING": "true", **variables},
        check=True,
    )


@pytest.mark.parametrize("variables", [{}, {"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_SAMPLER": "always_off"}])
def test_nothing_else_is_printed(variables: dict[str, str]) -> None:
    done = play(variables)
    runs = json.loads(done.stdout)["runs"]
    assert done.stderr == ""
    assert [run["status"] for run in runs] == snapshot(
        ["success", "success", "rejected", "interrupted", "success", "success"]
    )
    assert bool(runs[0]["spans"]) is ("OTEL_SDK_DISABLED" not in variables)
    assert len(runs[0]["trace_id"]) == 32


class Collector(BaseHTTPRequestHandler):
    """Takes whatever is exported."""

    taken: dict[str, bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        encoding = self.headers.get("Content-Encoding")
        self.taken[self.path] = self.taken.get(self.path, b"") + (gzip.decompress(body) if encoding == "gzip" else body)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_with_an_endpoint_set_all_three_signals_go_there() -> None:
    taken: dict[str, bytes] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("TakesAll", (Collector,), {"taken": taken}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        done = play({"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert done.stderr == ""
    runs = json.loads(done.stdout)["runs"]
    assert set(taken) == {"/v1/traces", "/v1/metrics", "/v1/logs"}
    assert all(bytes.fromhex(run["trace_id"]) in taken["/v1/traces"] for run in runs)
    assert all(bytes.fromhex(span["span_id"]) in taken["/v1/traces"] for run in runs for span in run["spans"])
    assert b"spanhook.usage.cost" in taken["/v1/metrics"]
    assert taken["/v1/logs"].count(b"spanhook.run") >= len(runs)
