"""Statistics of hooks: how often they ran, failed and refused, and how long they took."""

import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from spanhook.gating import HookResult

SAMPLES = 512
"""How many durations are kept per hook."""


@dataclass(frozen=True, slots=True)
class HookStatistics:
    """Statistics of one hook since it was registered.

    Attributes:
        executions: How often it ran.
        failures: How often it raised an exception or ran out of time.
        rejections: How often it refused.
        p50_ms, p95_ms: Percentiles of its own time over its last 512 executions, in milliseconds; 0 before the first.
    """

    executions: int = 0
    failures: int = 0
    rejections: int = 0
    p50_ms: float = 0.0
    p95_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class RegistryStatistics:
    """Statistics of a registry.

    Attributes:
        total_hooks: How many hooks are registered, enabled or not.
        total_definitions: How many of them have a definition.
        hooks_by_event_type: How many hooks each event has.
        active_event_types: Events with an enabled hook.
        executions, failures, rejections: Sums over all registered hooks.
        hooks: Statistics of each hook, by ``hook_id``.
    """

    total_hooks: int
    total_definitions: int
    hooks_by_event_type: Mapping[str, int]
    active_event_types: tuple[str, ...]
    executions: int = 0
    failures: int = 0
    rejections: int = 0
    hooks: Mapping[str, HookStatistics] = field(default_factory=dict[str, HookStatistics])


class Figures:
    """Collects the statistics of one hook, from many threads."""

    __slots__ = ("_durations", "_lock", "executions", "failures", "rejections")

    def __init__(self) -> None:
        self._durations: deque[float] = deque(maxlen=SAMPLES)
        self._lock = threading.Lock()
        self.executions = self.failures = self.rejections = 0

    def renew(self) -> None:
        """Replace the lock in a forked child."""
        self._lock = threading.Lock()

    def note(self, result: HookResult, before: HookResult | None = None) -> None:
        """Count one execution, or, if ``before`` was counted for it already, correct its duration."""
        if result.decision == "skipped":
            return
        with self._lock:
            if before is not None:
                with suppress(ValueError):  # newer ones have replaced it
                    self._durations.remove(before.duration_ms)
                self._durations.append(result.duration_ms)
                return
            self.executions += 1
            self.failures += not result.success
            self.rejections += result.decision in ("reject", "attempted", "too_late")
            self._durations.append(result.duration_ms)

    def statistics(self) -> HookStatistics:
        """The current statistics."""
        with self._lock:
            durations = sorted(self._durations)
            return HookStatistics(
                self.executions,
                self.failures,
                self.rejections,
                _percentile(durations, 0.50),
                _percentile(durations, 0.95),
            )


def _percentile(ordered: list[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that at least ``share`` of all values do not exceed."""
    if not ordered:
        return 0.0
    rank = -(-len(ordered) * share // 1)
    return ordered[max(0, int(rank) - 1)]
