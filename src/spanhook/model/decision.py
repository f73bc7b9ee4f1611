"""The record of what one hook did to one operation, or would have done in shadow mode."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from spanhook import semconv
from spanhook.model._clock import clock

HookMode = Literal["enforce", "shadow"]


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """What one hook did to one operation.

    Attributes:
        hook: The hook's name.
        event: Kind and phase, such as ``tool.execute.pre``.
        decision: ``reject``, ``modify``, ``replace``, ``pause``, ``error``, ``timeout``, ``skipped`` or ``too_late``.
        reason: The reason the hook gave, or what went wrong.
        duration_ns: The hook's own time in nanoseconds, without the call it wraps.
        fail_mode: ``open`` or ``closed``: what a failure of this hook means.
        status_code: The HTTP status of a rejection, else 0.
        mode: ``enforce``, or ``shadow``: what a hook in shadow would have done.
        time_ns: When, in nanoseconds since the epoch.
        facts: Further facts of a rejection, by attribute: ``Reject.facts``.
    """

    hook: str
    event: str
    decision: semconv.Decision
    reason: str = ""
    duration_ns: int = 0
    fail_mode: str = "open"
    status_code: int = 0
    mode: HookMode = "enforce"
    time_ns: int = field(default_factory=lambda: clock.wall())  # noqa: PLW0108 - which tests may exchange
    facts: Mapping[str, str | bool | int | float] = field(default_factory=dict[str, Any], hash=False)
