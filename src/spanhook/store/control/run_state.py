"""What is known of a run, and what spans and log events add to it, in whichever order they come.

The outermost span of a run is the one that starts first and is in no other of its spans. The log event of a run says
which it is, and stands above what spans say: it is emitted whatever the sampler decides.
"""

import json
from typing import Any

from spanhook.semconv import OTHER
from spanhook.store.control.facts import NOTHING, DecisionFacts, RunEvent, RunKey, SpanFacts, UsageKey, Used

DAY_NS = 86_400 * 1_000_000_000
MOST_MODELS = 100
"""How many models a run may have; what others use is counted together."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

COLUMNS = (
    "owner",
    "run_id",
    "trace_id",
    "root_id",
    "root_parent_id",
    "told",
    "tenant_id",
    "user_id",
    "session_id",
    "agent",
    "service",
    "name",
    "kind",
    "status",
    "error_type",
    "ended",
    "start_ns",
    "end_ns",
    "spans",
    "decisions",
    "input_tokens",
    "output_tokens",
    "cost_nano",
    "unpriced_tokens",
    "llm_calls",
    "tool_calls",
    "by_model",
    "updated_ns",
)


class RunState:
    """One run. Attributes are those of its row, but for ``by_model``, which is usage by model."""

    __slots__ = ("_before", "by_model", "id", *(name for name in COLUMNS if name != "by_model"))

    def __init__(self, key: RunKey) -> None:
        self.owner, self.run_id = key
        self.id = 0
        self.trace_id = self.root_id = self.root_parent_id = b""
        self.told = self.ended = False
        self.tenant_id = self.user_id = self.session_id = self.agent = self.service = ""
        self.name = self.kind = self.status = self.error_type = ""
        self.start_ns = self.end_ns = self.spans = self.decisions = self.updated_ns = 0
        self.input_tokens = self.output_tokens = self.cost_nano = self.unpriced_tokens = 0
        self.llm_calls = self.tool_calls = 0
        self.by_model: dict[str, Used] = {}
        self._before: dict[UsageKey, Used] = {}

    @classmethod
    def of(cls, row: Any) -> "RunState":
        """The run of a row: its ``id``, then its ``COLUMNS``."""
        number, *values = row
        found = dict(zip(COLUMNS, values, strict=True))
        state = cls((found["owner"], found["run_id"]))
        state.id = number
        for name, value in found.items():
            if name != "by_model":
                setattr(state, name, value)
        state.told, state.ended = bool(state.told), bool(state.ended)
        by_model: dict[str, list[int]] = json.loads(found["by_model"]) or {}
        state.by_model = {model: Used(*one) for model, one in by_model.items()}
        state._before = state.usage()
        return state

    def row(self, now_ns: int) -> tuple[Any, ...]:
        """Its ``COLUMNS``."""
        self.updated_ns = now_ns
        self._sum()
        by_model = _encode(self.by_model)
        return (
            *(self.owner, self.run_id, self.trace_id, self.root_id, self.root_parent_id, self.told, self.tenant_id),
            *(self.user_id, self.session_id, self.agent, self.service, self.name, self.kind, self.status),
            *(self.error_type, self.ended, self.start_ns, self.end_ns, self.spans, self.decisions, self.input_tokens),
            *(self.output_tokens, self.cost_nano, self.unpriced_tokens, self.llm_calls, self.tool_calls, by_model),
            now_ns,
        )

    # ----------------------------------------------------------------- what is added

    def add_span(self, span: SpanFacts) -> None:
        """Add a span that was not known."""
        self.spans += 1
        if self.told:
            if span.span_id == self.root_id:
                self.start_ns, self.end_ns, self.root_parent_id = span.start_ns, span.end_ns, span.parent_id
            self._identify(span)
            return
        if self._is_outside(span):
            self.root_id, self.root_parent_id, self.trace_id = span.span_id, span.parent_id, span.trace_id
            self.start_ns, self.end_ns, self.ended = span.start_ns, span.end_ns, not span.parent_id or span.remote
            self.name, self.kind, self.status, self.error_type = span.name, span.kind, span.status, span.error_type
            self.agent = span.agent if span.kind != "tool.execute" else ""
        self._identify(span)
        self.llm_calls += span.llm_calls
        self.tool_calls += span.tool_calls
        if span.used is not None:
            self._use(span.model, span.used)

    def add_event(self, event: RunEvent) -> None:
        """Add the log event that says how it ended; the same one again changes nothing."""
        if not (self.root_id and self.root_id == event.span_id):
            begun = max(0, event.time_ns - event.duration_ns)
            self.start_ns, self.end_ns = min(self.start_ns or begun, begun), event.time_ns
            self.root_id, self.root_parent_id = event.span_id, b""
        self.told = self.ended = True
        self.trace_id = event.trace_id or self.trace_id
        self.name, self.kind, self.status, self.error_type = event.name, event.kind, event.status, event.error_type
        self.agent = event.agent
        self._identify(event)
        self.llm_calls, self.tool_calls = event.llm_calls, event.tool_calls
        self.by_model = {}
        for model, used in event.by_model.items():
            self._use(model, used)

    def add_decision(self, decision: DecisionFacts) -> None:
        """Add a decision that was not known."""
        self.decisions += 1
        self.start_ns = self.start_ns or decision.time_ns
        self.end_ns = self.end_ns or decision.time_ns
        self.trace_id = self.trace_id or decision.trace_id
        self.tenant_id = self.tenant_id or decision.tenant_id
        self.user_id = self.user_id or decision.user_id

    def _is_outside(self, span: SpanFacts) -> bool:
        """Whether a span is rather its outermost one than the one that is known."""
        if not self.root_id or span.span_id == self.root_parent_id:
            return True
        if span.parent_id == self.root_id:
            return False
        return (span.start_ns, -span.end_ns, span.span_id) < (self.start_ns, -self.end_ns, self.root_id)

    def _use(self, model: str, used: Used) -> None:
        known = self.by_model.get(model)
        if known is None and len(self.by_model) >= MOST_MODELS:
            model, known = OTHER, self.by_model.get(OTHER)
        self.by_model[model] = used if known is None else known.plus(used)

    def _identify(self, told: SpanFacts | RunEvent) -> None:
        self.tenant_id = self.tenant_id or told.tenant_id
        self.user_id = self.user_id or told.user_id
        self.session_id = self.session_id or told.session_id
        self.service = self.service or told.service

    def _sum(self) -> None:
        total, *others = self.by_model.values() or (NOTHING,)
        for one in others:
            total = total.plus(one)
        total = total.saturated()
        self.input_tokens, self.output_tokens = total.input_tokens, total.output_tokens
        self.cost_nano, self.unpriced_tokens = total.cost_nano, total.unpriced_tokens

    # ----------------------------------------------------------------- what it counts for

    def usage(self) -> dict[UsageKey, Used]:
        """Its share of the usage of its day, tenant, user and agent, by model."""
        day = self.start_ns // DAY_NS
        return {(day, self.tenant_id, self.user_id, self.agent, model): one for model, one in self.by_model.items()}

    def changes(self) -> dict[UsageKey, Used]:
        """What its share has changed by since its row was read."""
        now, before = self.usage(), self._before
        if not before:
            return now
        changed = {key: one.minus(before.get(key, NOTHING)) for key, one in now.items()}
        changed.update((key, NOTHING.minus(one)) for key, one in before.items() if key not in now)
        return {key: one for key, one in changed.items() if one != NOTHING}
