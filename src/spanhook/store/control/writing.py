"""Writes batches of telemetry in one transaction: rows, and the runs, decisions and usage that follow from them.

What is received again changes nothing: spans are known by their ids, log records by what they are, decisions by what
they say.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from spanhook.store.control import tables
from spanhook.store.control.facts import Batch, DecisionFacts, RunKey, SpanFacts, UsageKey, Used
from spanhook.store.control.run_state import COLUMNS, RunState
from spanhook.store.control.sql import Sql, sql

_SPAN = (
    *("trace_id", "span_id", "parent_id", "owner", "tenant_id", "run_id", "kind", "status", "name", "start_ns"),
    *("end_ns", "scope", "resource", "data", "received_ns"),
)
_LOG = (
    *("digest", "owner", "tenant_id", "trace_id", "span_id", "event_name", "severity", "body", "time_ns", "scope"),
    *("resource", "data", "received_ns"),
)
_METRIC = (*("series", "time_ns", "owner", "name", "unit", "type", "attributes", "value", "resource", "received_ns"),)
_RESOURCE = ("digest", "service", "data", "time_ns")
_DECISION = tuple(name for name in DecisionFacts._fields if name != "full")
_ENRICHED = ("tenant_id", "run_id", "mode", "coverage", "kind", "target", "agent", "user_id")
_USAGE_KEY = "day, tenant_id, user_id, agent, model"
_TRACE, _SPAN_ID, _OWNER = 0, 1, 3
_RUN = f"SELECT id, {', '.join(COLUMNS)} FROM {tables.runs.name} WHERE run_id"  # noqa: S608
_OPEN = (
    f"SELECT id, trace_id, owner, root_parent_id FROM {tables.runs.name}"  # noqa: S608
    " WHERE NOT ended AND trace_id"
)

_EMPTY = (
    f"DELETE FROM {tables.usage.name} WHERE {' AND '.join(f'{one} = ?' for one in _USAGE_KEY.split(', '))}"  # noqa: S608
    f" AND {' AND '.join(f'{one} = 0' for one in Used._fields)}"
)
"""What is left where a run's usage has moved to another day, user or agent."""


def write(connection: Connection, batches: Sequence[Batch], now_ns: int) -> None:
    """Write batches in the transaction of a connection.

    Args:
        connection: Its transaction is the only one that writes, on SQLite.
        batches: Any number of requests.
        now_ns: The time, in nanoseconds since the epoch.
    """
    to = sql(connection)
    to.enter()
    resources = {digest: row for batch in batches for digest, row in batch.resources.items()}
    seen = to.update("digest", ("time_ns",))
    to.insert(tables.resources, _RESOURCE, list(resources.values()), seen)
    to.insert(tables.logs, _LOG, [row for batch in batches for row in batch.logs])
    points = {row[:2]: row for batch in batches for row in batch.metrics}
    newer = to.update("series, time_ns", ("value", "received_ns"))
    to.insert(tables.metrics, _METRIC, list(points.values()), newer)
    writing = _Writing(to, now_ns)
    writing.spans(batches)
    writing.decisions(batches)
    writing.finish(batches)


class _Writing:
    """One transaction: which runs it touches, and which usage it adds."""

    def __init__(self, to: Sql, now_ns: int) -> None:
        self._to, self._now_ns = to, now_ns
        self._new_spans: list[SpanFacts] = []
        self._new_decisions: list[DecisionFacts] = []
        self._usage: dict[UsageKey, Used] = {}
        self._others: set[tuple[bytes, str, bytes]] = set()

    def spans(self, batches: Iterable[Batch]) -> None:
        """Write spans, and keep what those say that were not known."""
        table = tables.spans
        given = [one for batch in batches for one in batch.spans]
        if not given:
            return
        before = self._to.last(table)
        inserted = self._to.insert(table, _SPAN, [row for row, _ in given])
        new = None if inserted == len(given) else self._inserted("trace_id, span_id, owner", table.name, before)
        for batch in batches:
            fresh = [_taken(new, (row[_TRACE], row[_SPAN_ID], row[_OWNER])) for row, _ in batch.spans]
            for (row, facts), is_new in zip(batch.spans, fresh, strict=True):
                if not is_new:
                    continue
                if facts is None:
                    self._others.add((row[_TRACE], row[_OWNER], row[_SPAN_ID]))
                else:
                    self._new_spans.append(facts)

    def decisions(self, batches: Iterable[Batch]) -> None:
        """Write decisions; a log event completes what a span's event said."""
        given: dict[bytes, DecisionFacts] = {}
        for one in (one for batch in batches for one in batch.decisions):
            if one.full or one.key not in given:
                given[one.key] = one
        if not given:
            return
        table = tables.decisions
        before = self._to.last(table)
        rows = [(*(getattr(one, name) for name in _DECISION), self._now_ns) for one in given.values()]
        inserted = self._to.insert(table, (*_DECISION, "received_ns"), rows)
        new = None if inserted == len(rows) else self._inserted("key", table.name, before)
        known: list[DecisionFacts] = []
        for one in given.values():
            (self._new_decisions if _taken(new, (one.key,)) else known).append(one)
        taken = ", ".join(f"{name} = ?" for name in _ENRICHED)
        self._to.many(
            f"UPDATE {table.name} SET {taken} WHERE key = ?",  # noqa: S608
            [(*(getattr(one, name) for name in _ENRICHED), one.key) for one in known if one.full],
        )

    def finish(self, batches: Sequence[Batch]) -> None:
        """Bring runs, their indexes and the usage up to date."""
        events = [one for batch in batches for one in batch.events]
        runs = self._runs({one.run for one in (*self._new_spans, *events)} | {*map(_run_of, self._new_decisions)})
        starts = {key: (state.start_ns, frozenset(state.by_model)) for key, state in runs.items() if state.id}
        for span in self._new_spans:
            runs[span.run].add_span(span)
        for event in events:
            runs[event.run].add_event(event)
        for decision in self._new_decisions:
            if decision.run_id:
                runs[_run_of(decision)].add_decision(decision)
        self._end(runs)
        self._save(runs, starts)
        for state in runs.values():
            for key, used in state.changes().items():
                self._add_usage(key, used)
        add = self._to.add(tables.usage, _USAGE_KEY, Used._fields)
        rows = [(*key, *used.saturated()) for key, used in sorted(self._usage.items())]
        self._to.insert(tables.usage, (*_USAGE_KEY.split(", "), *Used._fields), rows, add)
        self._to.many(_EMPTY, [key for key, used in sorted(self._usage.items()) if min(used) < 0])

    def _runs(self, keys: set[RunKey]) -> dict[RunKey, RunState]:
        wanted = sorted({run_id for _, run_id in keys if run_id})
        found = {(state.owner, state.run_id): state for state in map(RunState.of, self._to.among(_RUN, wanted))}
        return {key: found.get(key) or RunState(key) for key in sorted(keys) if key[1]}

    def _end(self, runs: dict[RunKey, RunState]) -> None:
        """Note which runs are whole: those whose outermost span is known to be in a span that is none of theirs."""
        if self._others:
            open_ = self._to.among(_OPEN, sorted({trace_id for trace_id, _, _ in self._others}))
            ended = [(run,) for run, *around in open_ if tuple(around) in self._others]
            self._to.many(f"UPDATE {tables.runs.name} SET ended = true WHERE id = ?", ended)  # noqa: S608
        waiting = [one for one in runs.values() if not one.ended and one.root_parent_id]
        if waiting:
            pairs = sorted({(one.trace_id, one.root_parent_id) for one in waiting})
            around = {tuple(row) for row in self._to.around(pairs)}
            for one in waiting:
                one.ended = (one.trace_id, one.owner, one.root_parent_id) in around

    def _save(self, runs: dict[RunKey, RunState], before: dict[RunKey, tuple[int, frozenset[str]]]) -> None:
        states = list(runs.values())
        new = [state for state in states if not state.id]
        for state, number in zip(new, self._to.ids(tables.runs, len(new)), strict=True):
            state.id = number
        columns = ("id", *COLUMNS)
        rows = [(state.id, *state.row(self._now_ns)) for state in states]
        self._to.insert(tables.runs, columns, rows, self._to.update("id", COLUMNS))
        moved = [
            state
            for key, state in runs.items()
            if key in before and before[key] != (state.start_ns, frozenset(state.by_model))
        ]
        self._to.many(f"DELETE FROM {tables.run_models.name} WHERE run = ?", [(one.id,) for one in moved])  # noqa: S608
        self._to.many(
            f"UPDATE {tables.run_hooks.name} SET start_ns = ? WHERE run = ?",  # noqa: S608
            [(one.start_ns, one.id) for one in moved],
        )
        index = [(model, state.start_ns, state.id) for state in (*new, *moved) for model in state.by_model]
        self._to.insert(tables.run_models, ("model", "start_ns", "run"), index)
        decided = {
            (one.hook, runs[_run_of(one)].start_ns, runs[_run_of(one)].id) for one in self._new_decisions if one.run_id
        }
        self._to.insert(tables.run_hooks, ("hook", "start_ns", "run"), sorted(decided))

    def _inserted(self, columns: str, table: str, before: int) -> set[Any]:
        query = f"SELECT {columns} FROM {table} WHERE id > {before}"  # noqa: S608
        return {tuple(row) for row in self._to.connection.exec_driver_sql(query)}

    def _add_usage(self, key: UsageKey, used: Used) -> None:
        known = self._usage.get(key)
        self._usage[key] = used if known is None else known.plus(used)


def _run_of(decision: DecisionFacts) -> RunKey:
    return decision.owner, decision.run_id


def _taken(new: set[Any] | None, key: tuple[Any, ...]) -> bool:
    """Whether a row was inserted; of several with the same key only the first."""
    if new is None:
        return True
    if key in new:
        new.discard(key)
        return True
    return False
