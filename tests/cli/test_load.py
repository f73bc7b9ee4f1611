"""The load: its totals, that they are the same wherever and however it runs, and that they are what is exported."""

import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from decimal import Decimal
from typing import get_args

import pytest
from inline_snapshot import snapshot
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Sampler, TraceIdRatioBased

import spanhook
from spanhook import semconv
from spanhook.cli.load import measure, run_load
from spanhook.cli.load.counted import Counted
from spanhook.cli.load.document import Difference, Document, totals
from spanhook.cli.load.draw import Draw
from spanhook.cli.load.hooks import hooks
from spanhook.cli.load.printing import Progress, as_text, complaints
from spanhook.cli.load.scenarios import script
from spanhook.cli.load.tables import expected
from spanhook.concurrency import loops
from spanhook.diagnostics import log
from spanhook.engine import listeners, registry
from spanhook.testing import Recorder
from tests.forking import children
from tests.servers.collector import collector

pytestmark = pytest.mark.usefixtures("limits")

ENOUGH = 45
"""Runs in which every scenario comes once."""


@contextmanager
def instrumented(seen: Recorder | None = None) -> Generator[None, None, None]:
    """The load's hooks in force, with a recorder's providers or without any."""
    level = log.level
    log.setLevel("CRITICAL")
    spanhook.instrument(
        hooks,
        tracer_provider=seen.tracer_provider if seen is not None else None,
        meter_provider=seen.meter_provider if seen is not None else None,
        logger_provider=seen.logger_provider if seen is not None else None,
    )
    try:
        yield
    finally:
        spanhook.uninstrument()
        log.setLevel(level)


def load(runs: int = ENOUGH, seed: int = 1, concurrency: int = 1) -> Document:
    with instrumented():
        return measure(runs, seed, concurrency)


@pytest.fixture(scope="module")
def document() -> Document:
    return load()


@pytest.mark.slow
def test_spanhook_counts_what_the_script_says(document: Document) -> None:
    assert list(complaints(document["differences"], document["internal_errors"])) == []
    assert document["totals"]["runs"] == ENOUGH


def test_all_there_is_comes_of_it(document: Document) -> None:
    totals = document["totals"]
    assert set(totals["runs_by_status"]) == set(get_args(semconv.Status))
    decided = {one for events in totals["decisions"].values() for found in events.values() for one in found}
    assert decided == set(get_args(semconv.Decision))
    assert set(totals["coverage"]) == set(get_args(semconv.Coverage))
    for bucket in ("input", "cache_read", "cache_write", "output", "reasoning"):
        assert sum(found[bucket] for found in totals["tokens"].values()) > 0
    assert set(totals["streams"]) == {"success", "abandoned", "error"}
    assert totals["cost"]
    assert totals["unpriced_tokens"]
    assert len(totals["by_tenant"]) == 3
    assert len(totals["runs_by_agent"]) == 3
    assert {bool(row.get("spanhook.fail_mode") == "closed") for row in series(document, semconv.METRIC_DECISIONS)} == {
        True,
        False,
    }


def series(document: Document, name: str) -> list[dict[str, str]]:
    return [one["attributes"] for one in document["metrics"][name]]


def test_no_hook_in_shadow_mode_is_among_what_was_enforced(document: Document) -> None:
    totals = document["totals"]
    told = {one["spanhook.hook"]: one["spanhook.mode"] for one in series(document, semconv.METRIC_DECISIONS)}
    assert {hook for hook, mode in told.items() if mode == "shadow"} == set(totals["shadow_decisions"])
    assert {hook for hook, mode in told.items() if mode == "enforce"} == set(totals["decisions"])
    assert not set(totals["shadow_decisions"]) & set(totals["decisions"])


@pytest.mark.parametrize("seed", range(20))
def test_whatever_alerts_and_panels_tell_is_in_shadow_too(seed: int) -> None:
    """One that took a decision in shadow mode for an enforced one would be found out."""
    runs = [(run.tenant, run.user, run.fact) for job in script(ENOUGH, seed) for run in job]
    rows = [row for row, _ in expected(runs).rows("shadow_decisions")]
    told = {(row["decision"], row["fail_mode"]) for row in rows if row["event"].endswith(".pre")}
    assert told >= {("error", "open"), ("error", "closed"), ("timeout", "open"), ("reject", "closed")}
    assert {row["decision"] for row in rows} >= {"allow", "modify", "replace", "attempted"}
    assert {row["coverage"] for row in rows} == {"enforced", "best_effort"}


def test_what_shadow_mode_would_refuse_is_made(document: Document) -> None:
    """Every run succeeds that a hook in shadow mode would have stopped; that is what was counted."""
    stopped = [
        run.fact.status
        for job in script(ENOUGH, 1)
        for run in job
        if any(one.hook in ("members_only", "no_house_models") for fact in run.fact.inside for one in fact.decisions)
    ]
    assert stopped == ["success"] * len(stopped) != []
    assert document["differences"] == []


@pytest.mark.parametrize("seed", range(20))
def test_all_there_is_comes_of_every_seed(seed: int) -> None:
    runs = [(run.tenant, run.user, run.fact) for job in script(ENOUGH, seed) for run in job]
    told = totals(expected(runs))
    assert set(told["runs_by_status"]) == set(get_args(semconv.Status))
    assert {one for events in told["decisions"].values() for found in events.values() for one in found} == set(
        get_args(semconv.Decision)
    )
    assert set(told["coverage"]) == set(get_args(semconv.Coverage))


def test_the_totals_of_a_seed_are_always_the_same(document: Document) -> None:
    lasting = {
        name: value
        for name, value in document["totals"].items()
        if "cost" not in name
        and not name.startswith(("budgets", "by_", "unpriced", "most_expensive"))  # these depend on the price list
    }
    assert lasting == snapshot(
        {
            "runs": 45,
            "runs_by_status": {
                "abandoned": 1,
                "cancelled": 1,
                "error": 4,
                "interrupted": 4,
                "rejected": 6,
                "success": 29,
            },
            "runs_by_agent": {
                "analyst": {"abandoned": 1, "interrupted": 1, "rejected": 2, "success": 10},
                "planner": {"interrupted": 1, "error": 1, "rejected": 2, "success": 10},
                "support": {"cancelled": 1, "error": 3, "rejected": 2, "interrupted": 2, "success": 9},
            },
            "llm_calls": 66,
            "tool_calls": 13,
            "tokens": {
                "claude-sonnet-4-5": {
                    "input": 30081,
                    "cache_read": 12800,
                    "cache_write": 3584,
                    "output": 4103,
                    "reasoning": 0,
                },
                "foreign-model-1": {"input": 3592, "cache_read": 0, "cache_write": 0, "output": 160, "reasoning": 0},
                "gpt-4.1-mini": {"input": 13113, "cache_read": 0, "cache_write": 0, "output": 415, "reasoning": 0},
                "gpt-4.1-nano": {"input": 618, "cache_read": 1024, "cache_write": 0, "output": 240, "reasoning": 0},
                "gpt-4o-mini": {"input": 86746, "cache_read": 34304, "cache_write": 0, "output": 14585, "reasoning": 0},
                "house-model-1": {"input": 3095, "cache_read": 0, "cache_write": 0, "output": 404, "reasoning": 0},
                "o4-mini-2025-04-16": {
                    "input": 3396,
                    "cache_read": 1024,
                    "cache_write": 0,
                    "output": 185,
                    "reasoning": 512,
                },
            },
            "agents": {
                "analyst": {"abandoned": 1, "interrupted": 1, "rejected": 2, "success": 10},
                "planner": {"interrupted": 1, "error": 1, "rejected": 2, "success": 10},
                "researcher": {"success": 1},
                "support": {"cancelled": 1, "error": 3, "rejected": 2, "interrupted": 2, "success": 9},
            },
            "tools": {
                "break_down": {"error": 1},
                "charge": {"rejected": 1},
                "close_account": {"interrupted": 4, "rejected": 1, "success": 2},
                "delegate": {"success": 1},
                "export": {"rejected": 1},
                "fetch": {"success": 1},
                "look_up": {"success": 1},
                "publish": {"success": 1},
                "read_file": {"success": 1},
                "refund": {"rejected": 1},
                "rotate_key": {"rejected": 1},
                "search": {"success": 2},
                "send_mail": {"success": 1},
                "sign": {"success": 1},
                "transfer": {"rejected": 2, "success": 1},
                "wire_money": {"rejected": 1},
            },
            "model_calls_by_provider": {"anthropic": 14, "house": 4, "openai": 50, "scripted": 1},
            "model_calls": {
                "": {"": 1},
                "claude-sonnet-4-5": {"": 14},
                "forbidden-1": {"spanhook.Reject": 2},
                "gpt-4.1-mini": {"": 2, "spanhook.Reject": 1},
                "gpt-4.1-nano": {"": 1},
                "gpt-4o-mini": {
                    "": 41,
                    "asyncio.exceptions.CancelledError": 1,
                    "spanhook.cli.load.models.RateLimitError": 3,
                },
                "house-model-1": {"": 1},
                "o4-mini": {"": 1},
                "unreachable-1": {"spanhook.cli.load.models.RateLimitError": 1},
            },
            "decisions": {
                "alerted": {"agent.invoke.error": {"allow": 11}},
                "archived": {"tool.execute.post": {"skipped": 1}},
                "ask_a_person": {
                    "tool.execute.post": {"allow": 6},
                    "tool.execute.pre": {"allow": 2, "pause": 4, "reject": 1},
                },
                "audit": {"tool.execute.pre": {"allow": 26}},
                "billed": {"agent.invoke.post": {"allow": 35}},
                "cached": {"tool.execute.post": {"allow": 1}, "tool.execute.pre": {"replace": 1}},
                "consent": {"memory.store.post": {"allow": 1}, "memory.store.pre": {"error": 1}},
                "directory": {"tool.execute.pre": {"timeout": 1}},
                "fraud_check": {"tool.execute.pre": {"timeout": 1}},
                "judged": {"tool.execute.pre": {"allow": 1}},
                "line": {"llm.call.error": {"allow": 1}, "llm.call.pre": {"allow": 1}},
                "masked": {"tool.execute.pre": {"modify": 1}},
                "masked_answer": {"llm.call.post": {"replace": 13, "too_late": 1}},
                "not_allowed": {"llm.call.pre": {"attempted": 1, "reject": 2}},
                "noted": {"tool.execute.pre": {"allow": 1}},
                "noticed": {"llm.call.post": {"allow": 1}},
                "paying_customers_only": {"tool.execute.pre": {"reject": 1}},
                "payments": {
                    "tool.execute.post": {"allow": 1},
                    "tool.execute.pre": {"allow": 1, "error": 1, "reject": 1},
                },
                "proofread": {"llm.call.post": {"allow": 1}},
                "redacted": {"tool.execute.post": {"replace": 1}},
                "redaction": {"memory.store.post": {"allow": 1}, "memory.store.pre": {"modify": 1}},
                "reviewed": {"tool.execute.pre": {"allow": 1}},
                "run_budget": {
                    "llm.call.error": {"allow": 1},
                    "llm.call.post": {"allow": 2},
                    "llm.call.pre": {"allow": 2, "reject": 1},
                },
                "scan": {"retrieval.query.post": {"allow": 1}, "retrieval.query.pre": {"allow": 1}},
                "scanned": {"tool.execute.pre": {"allow": 1}},
                "scored": {"llm.call.pre": {"error": 1}},
                "screened": {"llm.call.pre": {"allow": 1}},
                "stop_the_run": {"tool.execute.pre": {"reject": 1}},
                "traced": {"llm.call.post": {"allow": 1}},
                "vault": {"tool.execute.pre": {"error": 1}},
                "withheld": {"tool.execute.post": {"reject": 1}},
                "within_budget": {"agent.invoke.pre": {"allow": 6, "reject": 1}},
            },
            "shadow_decisions": {
                "classified": {"tool.execute.pre": {"error": 1}},
                "deep_scan": {"tool.execute.pre": {"timeout": 1}},
                "house_style": {"tool.execute.pre": {"modify": 1}},
                "known_models_only": {"llm.call.pre": {"attempted": 1}},
                "no_house_models": {"llm.call.pre": {"reject": 1}},
                "second_look": {"tool.execute.pre": {"allow": 1}},
                "spam_filter": {"tool.execute.pre": {"error": 1}},
                "summarized": {"tool.execute.post": {"replace": 1}},
            },
            "approvals": {"ask_a_person": {"approved": 2, "denied": 1, "requested": 4, "used": 2}},
            "verdicts": {"consent": {"error": 1}, "payments": {"allow": 1, "deny": 1, "error": 1}},
            "guardrail_spans": {"consent": 1, "payments": 4},
            "coverage": {"best_effort": 2, "enforced": 144, "observed": 1},
            "errors": {
                "ValueError": {"agent.invoke": 1, "tool.execute": 1},
                "asyncio.exceptions.CancelledError": {"agent.invoke": 1, "llm.call": 1},
                "spanhook.Reject": {"agent.invoke": 6, "llm.call": 4, "tool.execute": 8},
                "spanhook.cli.load.models.RateLimitError": {"agent.invoke": 3, "llm.call": 4},
            },
            "streams": {"abandoned": 1, "error": 1, "success": 3},
            "first_chunks": 5,
            "spans": {
                "agent.delegate": 1,
                "agent.invoke": 46,
                "embeddings.create": 1,
                "llm.call": 68,
                "memory.store": 1,
                "retrieval.query": 1,
                "tool.execute": 25,
            },
            "foreign_spans": {"llm.call": 2},
            "events": {"spanhook.decision": 46, "spanhook.run": 45},
        }
    )


def test_dimensions_add_up_to_each_other(document: Document) -> None:
    totals = document["totals"]
    assert sum(totals["runs_by_status"].values()) == totals["runs"]
    for spent in (totals["by_agent"], totals["by_tenant"], totals["by_user"]):
        assert sum(one["runs"] for one in spent.values()) == totals["runs"]
        assert sum(one["llm_calls"] for one in spent.values()) == totals["llm_calls"]
        assert sum(one["tool_calls"] for one in spent.values()) == totals["tool_calls"]
        assert sum(one["total_tokens"] for one in spent.values()) == sum(
            sum(buckets.values()) for buckets in totals["tokens"].values()
        )
        assert sum(one["cost"]["usd_float"] for one in spent.values()) == pytest.approx(
            totals["total_cost"]["usd_float"]
        )
    most_expensive = [one["cost"]["usd"] for one in totals["most_expensive"]]
    assert len(most_expensive) == 10
    assert most_expensive == sorted(most_expensive, key=Decimal, reverse=True)
    decided = Counter[str]()
    for events in totals["decisions"].values():
        for found in events.values():
            decided.update(found)
    assert sum(totals["coverage"].values()) == decided.total()
    shadowed = Counter[str]()
    for events in totals["shadow_decisions"].values():
        for found in events.values():
            shadowed.update(found)
    told = (decided + shadowed).total() - decided["allow"] - shadowed["allow"]
    assert totals["events"]["spanhook.decision"] == told


def test_it_is_json(document: Document) -> None:
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize("seed", range(20))
def test_budgets_and_approvals_have_every_outcome_but_one_that_takes_hours(seed: int) -> None:
    told = totals(expected((run.tenant, run.user, run.fact) for job in script(ENOUGH, seed) for run in job))
    assert told["approvals"]["ask_a_person"].keys() == {"requested", "approved", "denied", "used"}
    assert told["approvals"]["ask_a_person"]["requested"] > sum(
        told["approvals"]["ask_a_person"][one] for one in ("approved", "denied")
    )
    assert told["decisions"]["run_budget"]["llm.call.pre"].keys() == {"allow", "reject"}
    assert told["budgets"]["run_budget"]["highest_share"] > 1


def test_concurrency_changes_nothing(document: Document) -> None:
    other = load(concurrency=16)
    assert other["differences"] == []
    assert other["totals"] == document["totals"]
    assert other["metrics"] == document["metrics"]


def test_another_seed_is_another_load(document: Document) -> None:
    assert list(script(ENOUGH, 1)) == list(script(ENOUGH, 1))
    assert list(script(ENOUGH, 2)) != list(script(ENOUGH, 1))


@pytest.mark.parametrize("runs", [1, 2, 7, 41])
def test_exactly_so_many_runs_are_made(runs: int) -> None:
    for seed in range(20):
        assert sum(map(len, script(runs, seed))) == runs


def test_choices_are_those_of_every_machine() -> None:
    draw = Draw(1, "x")
    assert [draw.below(1000) for _ in range(5)] == snapshot([515, 180, 597, 553, 854])
    assert draw.shuffled("abcdef") == snapshot(["d", "f", "a", "e", "c", "b"])
    assert draw.weighted({"a": 1, "b": 5, "c": 0}) == snapshot("b")


# ----------------------------------------------------------------------------------------------- what is exported


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [None, ALWAYS_OFF, TraceIdRatioBased(0.01)], ids=["all", "none", "some"])
def test_every_series_and_every_event_is_exported_so_at_every_sampling_ratio(sampler: Sampler | None) -> None:
    seen = Recorder(sampler)
    with instrumented(seen):
        document = measure(ENOUGH, 3, 4)
        exported = seen.metrics()
    assert document["differences"] == []
    assert Counter(event["name"] for event in seen.events) == document["totals"]["events"]
    named = [dict(span.attributes or {}) for span in seen.spans]
    spans = Counter(str(one["spanhook.kind"]) for one in named if "spanhook.kind" in one)
    if sampler is None:
        assert spans == document["totals"]["spans"]
        attempts = [one for one in named if one.get(semconv.GEN_AI_OPERATION_NAME) == "apply_guardrail"]
        assert len(attempts) == sum(document["totals"]["guardrail_spans"].values()) == len(named) - spans.total()
    elif sampler is ALWAYS_OFF:
        assert not spans
    assert set(document["metrics"]) == set(exported) - {
        semconv.METRIC_HOOK_TIME,  # depends on the machine
        semconv.METRIC_TIME_PER_OUTPUT_CHUNK,  # depends on how libraries cut what is streamed
        semconv.METRIC_INFO,
        semconv.METRIC_POINTS,
        semconv.METRIC_INTERNAL_ERRORS,
        semconv.METRIC_DROPPED,
        semconv.METRIC_BUDGET_UTILIZATION,  # of this process, whatever it did before
        semconv.METRIC_BUDGET_UNSETTLED,
        semconv.METRIC_REMOTE_POLICY_OPEN,
        semconv.METRIC_APPROVAL_PENDING,
        semconv.METRIC_APPROVAL_AGE,
    }
    for name, wanted in document["metrics"].items():
        found = {frozenset(attributes.items()): value for attributes, value in exported[name]}
        assert {frozenset(one["attributes"].items()) for one in wanted} == set(found), name
        for one in wanted:
            value = found[frozenset(one["attributes"].items())]
            if "value" in one:
                assert value == pytest.approx(one["value"], abs=1e-12), (name, one)
            else:
                assert value[1] == one.get("count"), (name, one)
                assert "sum" not in one or value[0] == one["sum"], (name, one)


# ----------------------------------------------------------------------------------------------- the command


def test_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_load(runs=3, seed=1, concurrency=1, as_json=False) == 0
    captured = capsys.readouterr()
    assert captured.err == "spanhook load: nothing was sent; set OTEL_EXPORTER_OTLP_ENDPOINT\n"
    first, *rest = captured.out.splitlines()
    assert first.startswith("3 runs in ")
    assert rest == snapshot(
        [
            "",
            "runs by agent and status",
            "  agent    interrupted  success",
            "  analyst            0        1",
            "  support            1        1",
            "",
            "tokens and cost by model",
            "  model              input  cache_read  cache_write  output  reasoning  cost in USD",
            "  claude-sonnet-4-5  1,014       2,048          768     570          0  0.015086400",
            "  gpt-4o-mini        1,291           0            0     101          0  0.000254250",
            "",
            "by agent",
            "  agent    runs  model calls  tool calls  tokens  cost in USD",
            "  analyst     1            2           0   3,783  0.008838450",
            "  support     2            1           1   2,009  0.006502200",
            "",
            "by tenant",
            "  tenant  runs  model calls  tool calls  tokens  cost in USD",
            "  acme       2            1           1   2,009  0.006502200",
            "  globex     1            2           0   3,783  0.008838450",
            "",
            "by user",
            "  user  runs  model calls  tool calls  tokens  cost in USD",
            "  bob      2            1           1   2,009  0.006502200",
            "  gil      1            2           0   3,783  0.008838450",
            "",
            "decisions",
            "  hook           event              decision",
            "  ask_a_person   tool.execute.post  allow     2",
            "  ask_a_person   tool.execute.pre   allow     1",
            "  ask_a_person   tool.execute.pre   pause     1",
            "  audit          tool.execute.pre   allow     2",
            "  billed         agent.invoke.post  allow     3",
            "  masked_answer  llm.call.post      replace   1",
            "  masked_answer  llm.call.post      too_late  1",
            "",
            "approvals",
            "  hook          outcome",
            "  ask_a_person  approved   1",
            "  ask_a_person  requested  1",
            "  ask_a_person  used       1",
            "",
            "decisions by coverage",
            "  enforced  11",
            "",
            "streamed model calls by status",
            "  success  2",
            "",
            "spans by kind",
            "  agent.invoke  3",
            "  llm.call      3",
            "  tool.execute  2",
            "",
            "log events",
            "  spanhook.decision  3",
            "  spanhook.run       3",
        ]
    )


def test_as_text_shadow_mode_stands_apart(document: Document) -> None:
    lines = list(as_text(document))
    begin = lines.index("what hooks in shadow mode would have decided")
    assert lines[begin : lines.index("", begin)] == snapshot(
        [
            "what hooks in shadow mode would have decided",
            "  hook               event              decision",
            "  classified         tool.execute.pre   error      1",
            "  deep_scan          tool.execute.pre   timeout    1",
            "  house_style        tool.execute.pre   modify     1",
            "  known_models_only  llm.call.pre       attempted  1",
            "  no_house_models    llm.call.pre       reject     1",
            "  second_look        tool.execute.pre   allow      1",
            "  spam_filter        tool.execute.pre   error      1",
            "  summarized         tool.execute.post  replace    1",
        ]
    )
    assert not [line for line in lines[:begin] if "members_only" in line]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "shown"),
    [
        (
            Terminal(),
            snapshot("\r\x1b[2Kspanhook load: 2 of 4,000 runs\r\x1b[2Kspanhook load: 4 of 4,000 runs\r\x1b[2K"),
        ),
        (io.StringIO(), ""),
    ],
)
def test_progress_is_shown_on_a_terminal_once_it_has_taken_a_while(
    stream: io.StringIO, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter((0.0, 1.9, 2.0, 2.0, 2.1, 2.3, 2.3))
    monkeypatch.setattr("spanhook.cli.texts.time.monotonic", lambda: next(seconds))
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress(4000)
    for _ in range(4):
        progress.step()
    progress.end()
    assert stream.getvalue() == shown


def test_nothing_is_left_in_force(capsys: pytest.CaptureFixture[str]) -> None:
    level = log.level
    assert run_load(runs=1, seed=1, concurrency=1, as_json=True) == 0
    assert capsys.readouterr().err == ""
    assert log.level == level
    assert listeners == []
    assert registry.hooks == []


def test_what_was_counted_otherwise_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Counted.finish

    def forgetful(self: Counted) -> None:
        finish(self)
        self.tables.add("events", "spanhook.run", amount=5)
        self.errors["extract.response"] = 2

    monkeypatch.setattr(Counted, "finish", forgetful)
    assert run_load(runs=3, seed=1, concurrency=1, as_json=True) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "spanhook load: events: event='spanhook.run': expected 3, counted 8",
        "spanhook load: 2 errors in spanhook's own code, in 'extract.response'",
    ]
    document: Document = json.loads(captured.out)
    wrong: list[Difference] = document["differences"]
    assert wrong == [{"table": "events", "row": {"event": "spanhook.run"}, "expected": 3, "counted": 8}]
    assert document["internal_errors"] == {"extract.response": 2}


@pytest.mark.parametrize(("runs", "concurrency"), [(0, 1), (1, 0)])
def test_bad_numbers_are_named(runs: int, concurrency: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_load(runs=runs, seed=1, concurrency=concurrency, as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("0: expected a whole number of at least 1\n")


def test_a_missing_library_is_named_with_its_remedy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanhook.cli.load.find_spec", lambda _name: None)
    assert run_load(runs=1, seed=1, concurrency=1, as_json=True) == 2
    assert capsys.readouterr().err == snapshot(
        'spanhook load: needs langchain_core, langgraph; run pip install "spanhook[demo]"\n'
    )


def command(runs: int, seed: int, concurrency: int, **variables: str) -> Document:
    """The command in a process of its own, without any ``OTEL_*`` variables but these."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    arguments = ("load", "--runs", str(runs), "--seed", str(seed), "--concurrency", str(concurrency), "--json")
    env = {**environment, "LANGSMITH_TRACING": "true", **variables}
    done = children.run("-W", "error", "-m", "spanhook", *arguments, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.slow
def test_in_a_process_of_its_own_it_says_the_same_and_exports_it(document: Document) -> None:
    with collector() as seen:
        told = command(ENOUGH, 1, 4, OTEL_EXPORTER_OTLP_ENDPOINT=seen.url)
    assert told["totals"] == document["totals"]
    assert told["metrics"] == document["metrics"]
    assert set(told["metrics"]) <= seen.metrics
    assert Counter(seen.events) == told["totals"]["events"]
    attempts = sum(told["totals"]["guardrail_spans"].values())
    assert len(seen.spans) == sum(told["totals"]["spans"].values()) + attempts
    assert seen.services == {"spanhook-load"}


@pytest.mark.slow
def test_without_an_sdk_there_are_no_foreign_spans_and_all_else_is_as_it_should() -> None:
    told = command(ENOUGH, 1, 2, OTEL_SDK_DISABLED="true")
    assert told["foreign_spans"] is False
    assert told["totals"]["foreign_spans"] == {}
    assert set(told["totals"]["coverage"]) == {"enforced"}


@pytest.mark.slow
def test_without_a_price_list_every_model_is_unpriced(document: Document) -> None:
    program = (
        "import sys; sys.modules['genai_prices'] = None; from spanhook.cli.load import run_load; "
        f"sys.exit(run_load({ENOUGH}, 1, 1, True))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    told: Document = json.loads(done.stdout)
    assert told["price_list"] is None
    assert told["totals"]["cost"] == {}
    assert told["totals"]["tokens"] == document["totals"]["tokens"]
    assert set(told["totals"]["unpriced_tokens"]) == set(told["totals"]["tokens"])


@pytest.mark.slow
def test_many_runs_at_every_concurrency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "STALL_S", 60.0)  # no loop hangs; on a busy machine, a step may take longer than usual
    documents = [load(1000, 2, concurrency) for concurrency in (1, 8, 64)]
    for one in documents:
        assert list(complaints(one["differences"], one["internal_errors"])) == []
    assert documents[0]["totals"] == documents[1]["totals"] == documents[2]["totals"]
