"""What spanhook counted: its counters of tokens, cost and decisions, and every operation that has ended.

``Counted`` listens during the load; it knows nothing of the script.
"""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from spanhook import semconv
from spanhook.cli.load.facts import REJECT
from spanhook.cli.load.tables import Tables, amount_of
from spanhook.concurrency import reaper
from spanhook.engine import listeners, registry
from spanhook.errors import Reject
from spanhook.model import Record
from spanhook.telemetry import BUCKETS, COST, UNPRICED, Key, Snapshot, Vector

PATIENCE_S = 60.0
"""How long hooks in shadow mode and subscriptions may lag behind at the end of the load."""


class Counted:
    """What has been counted since it was created.

    Attributes:
        tables: The sums, complete once the load is over.
        errors: Errors in spanhook's own code, by component.
    """

    def __init__(self) -> None:
        self.tables = Tables()
        self.errors: Counter[str] = Counter()
        self._before = Snapshot(taken=True)
        self._lock = threading.Lock()

    def __call__(self, op: Record) -> None:
        """Count an operation that has ended."""
        error_type = _error_type(op.error, op) if op.phase == "error" and op.error is not None else ""
        with self._lock:
            self._add_operation(op, error_type)
            if op.parent is None:
                self._add_run(op, error_type)

    def _add_operation(self, op: Record, error_type: str) -> None:
        add = self.tables.add
        add("foreign_spans" if op.foreign else "spans", op.kind)
        if error_type:
            add("errors", op.kind, error_type)
        if op.decided.records:
            add("events", semconv.EVENT_DECISION, amount=len(op.decided.records))
        if op.kind == "agent.invoke":
            add("agents", op.name, op.status, error_type)
            add("agent_calls", op.name, "llm.call", amount=op.usage.llm_calls)
            add("agent_calls", op.name, "tool.execute", amount=op.usage.tool_calls)
        elif op.kind == "tool.execute":
            add("tools", op.name, op.status, error_type)
            if not op.foreign:
                add("executions", op.name, op.status, error_type, op.agent, op.attributes[semconv.GEN_AI_TOOL_TYPE])
        elif op.kind in ("llm.call", "embeddings.create") and not op.foreign:
            self._add_call(op, error_type)

    def _add_call(self, op: Record, error_type: str) -> None:
        add = self.tables.add
        answered = str((op.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_MODEL, ""))
        call = (str(op.attributes[semconv.GEN_AI_OPERATION_NAME]), op.provider, op.model, answered)
        failed = "" if error_type == REJECT else error_type
        add("model_calls", *call, error_type)
        if op.called:
            add("made_calls", *call, failed)
        if op.stream.first_chunk_ns:
            add("first_chunks", *call)
        if op.attributes.get(semconv.GEN_AI_REQUEST_STREAM):
            add("streams", op.model, op.status)
        if op.own_usage is not None and not op.own_usage.estimated:
            add("reports", *call)
            add("reported", *call, "input", amount=op.own_usage.input_tokens)
            add("reported", *call, "output", amount=op.own_usage.output_tokens)

    def _add_run(self, op: Record, error_type: str) -> None:
        add, used, identity = self.tables.add, op.usage, op.identity
        whose = (identity.tenant_id, identity.user_id)
        add("runs", op.name, op.status, error_type, *whose)
        add("events", semconv.EVENT_RUN)
        add("run_costs", amount_of(used.cost_nano or 0), op.name, op.status, *whose)
        add("calls", op.name, op.status, "llm.call", *whose, amount=used.llm_calls)
        add("calls", op.name, op.status, "tool.execute", *whose, amount=used.tool_calls)
        for model, one in op.usage_by_model.items():
            for bucket, amount in one.buckets():
                add("spent_tokens", *whose, op.name, model, bucket, amount=amount)
            add("spent_cost", *whose, op.name, model, amount=one.cost_nano or 0)

    def finish(self) -> None:
        """Read the counters."""
        reaper.drain()
        registry.flush(PATIENCE_S)
        now, before = Snapshot(taken=True), self._before
        self.errors = now.errors - before.errors
        for key, vector in now.usage.items():
            self._add_usage(key, _since(vector, before.usage.get(key)))
        for key, vector in now.decisions.items():
            self._add_decision(key, _since(vector, before.decisions.get(key)))

    def _add_usage(self, key: Key, sums: Vector) -> None:
        add = self.tables.add
        operation, provider, model, agent, _tenant, _estimated, source = key
        for bucket, amount in zip(BUCKETS, sums, strict=False):
            add("tokens", operation, provider, model, agent, bucket, amount=amount)
        add("cost", operation, provider, model, agent, source, amount=sums[COST])
        add("unpriced", operation, provider, model, agent, amount=sums[UNPRICED])

    def _add_decision(self, key: Key, sums: Vector) -> None:
        hook, kind, phase, decision, mode, coverage, closed, _tenant = key
        add, count = self.tables.add, sums[0]
        row = (hook, f"{kind}.{phase}", decision, coverage, "closed" if closed else "open")
        if mode == "shadow":
            add("shadow_decisions", *row, amount=count)
            if decision != "allow":  # an operation that has ended does not have them yet
                add("events", semconv.EVENT_DECISION, amount=count)
        else:
            add("decisions", *row, amount=count)
            add("coverage", coverage, amount=count)


def _error_type(error: BaseException, op: Record) -> str:
    return REJECT if isinstance(error, Reject) else op.adapter.reading.error_type(error)


def _since(sums: Vector, before: Vector | None) -> Vector:
    return sums if before is None else [now - then for now, then in zip(sums, before, strict=True)]


@contextmanager
def counting() -> Generator[Counted, None, None]:
    """Count while the block runs."""
    counted = Counted()
    listeners.append(counted)
    try:
        yield counted
        counted.finish()
    finally:
        listeners.remove(counted)
