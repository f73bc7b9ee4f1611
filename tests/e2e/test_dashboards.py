"""Every query of every panel runs where it is meant to, finds data, and tells the totals that the load has printed."""

import json
import subprocess
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spanhook import semconv
from spanhook.cli.load.catalogue import UNREACHABLE
from tests.e2e.backends import Loki
from tests.e2e.loads import foretold, load, stored
from tests.e2e.programs import until
from tests.e2e.stack import Stack, needed, stack
from tests.panels import Query, dashboards, panels, queries

pytestmark = pytest.mark.e2e

QUERIES = queries()
PROMQL = [query for query in QUERIES if query.source == "prometheus"]
LOGQL = [query for query in QUERIES if query.source == "loki"]
TRACEQL = [query for query in QUERIES if query.source == "tempo"]

#: Queries that find nothing behind a load that lost nothing, and why.
EMPTY = {
    "agents/Libraries that are not bound": "none is installed beside those that are; test_unbound.py has some",
    "hooks/Audit records": "there is no audit log: test_guards.py",
    "pipeline/Webhook attempts": "no control plane is scraped: test_background.py",
    "pipeline/Webhook deliveries waiting, over time": "no control plane is scraped: test_background.py",
    "pipeline/Events not delivered": "every event was delivered: test_guards.py has some that were not",
    "agents/Jobs": "the load has no jobs: test_background.py",
    "agents/Jobs that failed": "the load has no jobs: test_background.py",
    "agents/Time jobs wait, p95": "the load has no jobs: test_background.py",
    "agents/Jobs by status": "the load has no jobs: test_background.py",
    "agents/Duration of jobs by agent, p95": "the load has no jobs: test_background.py",
    "agents/Time jobs wait": "the load has no jobs: test_background.py",
    "agents/Ticks of schedules": "the load has no schedules: test_background.py",
    "agents/Models, now and before/B": "nothing ran in the hour before",
    "agents/Models, now and before/C": "nothing ran in the hour before",
    "agents/Tools, now and before/B": "nothing ran in the hour before",
    "agents/Tools, now and before/C": "nothing ran in the hour before",
    "pipeline/Dropped and not exported": "nothing was dropped",
    "pipeline/Errors in spanhook, by place": "there was none",
    "pipeline/Given up": "every item was taken",
    "pipeline/Late and not kept": "every trace was kept",
    "pipeline/Cut at 2 KB": "the load exports no content",
}

Row = tuple[str, ...]
Answer = dict[Row, float]


@dataclass(frozen=True, slots=True)
class Shown:
    """A stack that has taken one load, and what the load has printed."""

    stack: Stack
    service: str
    document: Any

    @property
    def totals(self) -> Any:
        return self.document["totals"]

    def text(self, query: Query) -> str:
        return query.put_in({"service": self.service})

    def promql(self, query: Query) -> list[tuple[dict[str, str], float]]:
        return [(one.labels, one.value) for one in self.stack.prometheus.query(self.text(query))]

    def metric(self, name: str, *by: str, field: str = "value", **wanted: str) -> Answer:
        """What the load counted of a metric, summed by attributes; ``wanted``: by an attribute's last word."""
        found: Answer = defaultdict(float)
        for row in self.document["metrics"][name]:
            attributes = row["attributes"]
            if all(_last_word(attributes).get(word) == value for word, value in wanted.items()):
                found[tuple(str(attributes.get(one, "")) for one in by)] += row[field]
        return {key: value for key, value in found.items() if value}


def _last_word(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name.rpartition(".")[2]: value for name, value in attributes.items()}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shown, None, None]:
    """A stack of its own, so that what collectors tell of themselves is of this load too."""
    service, instance = f"shop-{uuid.uuid4()}", str(uuid.uuid4())
    with stack(tmp_path_factory.mktemp("dashboards"), {"SPANHOOK_SAMPLING_PERCENT": "100"}) as one:
        resource = f"service.instance.id={instance}"
        document = load({**one.environ(), "OTEL_SERVICE_NAME": service, "OTEL_RESOURCE_ATTRIBUTES": resource})
        expected = foretold(document)
        names = {name for name, _ in expected}
        until(lambda: len(stored(one.prometheus, names, instance)) >= len(expected), "series of the load")
        told = document["totals"]["events"]
        if one.loki is not None:
            until(lambda: _told(one.loki, service) >= sum(told.values()), "log events of the load")
        yield Shown(one, service, document)


def _told(loki: Loki | None, service: str) -> int:
    assert loki is not None
    answer = loki.vector(f'sum(count_over_time({{service_name="{service}"}} [1h]))')
    return int(answer[0].value) if answer else 0


# --------------------------------------------------------------------------- they run, and find something


@pytest.mark.parametrize("query", PROMQL, ids=str)
def test_promql_finds_data(shown: Shown, query: Query) -> None:
    reason = EMPTY.get(str(query)) or EMPTY.get(str(query).rpartition("/")[0])
    if reason:
        assert shown.promql(query) == [], f"there is data; this was thought to be empty: {reason}"
    else:  # the service graph tells of a call once it has waited for an answer
        until(lambda: shown.promql(query), f"data for {query}: {shown.text(query)}")


@pytest.mark.parametrize("query", LOGQL, ids=str)
def test_logql_finds_data(shown: Shown, query: Query) -> None:
    loki = shown.stack.needed_loki()
    text = shown.text(query)
    if text.startswith("{"):
        assert loki.query(text, time.time() - 3600, time.time() + 60)
    else:
        assert loki.vector(text)


def test_queries_parse_as_in_the_editors_of_grafana() -> None:
    script = needed("grammars")
    asked = [
        {"language": {"loki": "logql", "tempo": "traceql"}[query.source], "text": query.put_in()}
        for query in (*LOGQL, *TRACEQL)
    ]
    broken = [{"language": "logql", "text": '{a="b"} |'}, {"language": "traceql", "text": "{ span.a.b = }"}]
    ran = subprocess.run(
        [script / "node", script / "parse.mjs"],
        input=json.dumps([*asked, *broken]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers = json.loads(ran.stdout)
    errors = {str(query): found for query, found in zip((*LOGQL, *TRACEQL), answers, strict=False) if found}
    assert errors == {}
    assert all(answers[len(asked) :])


TYPES = """
import type { Dashboard } from "@grafana/schema/dist/types/raw/dashboard/x/types.gen";
import type * as bargauge from "@grafana/schema/dist/types/raw/composable/bargauge/panelcfg/x/types.gen";
import type * as logs from "@grafana/schema/dist/types/raw/composable/logs/panelcfg/x/types.gen";
import type * as stat from "@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen";
import type * as table from "@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen";
import type * as timeseries from "@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen";

// what JSON has of a type: the values of enumerations, not their names
type Plain<T> = T extends string ? `${T}` : T extends Array<infer U> ? Plain<U>[]
    : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
"""


def test_dashboards_are_of_the_types_of_grafana_13(tmp_path: Path) -> None:
    packages = needed("grammars")

    def checked(dashboards: dict[str, Any]) -> str:
        lines = [TYPES]
        for name, dashboard in dashboards.items():
            lines.append(f"export const {name.replace('-', '_')}: Plain<Dashboard> = {json.dumps(dashboard)};")
            for panel in panels(dashboard):
                kind, place = panel["type"], f"{name}_{panel['id']}".replace("-", "_")
                lines.append(f"export const {place}: Plain<Partial<{kind}.Options>> = {json.dumps(panel['options'])};")
        (tmp_path / "check.ts").write_text("\n".join(lines))
        compiler = tmp_path / "node_modules" / "typescript" / "bin" / "tsc"
        command = [packages / "node", compiler, "--noEmit", "--skipLibCheck", "--strict", "check.ts"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120).stdout

    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    assert checked(dashboards()) == ""
    assert "error" in checked({"wrong": {**dashboards()["spanhook-tools"], "refresh": 5}})


# --------------------------------------------------------------------------- they tell what the load has printed


def _one(value: float) -> Answer:
    return {(): value}


def _decided(shown: Shown, *, phase: str = "", decisions: tuple[str, ...], fail_mode: str = "") -> float:
    """What was decided, without what hooks in shadow mode would have."""
    return sum(
        row["value"]
        for row in shown.document["metrics"][semconv.METRIC_DECISIONS]
        if row["attributes"][semconv.MODE] == "enforce"
        and row["attributes"][semconv.DECISION] in decisions
        and row["attributes"][semconv.EVENT].endswith(phase)
        and (not fail_mode or row["attributes"][semconv.FAIL_MODE] == fail_mode)
    )


def _failed_open(shown: Shown) -> float:
    return _decided(shown, phase=".pre", decisions=("error", "timeout"), fail_mode="open")


def _failed_closed(shown: Shown) -> float:
    return _decided(shown, phase=".pre", decisions=("error", "timeout"), fail_mode="closed")


def _by_agent(shown: Shown) -> Answer:
    agents = shown.totals["runs_by_agent"]
    return {(agent, status): float(runs) for agent, of in agents.items() for status, runs in of.items() if runs}


def _by_bucket(shown: Shown) -> Answer:
    return shown.metric(semconv.METRIC_TOKENS, semconv.GEN_AI_RESPONSE_MODEL, semconv.TOKEN_BUCKET)


def _cost(shown: Shown) -> float:
    return shown.totals["total_cost"]["usd_float"]


def _tool_calls(shown: Shown, *by: str, **wanted: str) -> Answer:
    return shown.metric(semconv.METRIC_TOOL_DURATION, *by, field="count", **wanted)


def _all(answer: Answer) -> float:
    return sum(answer.values())


def _failed_tools(shown: Shown) -> Answer:
    by = (semconv.GEN_AI_TOOL_NAME, semconv.STATUS, semconv.ERROR_TYPE)
    return {key: count for key, count in _tool_calls(shown, *by).items() if key[2]}


def _refused_by_budgets(shown: Shown) -> float:
    return sum(shown.totals["decisions"][hook]["llm.call.pre"].get("reject", 0) for hook in shown.totals["budgets"])


def _of_budgets(shown: Shown, figure: Callable[[Any], float]) -> Answer:
    return {(shown.service, hook): figure(one) for hook, one in shown.totals["budgets"].items()}


def _approvals(shown: Shown, *outcomes: str) -> float:
    return sum(found.get(one, 0) for found in shown.totals["approvals"].values() for one in outcomes)


def _of_policies(shown: Shown, *, verdicts: tuple[str, ...] = ()) -> Answer:
    """Questions of remote policies, by policy: all, or those with these verdicts."""
    found = {
        (shown.service, hook): float(sum(count for one, count in of.items() if not verdicts or one in verdicts))
        for hook, of in shown.totals["verdicts"].items()
    }
    return {key: count for key, count in found.items() if count}


def _decided_by_fail_mode(shown: Shown, hook: str, event: str) -> Answer:
    """What the script says of the load's one policy that fails so."""
    return {(shown.service, hook): float(shown.totals["decisions"][hook][event]["error"])}


BUDGET = ("service.name", semconv.HOOK)
APPROVAL = (semconv.HOOK, semconv.APPROVAL_OUTCOME)
POLICY = ("service.name", semconv.HOOK)
NAMES = (semconv.GEN_AI_TOOL_NAME, semconv.STATUS)
DECIDED = (
    semconv.HOOK,
    semconv.EVENT,
    semconv.DECISION,
    semconv.FAIL_MODE,
    semconv.COVERAGE,
)
SHADOWED = (semconv.HOOK, semconv.EVENT, semconv.DECISION)
COST_BY = (semconv.GEN_AI_AGENT_NAME, semconv.GEN_AI_RESPONSE_MODEL)
UNPRICED_BY = (semconv.GEN_AI_PROVIDER_NAME, semconv.GEN_AI_RESPONSE_MODEL)

#: What panels state of the time shown: their query, the attributes they state it by, and what the load says of it.
TOTALS: dict[str, tuple[tuple[str, ...], Callable[[Shown], Answer]]] = {
    "agents/Runs/A": ((), lambda one: _one(one.totals["runs"])),
    "agents/Failed/A": ((), lambda one: _one(one.totals["runs_by_status"]["error"] / one.totals["runs"])),
    "agents/Rejected/A": ((), lambda one: _one(_decided(one, decisions=("reject",)))),
    "agents/Spent/A": ((), lambda one: _one(_cost(one))),
    "agents/Ungated/A": ((), lambda one: _one(0)),
    "agents/Failed open/A": ((), lambda one: _one(_failed_open(one))),
    "agents/Items lost/A": ((), lambda one: _one(0)),
    "agents/By agent/A": ((semconv.GEN_AI_AGENT_NAME, semconv.STATUS), _by_agent),
    "usage/Cost/A": ((), lambda one: _one(_cost(one))),
    "usage/Tokens/A": ((), lambda one: _one(_all(_by_bucket(one)))),
    "usage/Model calls/A": ((), lambda one: one.metric(semconv.METRIC_CLIENT_DURATION, field="count")),
    "usage/Cost per run/A": ((), lambda one: _one(_cost(one) / one.totals["runs"])),
    "usage/Unpriced tokens/A": ((), lambda one: _one(sum(one.totals["unpriced_tokens"].values()))),
    "usage/Tokens by model and bucket/A": ((semconv.GEN_AI_RESPONSE_MODEL, semconv.TOKEN_BUCKET), _by_bucket),
    "usage/Unpriced models/A": (UNPRICED_BY, lambda one: one.metric(semconv.METRIC_UNPRICED, *UNPRICED_BY)),
    "usage/Cost by agent and model/A": (COST_BY, lambda one: one.metric(semconv.METRIC_COST, *COST_BY)),
    "tools/Executions/A": ((), lambda one: _tool_calls(one)),
    "tools/Failed/A": ((), lambda one: _one(_all(_tool_calls(one, status="error")) / _all(_tool_calls(one)))),
    "tools/Refused/A": ((), lambda one: _tool_calls(one, status="rejected")),
    "tools/Executions by tool and status/A": (NAMES, lambda one: _tool_calls(one, *NAMES)),
    "tools/Errors by tool and type/A": ((*NAMES, semconv.ERROR_TYPE), _failed_tools),
    "hooks/Ungated libraries/A": ((), lambda one: _one(0)),
    "hooks/Hooks off/A": ((), lambda one: _one(0)),
    "hooks/Gates failed open/A": ((), lambda one: _one(_failed_open(one))),
    "hooks/Gates failed closed/A": ((), lambda one: _one(_failed_closed(one))),
    "hooks/Circuits open/A": ((), lambda one: _one(1)),  # that of UNREACHABLE
    "hooks/Gates timed out/A": ((), lambda one: _one(_decided(one, decisions=("timeout",)))),
    "hooks/Decisions by hook and event/A": (
        DECIDED,
        lambda one: one.metric(semconv.METRIC_DECISIONS, *DECIDED, mode="enforce"),
    ),
    "hooks/Highest share in use/A": (
        (),
        lambda one: _one(max(of["highest_share"] for of in one.totals["budgets"].values())),
    ),
    "hooks/Refused by budgets/A": ((), lambda one: _one(_refused_by_budgets(one))),
    "hooks/Calls not counted yet/A": ((), lambda one: _one(0)),
    "hooks/Reservations expired/A": ((), lambda one: _one(0)),
    "hooks/Budgets/A": (BUDGET, lambda one: _of_budgets(one, lambda of: of["highest_share"])),
    "hooks/Budgets/B": (BUDGET, lambda one: _of_budgets(one, lambda of: of["tokens"])),
    "hooks/Budgets/C": (BUDGET, lambda one: _of_budgets(one, lambda of: of["cost"]["usd_float"])),
    "hooks/Budgets/D": (BUDGET, lambda one: _of_budgets(one, lambda _: _refused_by_budgets(one))),
    "hooks/Waiting for a person/A": (
        (),
        lambda one: _one(_approvals(one, "requested") - _approvals(one, "approved", "denied")),
    ),
    "hooks/Approvals asked for/A": ((), lambda one: _one(_approvals(one, "requested"))),
    "hooks/Not answered in time/A": ((), lambda one: _one(0)),
    "hooks/Approvals by policy and outcome/A": (
        APPROVAL,
        lambda one: one.metric(semconv.METRIC_APPROVAL_REQUESTS, *APPROVAL),
    ),
    "hooks/Policy questions/A": ((), lambda one: _one(_all(_of_policies(one)))),
    "hooks/Policy questions without an answer/A": (
        (),
        lambda one: _one(_all(_of_policies(one, verdicts=("error",))) / _all(_of_policies(one))),
    ),
    "hooks/Policy services not asked/A": ((), lambda one: _one(0)),
    "hooks/Remote policies by service/A": (POLICY, lambda one: _of_policies(one)),
    "hooks/Remote policies by service/B": (POLICY, lambda one: _of_policies(one, verdicts=("error",))),
    "hooks/Remote policies by service/C": (
        POLICY,
        lambda one: {
            (one.service, *key): count
            for key, count in one.metric(semconv.METRIC_REMOTE_POLICY_ERRORS, semconv.HOOK).items()
        },
    ),
    "hooks/Remote policies by service/D": (
        POLICY,
        lambda one: _decided_by_fail_mode(one, "consent", "memory.store.pre"),
    ),
    "hooks/Remote policies by service/E": (
        POLICY,
        lambda one: _decided_by_fail_mode(one, "payments", "tool.execute.pre"),
    ),
    "hooks/Remote policies by service/F": (POLICY, lambda _: {}),  # no circuit is open
    "hooks/Circuits/A": (
        ("service.name", semconv.HOOK, semconv.CIRCUIT_BREAKER_TARGET),
        lambda one: {(one.service, "line", f"house/{UNREACHABLE}"): 1},
    ),
    "hooks/Shadow decisions by hook and event/A": (
        SHADOWED,
        lambda one: one.metric(semconv.METRIC_DECISIONS, *SHADOWED, mode="shadow"),
    ),
    "pipeline/Items lost/A": ((), lambda one: _one(0)),
    "pipeline/Errors in spanhook/A": ((), lambda one: _one(0)),
    "pipeline/Backends down/A": ((), lambda one: _one(0)),
}

#: Figures and tables of the time shown that state no total of the load's, and why.
NO_TOTAL = {
    "agents/Libraries that are not bound": "what is installed; not of the load",
    "agents/Alerts firing/A": "which alerts fire depends on when they are asked; their rules have tests of their own",
    "agents/Jobs/A": "the load has no jobs: test_background.py",
    "agents/Jobs that failed/A": "the load has no jobs: test_background.py",
    "agents/Time jobs wait, p95/A": "a quantile",
    "agents/Ticks not completed/A": "the load has no schedules: test_background.py",
    "agents/Models, now and before": "quantiles",
    "agents/Tools, now and before": "quantiles",
    "usage/Budget left of a day/A": "of 24 hours, extrapolated by Prometheus, beside a budget",
    "hooks/Libraries by service": "what is installed, and when; not of the load",
    "hooks/Time until a decision, p95/A": "a quantile",
    "hooks/Services/A": "digest and version of the hooks, one process",
    "hooks/Operations that no hook saw/A": "from span metrics: the load prints totals of SDK metrics",
    "pipeline/Traces lost/A": "0 once all are decided: the test below",
    "pipeline/Spans exported/A": "the SDK reports before its last batch has left",
    "pipeline/Traces kept/A": "of the collector: the test below",
    "pipeline/Services by last report/A": "a moment",
    "pipeline/Errors in spanhook, by place/A": "there was none",
    "pipeline/Webhook deliveries given up/A": "no control plane is scraped: test_background.py",
}


@pytest.mark.parametrize("query", [one for one in PROMQL if str(one) in TOTALS], ids=str)
def test_panels_state_what_the_load_has_printed(shown: Shown, query: Query) -> None:
    by, expected = TOTALS[str(query)]
    labels = [name.replace(".", "_") for name in by]
    answer = {tuple(one.get(name, "") for name in labels): value for one, value in shown.promql(query)}
    # series that stand at zero are no part of what the load prints
    found = {key: value for key, value in answer.items() if value or not key}
    assert found == pytest.approx(expected(shown), rel=1e-9)


def test_traces_are_decided_and_none_is_lost(shown: Shown) -> None:
    def value(name: str) -> float:
        (query,) = [one for one in PROMQL if str(one) == name]
        ((_, found),) = shown.promql(query)
        return found

    until(lambda: value("pipeline/Traces lost/A") == 0, "decisions about all traces")
    assert value("pipeline/Traces kept/A") == 1
    assert 0.9 < value("pipeline/Spans exported/A") <= 1


def test_every_rule_is_evaluated(shown: Shown) -> None:
    """Their figures have tests of their own; here they meet all the series that there are."""

    def broken() -> list[str] | None:
        rules = [rule for group in shown.stack.prometheus.rules() for rule in group["rules"]]
        if any(rule["health"] == "unknown" for rule in rules):
            return None
        return ["none", *(f"{rule['name']}: {rule['lastError']}" for rule in rules if rule["health"] != "ok")]

    assert until(broken, "evaluation of all rules", 90) == ["none"]


def _answer(shown: Shown, name: str) -> list[tuple[dict[str, str], float]]:
    (query,) = [one for one in LOGQL if str(one) == name]
    return [(one.labels, one.value) for one in shown.stack.needed_loki().vector(shown.text(query))]


def test_tenants_and_users_cost_what_the_load_has_printed(shown: Shown) -> None:
    def costs(of: str) -> dict[str, float]:
        return {
            name: one["cost"]["usd_float"] for name, one in shown.totals[of].items() if one["cost"]["usd_float"] > 0
        }

    tenants = {labels["spanhook_tenant_id"]: cost for labels, cost in _answer(shown, "usage/Cost by tenant/A")}
    users: defaultdict[str, float] = defaultdict(float)
    for labels, cost in _answer(shown, "usage/Top users/A"):
        users[labels["user_id"]] += cost
    assert tenants == pytest.approx(costs("by_tenant"), abs=1e-9)
    assert {user: cost for user, cost in users.items() if cost} == pytest.approx(costs("by_user"), abs=1e-9)


@pytest.mark.parametrize("name", ["agents/Most expensive runs/A", "usage/Most expensive runs/A"])
def test_the_most_expensive_runs_are_those_that_the_load_has_printed(shown: Shown, name: str) -> None:
    keys = ("gen_ai_agent_name", "spanhook_status", "spanhook_tenant_id", "user_id")
    found = sorted((cost, *(labels[key] for key in keys)) for labels, cost in _answer(shown, name))
    wanted = sorted(
        (one["cost"]["usd_float"], one["agent"], one["status"], one["tenant"], one["user"])
        for one in shown.totals["most_expensive"]
    )
    assert [one[1:] for one in found] == [one[1:] for one in wanted]
    assert [one[0] for one in found] == pytest.approx([one[0] for one in wanted], abs=1e-9)
    assert all(len(labels["trace_id"]) == 32 for labels, _ in _answer(shown, name))


@pytest.mark.parametrize(
    ("panel", "of", "decision"),
    [
        ("Who was blocked", "decisions", "reject"),
        ("Refused, but possibly made anyway", "decisions", "attempted"),
        ("Who would have been blocked", "shadow_decisions", "reject"),
    ],
)
def test_who_was_blocked_adds_up_to_what_hooks_decided(shown: Shown, panel: str, of: str, decision: str) -> None:
    found: Counter[str] = Counter()
    for labels, count in _answer(shown, f"hooks/{panel}/A"):
        found[labels["spanhook_hook"]] += int(count)
    wanted: Counter[str] = Counter()
    for hook, events in shown.totals[of].items():
        for decisions in events.values():
            wanted[hook] += decisions.get(decision, 0)
    assert found == +wanted != {}


def test_the_latest_decisions_are_those_that_were_enforced(shown: Shown) -> None:
    (query,) = [one for one in LOGQL if str(one) == "hooks/Latest decisions/A"]
    now = time.time()
    lines = shown.stack.needed_loki().query(shown.text(query), now - 3600, now + 60)
    found = Counter((one["labels"]["spanhook_hook"], one["labels"]["spanhook_decision"]) for one in lines)
    wanted: Counter[tuple[str, str]] = Counter()
    for hook, events in shown.totals["decisions"].items():
        for decisions in events.values():
            wanted.update({(hook, decision): count for decision, count in decisions.items() if decision != "allow"})
    assert found == wanted


def test_every_total_is_checked_or_said_not_to_be() -> None:
    stated = {str(query) for query in PROMQL if "$__range" in query.text}
    known = {*TOTALS, *NO_TOTAL}
    assert {name for name in stated if name not in known and name.rpartition("/")[0] not in known} == set()


def test_lists_name_queries_that_there_are() -> None:
    there = {str(query) for query in QUERIES}
    panels = {name.rpartition("/")[0] for name in there}
    assert {*EMPTY, *TOTALS, *NO_TOTAL} <= there | panels
