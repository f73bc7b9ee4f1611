"""Defaults from the settings for hooks, and how many hooks there may be."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from spanhook.errors import ConfigurationError
from spanhook.gating.binding import AFTER, AFTER_NEXT, ERROR, OPEN_FROM, WATCH, Bound
from spanhook.gating.places import where
from spanhook.model import kinds
from spanhook.settings import MAX_PER_EVENT


@dataclass(frozen=True, slots=True)
class Limits:
    """Defaults and limits of all active hooks.

    Attributes:
        timeout_ns: Nanoseconds for hooks that set no timeout; ``None`` for the defaults.
        fail_open: Whether hooks with priority 100 or above fail open if they set no fail mode.
        max_per_event: How many hooks one event and tenant may have.
    """

    timeout_ns: int | None = None
    fail_open: bool = True
    max_per_event: int = MAX_PER_EVENT

    def applied(self, bound: Bound) -> Bound:
        """The hook with defaults for what it does not set."""
        if not bound.timeout_set and self.timeout_ns is not None:
            bound = replace(bound, timeout_ns=self.timeout_ns)
        if not self.fail_open and not bound.fail_mode_set and bound.priority >= OPEN_FROM and bound.form != WATCH:
            bound = replace(bound, closed=True)
        return bound

    def check(self, bound: Iterable[Bound]) -> None:
        """Refuse more hooks for one event and tenant than there may be.

        Those that a tenant has added itself count apart: it cannot keep others from adding some for it.

        Raises:
            ConfigurationError: There would be more.
        """
        counts: Counter[tuple[str, str, str, bool]] = Counter()
        for one in bound:
            phase = {AFTER: "post", AFTER_NEXT: "post", ERROR: "error", WATCH: "watch"}.get(one.form, "pre")
            for kind in kinds() if "*" in one.kinds else one.kinds:
                key = kind, phase, one.tenant_id, one.hook._last
                counts[key] += 1
                if counts[key] > self.max_per_event:
                    whose = f"tenant {one.tenant_id!r}" if one.tenant_id else "system hooks"
                    raise ConfigurationError(
                        f"hook {one.name!r} is number {self.max_per_event + 1} on {kind}.{phase} for {whose}; "
                        f"at most {self.max_per_event} are allowed: merge some, narrow their kinds, "
                        "or raise Settings(max_per_event=...)",
                        place=where(one.hook, one.place),
                    )
