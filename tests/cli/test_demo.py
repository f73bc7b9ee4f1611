"""The demo: what it prints, as text and as JSON, in this process and in one of its own."""

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot

from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply, Tokens, error
from spanhook.cli.demo import NEXT, model, run_demo
from spanhook.engine import listeners, registry
from tests.forking import children
from tests.servers.collector import collector


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
                "cost_usd": 0.0,
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
    monkeypatch.setattr("spanhook.cli.demo.find_spec", lambda name: None if name == "langgraph" else find(name))
    assert run_demo(live=False, as_json=False) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == snapshot('spanhook demo needs langgraph; run pip install "spanhook[demo]"\n')


def test_live_needs_a_key(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert run_demo(live=True, as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == snapshot("spanhook demo --live calls OpenAI's models and needs a key; set OPENAI_API_KEY\n")


def test_an_unknown_exporter_is_a_mistake_in_the_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "carrier-pigeon")
    assert run_demo(live=False, as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("spanhook demo: OTEL_TRACES_EXPORTER='carrier-pigeon': no such exporter")
    assert captured.err.count("\n") == 1


# ----------------------------------------------------------------------------------------------- live


def test_live_asks_a_real_provider(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    refund = Reply(calls=(Call("refund", {"order_id": "1001", "amount": 42}),), tokens=Tokens(900, 20, cached=512))
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.script("Your order is late.", refund, "That was refused, I am sorry.")
        assert run_demo(live=True, as_json=True) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    runs = {run["name"]: run for run in json.loads(captured.out)["runs"]}
    assert [one["decision"] for one in runs["tool_rejected"]["decisions"]] == ["reject"]
    assert runs["tool_rejected"]["usage"]["gpt-4o-mini-2024-07-18"]["input_tokens"] == 920
    assert [span["name"] for span in runs["tool_rejected"]["spans"]] == snapshot(
        ["invoke_agent support-desk", "chat gpt-4o-mini", "execute_tool refund", "chat gpt-4o-mini"]
    )
    assert runs["over_budget"]["status"] == "rejected"
    told = [message.get("content") for message in server.requests[2].body["messages"]]
    assert told[-1] == "Tool call rejected: An active subscription is required"


def test_a_provider_that_refuses_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with OpenAIServer(error(401)) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run_demo(live=True, as_json=True) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Incorrect API key provided: test." in captured.err
    assert captured.err.count("\n") == 1


# ----------------------------------------------------------------------------------------------- where it runs


@pytest.mark.parametrize("variable", [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_SAMPLER", "always_off")])
def test_it_says_the_same_with_the_sdk_off_and_with_nothing_sampled(
    variable: tuple[str, str],
    document: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(*variable)
    assert run_demo(live=False, as_json=True) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["status"], run["usage"]) for run in runs] == [
        (run["status"], run["usage"]) for run in document["runs"]
    ]
    assert all(len(run["trace_id"]) == 32 for run in runs)
    assert bool(runs[0]["spans"]) is (variable[0] != "OTEL_SDK_DISABLED")


COMMAND = ("-W", "error", "-m", "spanhook", "demo", "--json")


def surroundings(**variables: str) -> dict[str, str]:
    """The environment of the command: without any ``OTEL_*`` variables but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return {**kept, "LANGSMITH_TRACING": "true", **variables}


@pytest.mark.slow
def test_nothing_else_is_printed() -> None:
    command = [sys.executable, *COMMAND]
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings(), check=True)
    assert done.stderr == ""
    assert len(json.loads(done.stdout)["runs"]) == 6


@pytest.mark.slow
def test_with_an_endpoint_set_all_three_signals_go_there() -> None:
    with collector() as seen:
        env = surroundings(OTEL_EXPORTER_OTLP_ENDPOINT=seen.url)
        done = children.run(*COMMAND, env=env, check=True)
    assert done.stderr == ""
    runs = json.loads(done.stdout)["runs"]
    assert Counter(seen.spans) == Counter(span["name"] for run in runs for span in run["spans"])
    assert seen.events.count("spanhook.run") == len(runs)
    assert seen.events.count("spanhook.decision") == 3
    assert "spanhook.usage.cost" in seen.metrics
    assert seen.services == {"spanhook-demo"}


def test_what_is_recorded_is_up_to_the_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPANHOOK_INPUT_OUTPUT_VALUES", "true")
    assert run_demo(live=False, as_json=True) == 0
    spans = [span for run in json.loads(capsys.readouterr().out)["runs"] for span in run["spans"]]
    named = {span["name"].split()[0] for span in spans if "input.value" in span["attributes"]}
    assert named == {"execute_tool", "invoke_agent"}


def test_a_variable_with_a_value_that_cannot_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPANHOOK_INPUT_OUTPUT_VALUES", "some")
    assert run_demo(live=False, as_json=True) == 2
    assert "SPANHOOK_INPUT_OUTPUT_VALUES='some', expected 1 or 0" in capsys.readouterr().err
