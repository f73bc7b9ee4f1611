"""The document as text, for people."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from spanhook.cli import texts
from spanhook.cli.load.document import Difference, Document, Spent
from spanhook.telemetry import BUCKETS

_section = partial(texts.section, numbers=True)


def as_text(document: Document) -> Iterator[str]:
    """All totals, line by line."""
    totals = document["totals"]
    yield f"{totals['runs']:,} runs in {document['seconds']:.1f} s, seed {document['seed']}; a backend must show:"
    statuses = list(totals["runs_by_status"])
    yield from _section(
        "runs by agent and status",
        ("agent", *statuses),
        [
            (agent, *(_number(found.get(one, 0)) for one in statuses))
            for agent, found in totals["runs_by_agent"].items()
        ],
    )
    yield from _section(
        "tokens and cost by model",
        ("model", *BUCKETS, "cost in USD"),
        [
            (model, *map(_number, found.values()), totals["cost"].get(model, {"usd": "unpriced"})["usd"])
            for model, found in totals["tokens"].items()
        ],
    )
    for whose, spent in (("agent", totals["by_agent"]), ("tenant", totals["by_tenant"]), ("user", totals["by_user"])):
        yield from _spent(whose, spent)
    for title, found in (
        ("decisions", totals["decisions"]),
        ("what hooks in shadow mode would have decided", totals["shadow_decisions"]),
    ):
        yield from _section(title, ("hook", "event", "decision", ""), list(_decided(found)))
    yield from _section(
        "budgets",
        ("hook", "runs", "tokens", "cost in USD", "highest share"),
        [
            (hook, _number(one["runs"]), _number(one["tokens"]), one["cost"]["usd"], f"{one['highest_share']:.1%}")
            for hook, one in totals["budgets"].items()
        ],
    )
    yield from _section(
        "approvals",
        ("hook", "outcome", ""),
        [(hook, *one) for hook, found in totals["approvals"].items() for one in _counts(found)],
    )
    yield from _section(
        "verdicts of remote policies",
        ("hook", "verdict", ""),
        [(hook, *one) for hook, found in totals["verdicts"].items() for one in _counts(found)],
    )
    yield from _section(
        "errors",
        ("type", "kind", ""),
        [(type_, *one) for type_, found in totals["errors"].items() for one in _counts(found)],
    )
    for title, counts in (
        ("decisions by coverage", totals["coverage"]),
        ("streamed model calls by status", totals["streams"]),
        ("spans by kind", totals["spans"]),
        ("spans of attempts to ask a remote policy", totals["guardrail_spans"]),
        ("foreign spans by kind", totals["foreign_spans"]),
        ("log events", totals["events"]),
    ):
        yield from _section(title, (), list(_counts(counts)))


def complaints(differences: Sequence[Difference], errors: Mapping[str, int]) -> Iterator[str]:
    """The differences in spanhook's counts, one per line."""
    for one in differences:
        where = " ".join(f"{column}={value!r}" for column, value in one["row"].items() if value)
        yield f"spanhook load: {one['table']}: {where}: expected {one['expected']:,}, counted {one['counted']:,}"
    for component, count in errors.items():
        yield f"spanhook load: {count:,} errors in spanhook's own code, in {component!r}"


def _spent(whose: str, spent: Mapping[str, Spent]) -> Iterator[str]:
    rows = [
        (
            one,
            *map(_number, (found["runs"], found["llm_calls"], found["tool_calls"], found["total_tokens"])),
            found["cost"]["usd"],
        )
        for one, found in spent.items()
    ]
    yield from _section(f"by {whose}", (whose, "runs", "model calls", "tool calls", "tokens", "cost in USD"), rows)


def _decided(found: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Iterator[texts.Cells]:
    for hook, events in found.items():
        for event, decisions in events.items():
            for decision, count in decisions.items():
                yield hook, event, decision, _number(count)


def _counts(found: Mapping[str, int]) -> Iterator[texts.Cells]:
    for name, count in found.items():
        yield name, _number(count)


def _number(number: int) -> str:
    return f"{number:,}"


class Progress(texts.Progress):
    """The progress of the runs.

    Args:
        runs: The total number of runs.
    """

    def __init__(self, runs: int) -> None:
        super().__init__("load")
        self._runs, self._made = runs, 0

    def step(self) -> None:
        """One more run has been made."""
        self._made += 1
        self.tell(f"{self._made:,} of {self._runs:,} runs")
