"""Exact sums over operations, by every dimension that is queried downstream; all are whole numbers.

One ``Tables`` is filled from the script, another from spanhook's counts; if they differ, something is wrong.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from spanhook.cli.load.catalogue import BUDGETED
from spanhook.cli.load.facts import CLOSED, REJECT, TIMED, Asked, Decided, Fact, Tokens
from spanhook.cli.load.prices import SOURCE, price

Row = tuple[str, ...]

COLUMNS: Mapping[str, Row] = {
    "runs": ("agent", "status", "error_type", "tenant", "user"),
    "calls": ("agent", "status", "kind", "tenant", "user"),
    "spans": ("kind",),
    "foreign_spans": ("kind",),
    "agents": ("agent", "status", "error_type"),
    "tools": ("tool", "status", "error_type"),
    "agent_calls": ("agent", "kind"),
    "executions": ("tool", "status", "error_type", "agent", "tool_type"),
    "model_calls": ("operation", "provider", "requested", "answered", "error_type"),
    "made_calls": ("operation", "provider", "requested", "answered", "error_type"),
    "streams": ("model", "status"),
    "first_chunks": ("operation", "provider", "requested", "answered"),
    "reports": ("operation", "provider", "requested", "answered"),
    "reported": ("operation", "provider", "requested", "answered", "type"),
    "tokens": ("operation", "provider", "model", "agent", "bucket"),
    "cost": ("operation", "provider", "model", "agent", "source"),
    "unpriced": ("operation", "provider", "model", "agent"),
    "spent_tokens": ("tenant", "user", "agent", "model", "bucket"),
    "spent_cost": ("tenant", "user", "agent", "model"),
    "run_costs": ("nano", "agent", "status", "tenant", "user"),
    "decisions": ("hook", "event", "decision", "coverage", "fail_mode"),
    "shadow_decisions": ("hook", "event", "decision", "coverage", "fail_mode"),
    "hook_durations": ("hook", "event", "mode"),
    "budgets": ("hook", "tokens", "nano"),
    "approvals": ("hook", "outcome"),
    "verdicts": ("hook", "verdict"),
    "failed_attempts": ("hook", "error_type"),
    "attempts": ("hook",),
    "policy_answers": ("answer",),
    "redacted": ("hook", "entity", "mode"),
    "suspected": ("hook", "rule", "mode"),
    "held_streams": ("operation", "provider", "requested"),
    "coverage": ("coverage",),
    "errors": ("kind", "error_type"),
    "events": ("event",),
}
"""The columns of each table.

Costs are in nano-dollars; ``calls`` are those inside an outermost operation. Decisions of hooks in shadow mode are only
in ``shadow_decisions``, ``hook_durations`` and ``events``. ``budgets`` counts runs by what they used of theirs.
``verdicts`` counts questions of remote policies, ``attempts`` how often these asked, and ``policy_answers`` is what the
service has counted, that was asked.
"""
MEASURED = {
    "hook_durations",
    "budgets",
    "approvals",
    "verdicts",
    "failed_attempts",
    "attempts",
    "redacted",
    "suspected",
    "held_streams",
}
"""Tables of what is only recorded with a meter provider, and counted by nothing else."""


class Tables:
    """Sums by table and row."""

    def __init__(self) -> None:
        self.sums: Counter[tuple[str, Row]] = Counter()

    def add(self, table: str, *row: str, amount: int = 1) -> None:
        """Add to one row of a table."""
        if amount:
            self.sums[table, row] += amount

    def rows(self, table: str) -> Iterator[tuple[dict[str, str], int]]:
        """Every row of a table and its sum, in a fixed order."""
        for (name, row), amount in sorted(self.sums.items()):
            if name == table:
                yield dict(zip(COLUMNS[table], row, strict=True)), amount

    def by(self, table: str, column: str) -> dict[str, int]:
        """A table summed up by one of its columns."""
        return {key: amount for (key,), amount in self.by_all(table, column).items()}

    def by_all(self, table: str, *columns: str) -> dict[Row, int]:
        """A table summed up by some of its columns, in a fixed order."""
        found: Counter[Row] = Counter()
        for row, amount in self.rows(table):
            found[tuple(row[column] for column in columns)] += amount
        return dict(sorted(found.items()))

    def total(self, table: str) -> int:
        return sum(amount for _, amount in self.rows(table))


def expected(runs: Iterable[tuple[str, str, Fact]]) -> Tables:
    """The expected counts of runs, given with their tenants and users."""
    tables = Tables()
    for tenant, user, fact in runs:
        tables.add("runs", fact.name, fact.status, fact.error_type, tenant, user)
        tables.add("events", "spanhook.run")
        nano = sum(_cost(one) or 0 for one in _flat(fact))
        tables.add("run_costs", amount_of(nano), fact.name, fact.status, tenant, user)
        _add_budget(tables, fact)
        for one in _flat(fact):
            _add_operation(tables, one)
            calls = int(one.called)
            if one.kind in ("llm.call", "tool.execute"):
                tables.add("calls", fact.name, fact.status, one.kind, tenant, user, amount=calls)
            if one.tokens is not None:
                _add_tokens(tables, one, one.tokens, (tenant, user, fact.name))
    return tables


def amount_of(number: int) -> str:
    """Nano-dollars or tokens as text that sorts by amount."""
    return f"{number:018}"


def _add_budget(tables: Tables, run: Fact) -> None:
    used = [one for one in _flat(run) if one.name == BUDGETED and one.tokens is not None]
    if used:
        tokens = sum(one.tokens.total for one in used if one.tokens is not None)
        nano = sum(_cost(one) or 0 for one in used)
        tables.add("budgets", "run_budget", amount_of(tokens), amount_of(nano))


def _flat(fact: Fact) -> Iterator[Fact]:
    yield fact
    for one in fact.inside:
        yield from _flat(one)


def _add_operation(tables: Tables, fact: Fact) -> None:
    tables.add("foreign_spans" if fact.foreign else "spans", fact.kind)
    if fact.error_type:
        tables.add("errors", fact.kind, fact.error_type)
    if fact.kind == "agent.invoke":
        tables.add("agents", fact.name, fact.status, fact.error_type)
        for one in _flat(fact):
            if one.called and one.kind in ("llm.call", "tool.execute"):
                tables.add("agent_calls", fact.name, one.kind)
    elif fact.kind == "tool.execute":
        tables.add("tools", fact.name, fact.status, fact.error_type)
        if not fact.foreign:
            tables.add("executions", fact.name, fact.status, fact.error_type, fact.agent, "function")
    elif fact.kind in ("llm.call", "embeddings.create") and not fact.foreign:
        call = (fact.operation, fact.provider, fact.name, fact.answered)
        failed = "" if fact.error_type == REJECT else fact.error_type
        tables.add("model_calls", *call, fact.error_type)
        if fact.called:
            tables.add("made_calls", *call, failed)
        if fact.streamed:
            tables.add("streams", fact.name, fact.status)
            tables.add("first_chunks", *call)
        if fact.tokens is not None:
            tables.add("reports", *call)
            tables.add("reported", *call, "input", amount=fact.tokens.prompt)
            tables.add("reported", *call, "output", amount=fact.tokens.completion)
    for decided in fact.decisions:
        _add_decision(tables, decided)
    if fact.held_back:
        tables.add("held_streams", fact.operation, fact.provider, fact.name)
    for entity in fact.redacted:
        tables.add("redacted", "redaction", entity, "enforce")
    for rule in fact.suspected:
        tables.add("suspected", "scan", rule, "enforce")
    for outcome in fact.approvals:
        tables.add("approvals", "ask_a_person", outcome)
    for asked in fact.asked:
        _add_question(tables, asked)


def _add_question(tables: Tables, asked: Asked) -> None:
    tables.add("verdicts", asked.hook, asked.verdict)
    tables.add("attempts", asked.hook, amount=asked.attempts)
    if asked.error_type:
        tables.add("failed_attempts", asked.hook, asked.error_type, amount=asked.attempts)
    if asked.answer:
        tables.add("policy_answers", asked.answer, amount=asked.attempts)


def _add_tokens(tables: Tables, fact: Fact, tokens: Tokens, whose: Row) -> None:
    model = (fact.operation, fact.provider, fact.answered, fact.agent)
    for bucket, amount in tokens.buckets().items():
        tables.add("tokens", *model, bucket, amount=amount)
        tables.add("spent_tokens", *whose, fact.answered, bucket, amount=amount)
    nano = _cost(fact)
    if nano is None:
        tables.add("unpriced", *model, amount=tokens.total)
    else:
        tables.add("cost", *model, SOURCE, amount=nano)
        tables.add("spent_cost", *whose, fact.answered, amount=nano)


def _cost(fact: Fact) -> int | None:
    return price(fact.tokens, fact.provider, fact.answered) if fact.tokens is not None else None


def _add_decision(tables: Tables, decided: Decided) -> None:
    fail_mode = "closed" if decided.hook in CLOSED else "open"
    row = (decided.hook, decided.event, decided.decision, decided.coverage, fail_mode)
    if decided.mode == "shadow":
        tables.add("shadow_decisions", *row)
    else:
        tables.add("decisions", *row)
        tables.add("coverage", decided.coverage)
    if decided.hook in TIMED:
        tables.add("hook_durations", decided.hook, decided.event, decided.mode)
    if decided.decision != "allow":
        tables.add("events", "spanhook.decision")
