"""The results of hooks in the order in which they ran: of one chain, and a log of many.

Results are kept only for operations with listeners in their plan, so that others do not pay for it. A chain is one
phase of one operation: the hooks that ran before its call, or the hooks that ran after it.
"""

import uuid
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from spanhook.errors import Reject
from spanhook.gating.binding import Bound
from spanhook.gating.hook import FailMode
from spanhook.model import HookMode, Record, clock, exact_text
from spanhook.semconv import Decision, Phase

SIZE, RETENTION_S = 1000, 24 * 3600.0
_ANSWERS = ("modify", "replace")
_KEY = "hook_chains"


@dataclass(frozen=True, slots=True)
class HookResult:
    """The result of one hook for one operation.

    Attributes:
        hook_name: The hook's name.
        success: False if it raised an exception or ran out of time. A refusal is a success.
        data: Further facts: ``status_code`` and ``Reject.facts`` of a refusal.
        error: Why it failed or refused; empty if neither.
        duration_ms: The hook's own time in milliseconds, without the code that it called next.
        decision: Its decision, such as ``allow`` or ``reject``.
        fail_mode: What its failure means: ``open`` or ``closed``.
    """

    hook_name: str
    success: bool
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""
    duration_ms: float = 0.0
    decision: str = "allow"
    fail_mode: FailMode = "open"


@dataclass(frozen=True, slots=True)
class HookChainResult:
    """The results of the hooks of one event for one operation.

    Attributes:
        event_type: The event, such as ``tool.execute.pre``.
        hook_results: One per hook that ran, in order.
        aborted: Whether the operation was refused there.
        abort_reason: Why.
        total_duration_ms: The hooks' own time in milliseconds.
    """

    event_type: str
    hook_results: tuple[HookResult, ...]
    aborted: bool = False
    abort_reason: str = ""
    total_duration_ms: float = 0.0

    @property
    def all_succeeded(self) -> bool:
        """Whether no hook failed."""
        return all(one.success for one in self.hook_results)

    @property
    def hook_count(self) -> int:
        """How many hooks ran."""
        return len(self.hook_results)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookExecutionLog(HookChainResult):
    """A ``HookChainResult`` as an entry of the execution log.

    Attributes:
        log_id: The id of the entry.
        request_id: ``request_id`` given to ``spanhook.context``, otherwise the id of the run.
        tenant_id: The operation's tenant.
        name: What the operation worked on: the tool, the agent, the model.
        mode: ``shadow`` if the hooks ran beside the call, otherwise ``enforce``.
        timestamp: When its first hook had finished.
    """

    log_id: str
    request_id: str
    tenant_id: str
    name: str
    mode: HookMode
    timestamp: datetime

    def as_dict(self) -> dict[str, Any]:
        """The entry as plain data, for JSON."""
        return {**asdict(self), "timestamp": self.timestamp.isoformat()}


class ChainRun:
    """The hooks of one phase of one operation, as they run."""

    __slots__ = (
        "_event",
        "_mode",
        "_name",
        "_request_id",
        "_results",
        "_tenant",
        "_time_ns",
        "aborted",
        "log_id",
        "reason",
    )

    def __init__(self, op: Record, phase: Phase) -> None:
        identity = op.identity
        self._event, self._name, self._tenant = f"{op.kind}.{phase}", op.name, identity.tenant_id
        self._request_id = exact_text(identity.attributes.get("request_id") or identity.run_id)
        self._mode: HookMode = "shadow" if op.shadow else "enforce"
        self._time_ns = clock.wall()
        self._results: list[tuple[Bound, HookResult]] = []
        self.aborted, self.reason = False, ""
        self.log_id = ""

    @property
    def time_ns(self) -> int:
        """When its first hook had finished, in nanoseconds since the epoch."""
        return self._time_ns

    @property
    def results(self) -> list[HookResult]:
        """One result per hook so far."""
        return [result for _, result in list(self._results)]

    def add(self, bound: Bound, result: HookResult) -> tuple[HookResult, HookResult | None]:
        """Keep the result of a hook.

        Returns:
            The hook's result, and the one that it replaces: a hook that rewrites or answers and then lets the call
            pass has one result.
        """
        if result.decision == "allow":
            for index in range(len(self._results) - 1, -1, -1):
                ran, before = self._results[index]
                if ran is bound and before.decision in _ANSWERS:
                    spent = before.duration_ms + result.duration_ms
                    merged = replace(before, success=True, error="", duration_ms=spent)
                    self._results[index] = bound, merged
                    return merged, before
        self._results.append((bound, result))
        return result, None

    def log(self) -> HookExecutionLog:
        """The chain so far as an entry of the log."""
        results = tuple(self.results)
        return HookExecutionLog(
            self._event,
            results,
            self.aborted,
            self.reason,
            sum(one.duration_ms for one in results),
            log_id=self.log_id,
            request_id=self._request_id,
            tenant_id=self._tenant,
            name=self._name,
            mode=self._mode,
            timestamp=datetime.fromtimestamp(self._time_ns / 1e9, UTC),
        )


ResultListener = Callable[[ChainRun, Bound, HookResult, HookResult | None], None]
"""Called on the operation's thread with the result of a hook, and with the earlier result that it replaces, if any."""


def tell(op: Record, bound: Bound, decision: Decision, spent_ns: int, phase: Phase) -> None:
    """Keep the result of a hook with its operation, and notify the listeners of the operation's plan."""
    chain = chain_of(op, phase)
    if chain is None:
        chains: dict[str, ChainRun] = op.__dict__.setdefault(_KEY, {})
        chain = chains[phase] = ChainRun(op, phase)
    result = _result(op, bound, decision, spent_ns)
    if (isinstance(op.error, Reject) and op.decided.refused) or decision == "too_late":
        chain.aborted = True
        chain.reason = chain.reason or result.error
    told = chain.add(bound, result)
    for listener in op.plan.listeners:
        listener(chain, bound, *told)


def chain_of(op: Record, phase: Phase) -> ChainRun | None:
    """The hooks of this phase so far; ``None`` if none has run, or there are no listeners."""
    chains: dict[str, ChainRun] | None = op.__dict__.get(_KEY)
    return None if chains is None else chains.get(phase)


def _result(op: Record, bound: Bound, decision: Decision, spent_ns: int) -> HookResult:
    spent = spent_ns / 1e6
    if decision == "allow":
        return HookResult(bound.name, True, duration_ms=spent, fail_mode=bound.fail_mode)
    last = op.decided.records[-1]
    said = "" if decision in _ANSWERS else str(last.reason)
    data = {"status_code": last.status_code, **last.facts} if last.status_code else {}
    success = decision not in ("error", "timeout")
    return HookResult(bound.name, success, data, said, spent, decision, bound.fail_mode)


class ExecutionLog:
    """The latest chains, limited in number and age."""

    def __init__(self, size: int = SIZE, retention_s: float = RETENTION_S) -> None:
        self._kept: deque[ChainRun] = deque(maxlen=size)
        self._retention_ns = int(retention_s * 1e9)

    def configure(self, size: int, retention_s: float) -> None:
        """Keep at most ``size`` chains, each for ``retention_s`` seconds; drop those beyond these limits."""
        self._kept = deque(self._kept, maxlen=size)
        self._retention_ns = int(retention_s * 1e9)

    def note(self, chain: ChainRun, *_told: object) -> None:
        """Keep a chain, once."""
        if not chain.log_id:
            chain.log_id = uuid.uuid4().hex
            self._forget()
            self._kept.append(chain)

    def entries(self) -> Iterator[HookExecutionLog]:
        """The entries, newest first. A running chain has an entry with its results so far."""
        self._forget()
        return (chain.log() for chain in reversed(list(self._kept)))

    def clear(self) -> None:
        """Remove all entries."""
        self._kept.clear()

    def _forget(self) -> None:
        oldest = clock.wall() - self._retention_ns
        kept = self._kept
        while kept and kept[0].time_ns < oldest:
            try:
                kept.popleft()
            except IndexError:  # another thread was quicker
                return


execution_log = ExecutionLog()
"""The log of this process. A forked child starts with a copy of its parent's."""
