"""Graphs of rates: of the same series, by the same attributes and per the same time as the load has printed.

`rate` extrapolates, so its values are no totals. In its place stands what the same series have grown by, to the unit;
all else of a query is as it is committed.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from spanhook import semconv
from tests.e2e.told import Answer, Told
from tests.panels import Query, queries

pytestmark = pytest.mark.e2e

_RATE = re.compile(r"rate\((\w+\{[^{}]*\})\[\$__rate_interval\]\)")
RATES = [one for one in queries() if one.source == "prometheus" and "$__rate_interval" in one.text]
MINUTE, HOUR = 60, 3600


def grown(told: Told, query: Query, *names: str) -> Answer:
    """What a query states with growth in place of rates, by attributes."""
    text, count = _RATE.subn(r"(max_over_time(\1[1h]) - min_over_time(\1[1h]))", query.text)
    assert count == query.text.count("rate("), query.text
    labels = [name.replace(".", "_") for name in names]
    samples = told.stack.prometheus.query(
        Query(query.dashboard, query.panel, query.ref, query.source, text).put_in({"service": told.service})
    )
    return {tuple(one.labels.get(label, "") for label in labels): one.value for one in samples if one.value}


def _decided(told: Told, *by: str, mode: str = "enforce", **wanted: Any) -> Answer:
    """Decisions per minute, by attributes."""
    return told.counted(semconv.METRIC_DECISIONS, *by, times=MINUTE, mode=(mode,), **wanted)


def _failed_gates(told: Told, mode: str) -> Answer:
    """Decisions before a call that were none, by hook and decision."""
    decided = _decided(
        told, semconv.HOOK, semconv.DECISION, semconv.EVENT, decision=("error", "timeout"), fail_mode=(mode,)
    )
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for (hook, decision, event), count in decided.items():
        if event.endswith(".pre"):
            found[hook, decision] += count
    return dict(found)


def _shares(part: Answer, whole: Answer) -> Answer:
    return {key: part[key] / count for key, count in whole.items() if part.get(key)}


def _per_run(metric: str) -> Callable[[Told], Answer]:
    return lambda told: _shares(told.counted(metric, field="sum"), told.counted(metric, field="count"))


def _calls(told: Told, by: str, times: float = 1, *, but: tuple[str, ...]) -> Answer:
    """Model calls that failed, by an attribute; some errors left out."""
    every = told.counted(semconv.METRIC_CLIENT_DURATION, by, semconv.ERROR_TYPE, field="count", times=times)
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for (key, error), count in every.items():
        if error not in but:
            found[key,] += count
    return dict(found)


def _tools(told: Told, *statuses: str) -> Answer:
    every = (semconv.METRIC_TOOL_DURATION, semconv.GEN_AI_TOOL_NAME)
    return told.counted(*every, field="count", status=statuses) if statuses else told.counted(*every, field="count")


LLM, TOOL = semconv.METRIC_RUN_LLM_CALLS, semconv.METRIC_RUN_TOOL_CALLS
UNANSWERED = ("interrupted", "abandoned", "cancelled")
BUT_ALLOW = ("reject", "modify", "replace", "pause", "error", "timeout", "skipped", "attempted", "too_late")

#: Queries, the attributes they state it by, and what the load says of it.
KNOWN: dict[str, tuple[tuple[str, ...], Callable[[Told], Answer]]] = {
    "agents/Runs by status/A": (
        (semconv.STATUS,),
        lambda told: told.counted(LLM, semconv.STATUS, field="count", times=MINUTE),
    ),
    "agents/Interrupted, abandoned, cancelled/A": (
        (semconv.STATUS,),
        lambda told: told.counted(LLM, semconv.STATUS, field="count", times=MINUTE, status=UNANSWERED),
    ),
    "agents/Calls per run/A": ((), _per_run(LLM)),
    "agents/Calls per run/B": ((), _per_run(TOOL)),
    "hooks/Decisions/A": (
        (semconv.DECISION,),
        lambda told: _decided(told, semconv.DECISION, decision=BUT_ALLOW),
    ),
    "hooks/Rejections by hook/A": (
        (semconv.HOOK,),
        lambda told: _decided(told, semconv.HOOK, decision=("reject",)),
    ),
    "hooks/Would have decided/A": (
        (semconv.HOOK, semconv.DECISION),
        lambda told: _decided(told, semconv.HOOK, semconv.DECISION, mode="shadow", decision=BUT_ALLOW),
    ),
    "hooks/Failed open/A": ((semconv.HOOK, semconv.DECISION), lambda told: _failed_gates(told, "open")),
    "hooks/Failed closed/A": ((semconv.HOOK, semconv.DECISION), lambda told: _failed_gates(told, "closed")),
    "hooks/Verdicts of policies/A": (
        (semconv.REMOTE_POLICY_OUTCOME,),
        lambda told: told.counted(
            semconv.METRIC_REMOTE_POLICY_DURATION, semconv.REMOTE_POLICY_OUTCOME, field="count", times=MINUTE
        ),
    ),
    "hooks/Failed attempts to ask/A": (
        (semconv.HOOK, semconv.ERROR_TYPE),
        lambda told: {
            (hook, error.rpartition(".")[2]): count
            for (hook, error), count in told.counted(
                semconv.METRIC_REMOTE_POLICY_ERRORS, semconv.HOOK, semconv.ERROR_TYPE, times=MINUTE
            ).items()
        },
    ),
    "hooks/Timeouts/A": (
        (semconv.HOOK, semconv.EVENT),
        lambda told: _decided(told, semconv.HOOK, semconv.EVENT, decision=("timeout",)),
    ),
    "hooks/Coverage of decisions/A": (
        (semconv.COVERAGE,),
        lambda told: _decided(told, semconv.COVERAGE),
    ),
    "hooks/Tokens counted against budgets/A": (
        (semconv.HOOK,),
        lambda told: told.counted(semconv.METRIC_BUDGET_TOKENS, semconv.HOOK, times=MINUTE),
    ),
    "hooks/Cost counted against budgets/A": (
        (semconv.HOOK,),
        lambda told: told.counted(semconv.METRIC_BUDGET_COST, semconv.HOOK, times=HOUR),
    ),
    "hooks/Refusals by budgets/A": (
        (semconv.HOOK,),
        lambda told: _decided(told, semconv.HOOK, decision=("reject",), hook=tuple(told.document["totals"]["budgets"])),
    ),
    "hooks/Refusals, enforced and attempted/A": ((), lambda told: _decided(told, decision=("reject",))),
    "hooks/Refusals, enforced and attempted/B": ((), lambda told: _decided(told, decision=("attempted",))),
    "hooks/Redacted values/A": (
        (semconv.HOOK, semconv.REDACTION_ENTITY),
        lambda told: told.counted(
            semconv.METRIC_REDACTION_FINDINGS, semconv.HOOK, semconv.REDACTION_ENTITY, times=MINUTE
        ),
    ),
    "hooks/Signs of injection/A": (
        (semconv.HOOK, semconv.INJECTION_RULE, semconv.MODE),
        lambda told: told.counted(
            semconv.METRIC_INJECTION_FINDINGS, semconv.HOOK, semconv.INJECTION_RULE, semconv.MODE, times=MINUTE
        ),
    ),
    "usage/Calls not made/A": (
        (semconv.DECISION,),
        lambda told: _decided(told, semconv.DECISION, event=("llm.call.pre",), decision=("reject", "replace")),
    ),
    "hooks/Approvals by outcome/A": (
        (semconv.APPROVAL_OUTCOME,),
        lambda told: told.counted(semconv.METRIC_APPROVAL_REQUESTS, semconv.APPROVAL_OUTCOME, times=MINUTE),
    ),
    "tools/Executions by tool/A": (
        (semconv.GEN_AI_TOOL_NAME,),
        lambda told: {key: count * MINUTE for key, count in _tools(told).items()},
    ),
    "tools/Failure rate by tool/A": (
        (semconv.GEN_AI_TOOL_NAME,),
        lambda told: _shares(_tools(told, "error"), _tools(told)),
    ),
    "usage/Tokens by bucket/A": (
        (semconv.TOKEN_BUCKET,),
        lambda told: told.counted(semconv.METRIC_TOKENS, semconv.TOKEN_BUCKET, times=MINUTE),
    ),
    "usage/Cost by model/A": (
        (semconv.GEN_AI_RESPONSE_MODEL,),
        lambda told: told.counted(semconv.METRIC_COST, semconv.GEN_AI_RESPONSE_MODEL, times=HOUR),
    ),
    "usage/Errors by type/A": (
        (semconv.ERROR_TYPE,),
        lambda told: _calls(told, semconv.ERROR_TYPE, MINUTE, but=("",)),
    ),
    "usage/Error rate by model/A": (
        (semconv.GEN_AI_REQUEST_MODEL,),
        lambda told: _shares(
            _calls(told, semconv.GEN_AI_REQUEST_MODEL, but=("",)),
            _calls(told, semconv.GEN_AI_REQUEST_MODEL, but=()),
        ),
    ),
}

#: Queries of which the load prints nothing, and why.
UNKNOWN = {
    "agents/Hand-offs by status/A": "of span metrics, which come later than the load's own: test_guards.py",
    "hooks/Audit records/A": "there is no audit log: test_guards.py",
    "hooks/Audit records/B": "there is no audit log: test_guards.py",
    "agents/Jobs by status/A": "the load has no jobs: test_background.py",
    "agents/Ticks of schedules/A": "the load has no schedules: test_background.py",
    "agents/Where time goes/A": "seconds, which differ from load to load",
    "agents/Where time goes/B": "seconds, which differ from load to load",
    "agents/Where time goes/C": "seconds, which differ from load to load",
    "hooks/Time in hooks/A": "seconds, which differ from load to load",
    "hooks/Time of a pass/A": "seconds, which differ from load to load",
}


@pytest.mark.parametrize("query", [one for one in RATES if str(one) in KNOWN], ids=str)
def test_rates_are_of_what_the_load_has_printed(told: Told, query: Query) -> None:
    by, expected = KNOWN[str(query)]
    wanted = expected(told)
    assert wanted
    assert grown(told, query, *by) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", ["hooks/Time in hooks/A", "hooks/Time of a pass/A", "hooks/Time of a pass, p95/A"])
def test_hooks_in_shadow_mode_take_no_time_of_a_call(told: Told, name: str) -> None:
    [query] = [one for one in RATES if str(one) == name]
    by_mode = {
        mode: {hook for (hook,) in told.counted(semconv.METRIC_DECISIONS, semconv.HOOK, mode=(mode,))}
        for mode in ("enforce", "shadow")
    }
    found = {hook for (hook,) in grown(told, query, semconv.HOOK)}
    assert found
    assert found <= by_mode["enforce"]
    assert not found & by_mode["shadow"]


def test_every_rate_is_checked_or_said_not_to_be() -> None:
    """Quantiles are estimates out of buckets; what is on Pipeline SDKs and collectors tell of themselves."""
    own = {str(one) for one in RATES if "histogram_quantile" not in one.text and one.dashboard != "spanhook-pipeline"}
    assert own == KNOWN.keys() | UNKNOWN.keys()
