"""The totals as spanhook's instruments must export them: every series, with its attributes."""

from collections import Counter
from collections.abc import Mapping
from typing import NotRequired, TypedDict

from spanhook import semconv
from spanhook.cli.load.tables import COLUMNS, Tables
from spanhook.model import NANO


class Series(TypedDict):
    """One series of a metric: a counter's ``value``, or a histogram's ``count`` and, if it is known, ``sum``."""

    attributes: dict[str, str]
    value: NotRequired[float]
    count: NotRequired[int]
    sum: NotRequired[int]


_NAMES: Mapping[str, str] = {
    "operation": semconv.GEN_AI_OPERATION_NAME,
    "provider": semconv.GEN_AI_PROVIDER_NAME,
    "requested": semconv.GEN_AI_REQUEST_MODEL,
    "answered": semconv.GEN_AI_RESPONSE_MODEL,
    "model": semconv.GEN_AI_RESPONSE_MODEL,
    "agent": semconv.GEN_AI_AGENT_NAME,
    "tool": semconv.GEN_AI_TOOL_NAME,
    "tool_type": semconv.GEN_AI_TOOL_TYPE,
    "type": semconv.GEN_AI_TOKEN_TYPE,
    "bucket": semconv.TOKEN_BUCKET,
    "source": semconv.COST_SOURCE,
    "status": semconv.STATUS,
    "error_type": semconv.ERROR_TYPE,
    "hook": semconv.HOOK,
    "event": semconv.EVENT,
    "decision": semconv.DECISION,
    "coverage": semconv.COVERAGE,
    "fail_mode": semconv.FAIL_MODE,
    "mode": semconv.MODE,
    "outcome": semconv.APPROVAL_OUTCOME,
    "verdict": semconv.REMOTE_POLICY_OUTCOME,
    "entity": semconv.REDACTION_ENTITY,
    "rule": semconv.INJECTION_RULE,
}


def metrics(tables: Tables) -> dict[str, list[Series]]:
    """Every series of every instrument whose value does not depend on time."""

    def counter(table: str) -> list[Series]:
        return [Series(attributes=_named(row), value=amount) for row, amount in tables.rows(table)]

    def histogram(table: str) -> list[Series]:
        return [Series(attributes=_named(row), count=count) for row, count in tables.rows(table)]

    return {
        semconv.METRIC_TOKENS: counter("tokens"),
        semconv.METRIC_COST: _cost(tables),
        semconv.METRIC_UNPRICED: counter("unpriced"),
        semconv.METRIC_DECISIONS: _decisions(tables),
        semconv.METRIC_CLIENT_DURATION: histogram("made_calls"),
        semconv.METRIC_TIME_TO_FIRST_CHUNK: histogram("first_chunks"),
        semconv.METRIC_CLIENT_TOKENS: _reported(tables),
        semconv.METRIC_AGENT_DURATION: histogram("agents"),
        semconv.METRIC_AGENT_INFERENCE_CALLS: _inside(tables, "llm.call"),
        semconv.METRIC_AGENT_TOOL_CALLS: _inside(tables, "tool.execute"),
        semconv.METRIC_TOOL_DURATION: histogram("executions"),
        semconv.METRIC_RUN_LLM_CALLS: _calls(tables, "llm.call"),
        semconv.METRIC_RUN_TOOL_CALLS: _calls(tables, "tool.execute"),
        semconv.METRIC_HOOK_DURATION: histogram("hook_durations"),
        semconv.METRIC_BUDGET_TOKENS: _charged(tables, "tokens", 1),
        semconv.METRIC_BUDGET_COST: _charged(tables, "nano", NANO),
        semconv.METRIC_APPROVAL_REQUESTS: counter("approvals"),
        semconv.METRIC_APPROVAL_WAIT: _answers(tables),
        semconv.METRIC_REMOTE_POLICY_DURATION: histogram("verdicts"),
        semconv.METRIC_REMOTE_POLICY_ERRORS: counter("failed_attempts"),
        semconv.METRIC_REDACTION_FINDINGS: counter("redacted"),
        semconv.METRIC_INJECTION_FINDINGS: counter("suspected"),
        semconv.METRIC_STREAM_HELD: histogram("held_streams"),
    }


def _cost(tables: Tables) -> list[Series]:
    return [Series(attributes=_named(row), value=nano / NANO) for row, nano in tables.rows("cost")]


def _charged(tables: Tables, column: str, scale: int) -> list[Series]:
    sums: Counter[str] = Counter()
    for row, runs in tables.rows("budgets"):
        sums[row["hook"]] += int(row[column]) * runs
    return [Series(attributes=_named({"hook": hook}), value=amount / scale) for hook, amount in sums.items() if amount]


def _answers(tables: Tables) -> list[Series]:
    answers: Counter[str] = Counter()
    for (hook, outcome), count in tables.by_all("approvals", "hook", "outcome").items():
        if outcome in ("approved", "denied"):
            answers[hook] += count
    return [Series(attributes=_named({"hook": hook}), count=count) for hook, count in answers.items()]


def _decisions(tables: Tables) -> list[Series]:
    return [
        Series(attributes={**_named(row), semconv.MODE: mode}, value=count)
        for mode, table in (("enforce", "decisions"), ("shadow", "shadow_decisions"))
        for row, count in tables.rows(table)
    ]


def _named(row: Mapping[str, str]) -> dict[str, str]:
    return {_NAMES[column]: value for column, value in row.items() if value}


def _reported(tables: Tables) -> list[Series]:
    sums = tables.by_all("reported", *COLUMNS["reported"])
    return [
        Series(attributes=_named({**row, "type": kind}), count=count, sum=sums.get((*row.values(), kind), 0))
        for row, count in tables.rows("reports")
        for kind in ("input", "output")
    ]


def _calls(tables: Tables, kind: str) -> list[Series]:
    sums = tables.by_all("calls", "agent", "status", "kind")
    return [
        Series(
            attributes=_named({"agent": agent, "status": status}), count=count, sum=sums.get((agent, status, kind), 0)
        )
        for (agent, status), count in tables.by_all("runs", "agent", "status").items()
    ]


def _inside(tables: Tables, kind: str) -> list[Series]:
    sums = tables.by_all("agent_calls", "agent", "kind")
    return [
        Series(attributes=_named({"agent": agent}), count=count, sum=sums.get((agent, kind), 0))
        for agent, count in tables.by("agents", "agent").items()
    ]
