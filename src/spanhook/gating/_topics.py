"""What can be subscribed to: events by dotted or short name, kinds, and ``"*"`` at a level."""

from dataclasses import dataclass
from typing import Any, Literal

from spanhook import semconv
from spanhook.errors import ConfigurationError
from spanhook.gating._checking import hint
from spanhook.model import ALIASES, LEVELS, SUMMARY_KINDS, Alias, Level, events, kinds
from spanhook.semconv import Phase, Status

_PHASES: dict[str, tuple[Phase, ...]] = {phase: (phase,) for phase in semconv.PHASES}
_PHASES_ALSO_CALLED = {"before": "pre", "after": "post", "on_error": "error"}


@dataclass(frozen=True, slots=True)
class Topic:
    """The events that a subscription receives.

    Attributes:
        kinds: The kinds of operation.
        phases: Their phases.
        wide: It is a subscription to ``"*"``: the kinds were not named, and some may never occur.
        alias: The short name that was subscribed to, if any.
    """

    kinds: tuple[str, ...]
    phases: tuple[Phase, ...]
    wide: bool = False
    alias: Alias | None = None

    def includes(self, phase: Phase, status: Status | Literal[""]) -> bool:
        """Whether the subscription receives an event of these kinds and phases that ended like this."""
        return self.alias is None or self.alias.includes(phase, status)


def parse_event(event: Any, level: Level) -> Topic:
    """The events of a dotted or short name, a kind, or ``"*"`` at a level.

    Raises:
        ConfigurationError: The event is unknown.
    """
    given = event
    if callable(event):
        raise ConfigurationError(f"{event!r}: write the event in parentheses, such as @hooks.on('agent.invoke.post')")
    if isinstance(event, str):
        alias = ALIASES.get(event)
        if alias is not None:
            return Topic((alias.kind,), alias.phases, alias=alias)
        start, _, last = event.rpartition(".")
        phases = _PHASES.get(last, semconv.PHASES)
        kind = start if last in _PHASES else event
        if kind == "*":
            return Topic(("*",) if level == "trace" else SUMMARY_KINDS, phases, wide=True)
        if kind in kinds():
            return Topic((kind,), phases)
        if last in _PHASES_ALSO_CALLED:
            event = f"{start}.{_PHASES_ALSO_CALLED[last]}"
    known = {*kinds(), *events(), *ALIASES}
    raise ConfigurationError(
        f"unknown event {given!r}{hint(event, known)}; expected '*', a kind, a kind with .pre, .post or .error, "
        f"or one of {', '.join(ALIASES)}"
    )


def parse_level(given: Any) -> Level:
    """Check a level.

    Raises:
        ConfigurationError: The level is unknown.
    """
    if given not in LEVELS:
        raise ConfigurationError(f"level={given!r}, expected {' or '.join(map(repr, LEVELS))}")
    return given
