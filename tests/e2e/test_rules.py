"""What rules say behind a load: every alert of whom the load's totals tell, and of nobody else."""

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanhook import semconv
from spanhook.cli.load.catalogue import UNREACHABLE
from tests.e2e.stack import BACKENDS
from tests.e2e.told import Answer, Told

pytestmark = pytest.mark.e2e

RULES: dict[str, str] = {
    rule.get("alert") or rule["record"]: rule["expr"]
    for path in sorted((BACKENDS / "rules").glob("*.yaml"))
    if not path.name.endswith(".test.yaml")
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
}

#: Rules whose answers are no answer to what one load has done, and where they are tested.
NOT_OF_A_LOAD = {
    "spanhook:budget_usd:day": "a constant",
    "spanhook:traces_none": "zero",
    "SpanhookCollectorRefusing": "of collectors: test_queues.py, test_disk.py",
    "SpanhookPipelineLoss": "of collectors: test_queues.py, test_first.py",
    "SpanhookQueueFilling": "of collectors: test_queues.py",
    "SpanhookTracesLost": "of collectors: test_outages.py",
    "SpanhookEventsLost": "of collectors, over hours: its unit tests alone",
    "SpanhookTracesDecidedEarly": "of collectors: test_sampling.py",
    "SpanhookBackendDown": "of backends: its unit tests alone",
    "SpanhookReservationsExpired": "of processes that are killed: its unit tests alone",
    "SpanhookAuditFailing": "of audit logs, which a load has none of: test_guards.py",
    "SpanhookConfigurationRefused": "of files that change: its unit tests alone",
    "SpanhookEventsNotDelivered": "a load's subscriptions get all: test_guards.py",
    "SpanhookApprovalWaiting": "half an hour later: its unit tests alone",
    "SpanhookPolicyCircuitOpen": "the circuits of a load's policies never open: test_guards.py",
    "SpanhookPolicySlow": "of how fast the machine is: its unit tests alone",
    "SpanhookWebhooksWaiting": "of control planes, of which none is scraped: its unit tests alone",
    "SpanhookWebhooksGivenUp": "of control planes, of which none is scraped: its unit tests alone",
}


#: Alerts of which each has a test below.
TELL_WHOM = (
    "SpanhookGateFailedOpen",
    "SpanhookGateTimeouts",
    "SpanhookRejectionSurge",
    "SpanhookErrorRate",
    "SpanhookUnpricedModel",
    "SpanhookBudgetSpent",
    "SpanhookGateFailedClosed",
    "SpanhookRefusalAttempted",
    "SpanhookCircuitOpen",
    "SpanhookPolicyFailing",
)
WELL = (
    "SpanhookCostBurnRate",
    "SpanhookGateUnbound",  # of whom it tells: test_unbound.py
    "SpanhookServiceSilent",
    "SpanhookSdkDropping",
    "SpanhookBudgetNearlySpent",  # it is spent
    "SpanhookBudgetUnsettled",
    "SpanhookApprovalsExpired",
    "spanhook:sdk_dropped:rate5m",
)


def answer(told: Told, rule: str, *names: str) -> Answer:
    """What a rule's expression gives now of this load, by attributes."""
    labels = [name.replace(".", "_") for name in names]
    samples = told.stack.prometheus.query(RULES[rule])
    whose = "" if any("service_name" not in one.labels for one in samples) else told.service
    return {
        tuple(one.labels.get(label, "") for label in labels): one.value
        for one in samples
        if one.labels.get("service_name", "") == whose
    }


#: What is recorded: by which attributes, and of which metric. `rate` extrapolates, so that its values are not the
#: load's totals over the time; which series there are is, and so is which of them stand at zero.
RECORDED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "spanhook:runs:rate5m": (semconv.METRIC_RUN_LLM_CALLS, "count", (semconv.GEN_AI_AGENT_NAME, semconv.STATUS)),
    "spanhook:cost_usd:rate5m": (
        semconv.METRIC_COST,
        "value",
        (semconv.GEN_AI_AGENT_NAME, semconv.GEN_AI_RESPONSE_MODEL),
    ),
    "spanhook:cost_usd:rate1h": (semconv.METRIC_COST, "value", ()),
    "spanhook:tokens:rate5m": (semconv.METRIC_TOKENS, "value", (semconv.GEN_AI_RESPONSE_MODEL, semconv.TOKEN_BUCKET)),
    "spanhook:decisions:rate5m": (
        semconv.METRIC_DECISIONS,
        "value",
        (semconv.HOOK, semconv.EVENT, semconv.DECISION, semconv.FAIL_MODE),
    ),
    "spanhook:tool_duration_seconds:p95_5m": (semconv.METRIC_TOOL_DURATION, "count", (semconv.GEN_AI_TOOL_NAME,)),
    "spanhook:model_duration_seconds:p95_5m": (
        semconv.METRIC_CLIENT_DURATION,
        "count",
        (semconv.GEN_AI_REQUEST_MODEL,),
    ),
    "spanhook:budget_tokens:rate5m": (semconv.METRIC_BUDGET_TOKENS, "value", (semconv.HOOK,)),
    "spanhook:budget_cost_usd:rate5m": (semconv.METRIC_BUDGET_COST, "value", (semconv.HOOK,)),
    "spanhook:approvals:rate5m": (
        semconv.METRIC_APPROVAL_REQUESTS,
        "value",
        (semconv.HOOK, semconv.APPROVAL_OUTCOME),
    ),
    "spanhook:approval_wait_seconds:p95_1h": (semconv.METRIC_APPROVAL_WAIT, "count", (semconv.HOOK,)),
}


@pytest.mark.parametrize("rule", RECORDED)
def test_what_is_recorded_is_of_what_was_counted(told: Told, rule: str) -> None:
    metric, field, by = RECORDED[rule]
    enforced: dict[str, Any] = {"mode": ("enforce",)} if metric == semconv.METRIC_DECISIONS else {}
    wanted = set(told.counted(metric, *by, field=field, **enforced))
    assert {key for key, value in answer(told, rule, *by).items() if value > 0} == wanted


def _decided(told: Told) -> dict[tuple[str, str], Counter[str]]:
    """Decisions by hook and event, without what hooks in shadow mode would have decided."""
    found: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    by = (semconv.HOOK, semconv.EVENT, semconv.DECISION)
    for (hook, event, decision), count in told.counted(semconv.METRIC_DECISIONS, *by, mode=("enforce",)).items():
        found[hook, event][decision] += int(count)
    return found


def test_gates_that_failed_open(told: Told) -> None:
    by = (semconv.HOOK, semconv.EVENT, semconv.DECISION, semconv.FAIL_MODE)
    wanted = {
        (hook, event)
        for hook, event, decision, mode in told.counted(semconv.METRIC_DECISIONS, *by, mode=("enforce",))
        if event.endswith(".pre") and decision in ("error", "timeout") and mode == "open"
    }
    assert wanted
    assert set(answer(told, "SpanhookGateFailedOpen", semconv.HOOK, semconv.EVENT)) == wanted


def test_gates_that_failed_closed(told: Told) -> None:
    by = (semconv.HOOK, semconv.EVENT, semconv.DECISION, semconv.FAIL_MODE)
    wanted = {
        (hook, event)
        for hook, event, decision, mode in told.counted(semconv.METRIC_DECISIONS, *by, mode=("enforce",))
        if event.endswith(".pre") and decision in ("error", "timeout") and mode == "closed"
    }
    assert wanted
    assert set(answer(told, "SpanhookGateFailedClosed", semconv.HOOK, semconv.EVENT)) == wanted


def test_refusals_that_may_have_been_in_vain(told: Told) -> None:
    wanted = {(hook,) for (hook, _), of in _decided(told).items() if of["attempted"]}
    assert wanted
    assert set(answer(told, "SpanhookRefusalAttempted", semconv.HOOK)) == wanted


def test_circuits_that_are_open(told: Told) -> None:
    found = answer(told, "SpanhookCircuitOpen", semconv.HOOK, semconv.CIRCUIT_BREAKER_TARGET)
    assert set(found) == {("line", f"house/{UNREACHABLE}")}


def test_policies_that_do_not_decide(told: Told) -> None:
    verdicts = told.document["totals"]["verdicts"]
    wanted = {(hook,): of["error"] / sum(of.values()) for hook, of in verdicts.items() if "error" in of}
    assert min(wanted.values()) > 0.05
    # `increase` extrapolates both parts of a share, and all that one load does may be in one export
    assert answer(told, "SpanhookPolicyFailing", semconv.HOOK).keys() == wanted.keys()


def test_gates_that_time_out(told: Told) -> None:
    wanted = {key for key, of in _decided(told).items() if of["timeout"] > 0.01 * of.total()}
    assert wanted
    assert set(answer(told, "SpanhookGateTimeouts", semconv.HOOK, semconv.EVENT)) == wanted


def test_a_surge_of_rejections(told: Told) -> None:
    """`increase` extrapolates: who is told of at least is exact, who is told of at most has rejected something."""
    rejected: Counter[str] = Counter()
    for (hook, _), of in _decided(told).items():
        rejected[hook] += of["reject"]
    found = {hook for (hook,) in answer(told, "SpanhookRejectionSurge", semconv.HOOK)}
    assert {hook for hook, count in rejected.items() if count >= 10} <= found
    assert found <= set(+rejected)


@pytest.mark.parametrize(
    ("rule", "decision", "count"),
    [
        ("SpanhookGateFailedOpen", "error", 1),
        ("SpanhookGateTimeouts", "timeout", 1),
        ("SpanhookRejectionSurge", "reject", 10),
    ],
)
def test_no_alert_tells_of_a_hook_in_shadow_mode(told: Told, rule: str, decision: str, count: int) -> None:
    """It would, had the hook been enforced."""
    shadowed = told.counted(semconv.METRIC_DECISIONS, semconv.HOOK, mode=("shadow",), decision=(decision,))
    assert max(shadowed.values()) >= count
    assert not set(answer(told, rule, semconv.HOOK)) & set(shadowed)


def test_agents_that_fail(told: Told) -> None:
    """`increase` extrapolates, so that of those near the limits either may be said."""
    agents = told.document["totals"]["runs_by_agent"]
    failed = {(agent,): of.get("error", 0) / max(5, 0.05 * sum(of.values())) for agent, of in agents.items()}
    surely, perhaps = ({agent for agent, share in failed.items() if share > limit} for limit in (1.3, 0.7))
    assert surely
    assert surely < {(agent,) for agent in agents}
    assert surely <= set(answer(told, "SpanhookErrorRate", semconv.GEN_AI_AGENT_NAME)) <= perhaps


def test_models_without_a_price(told: Told) -> None:
    wanted = {(model,) for model in told.document["totals"]["unpriced_tokens"]}
    assert wanted
    assert set(answer(told, "SpanhookUnpricedModel", semconv.GEN_AI_RESPONSE_MODEL)) == wanted


@pytest.mark.parametrize("rule", ["SpanhookBudgetSpent", "spanhook:budget_share:max"])
def test_budgets_that_are_spent(told: Told, rule: str) -> None:
    by = (semconv.HOOK, semconv.BUDGET_UNIT)
    found = answer(told, rule, *by)
    wanted = {(hook, "token"): one["highest_share"] for hook, one in told.document["totals"]["budgets"].items()}
    assert wanted
    assert all(share > 1 for share in wanted.values())
    assert {key: share for key, share in found.items() if key[1] == "token"} == pytest.approx(wanted)
    if rule == "SpanhookBudgetSpent":
        assert found.keys() == wanted.keys()


@pytest.mark.parametrize("rule", WELL)
def test_no_rule_tells_of_what_is_well(told: Told, rule: str) -> None:
    """A load spends less than a dollar, gates everything, is still there and drops nothing."""
    assert told.document["totals"]["total_cost"]["usd_float"] < 10
    assert {key: value for key, value in answer(told, rule).items() if value} == {}


def test_every_rule_is_checked_or_said_not_to_be() -> None:
    assert sorted(RULES) == sorted([*RECORDED, *TELL_WHOM, "spanhook:budget_share:max", *WELL, *NOT_OF_A_LOAD])


def test_what_is_said_to_be_tested_elsewhere_is() -> None:
    for rule, reason in NOT_OF_A_LOAD.items():
        for name in re.findall(r"\w+\.py", reason):
            assert rule in Path(__file__).with_name(name).read_text(), f"{rule} in {name}"
