"""What can be subscribed to: events by dotted or short name, kinds, and ``"*"`` at a level."""

from collections.abc import Sequence
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

    @property
    def by_status(self) -> bool:
        """Whether it depends on how an operation ended; only ``includes`` says that."""
        return self.alias is not None and self.alias.cancelled is not None

    def phases_of(self, kind: str) -> tuple[Phase, ...]:
        """The phases of operations of this kind that may be received."""
        return self.phases if "*" in self.kinds or kind in self.kinds else ()

    def includes(self, kind: str, phase: Phase, status: Status | Literal[""]) -> bool:
        """Whether an event is received."""
        return phase in self.phases_of(kind) and (self.alias is None or self.alias.includes(phase, status))


@dataclass(frozen=True, slots=True)
class Topics:
    """Several topics as one: an event of any of them is received once.

    Attributes:
        parts: The topics.
    """

    parts: tuple[Topic, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind for one in self.parts for kind in one.kinds))

    @property
    def phases(self) -> tuple[Phase, ...]:
        return tuple(phase for phase in semconv.PHASES if any(phase in one.phases for one in self.parts))

    @property
    def wide(self) -> bool:
        return any(one.wide for one in self.parts)

    @property
    def by_status(self) -> bool:
        return any(one.by_status for one in self.parts)

    def phases_of(self, kind: str) -> tuple[Phase, ...]:
        """The phases of operations of this kind that may be received."""
        return tuple(phase for phase in semconv.PHASES if any(phase in one.phases_of(kind) for one in self.parts))

    def includes(self, kind: str, phase: Phase, status: Status | Literal[""]) -> bool:
        """Whether an event is received."""
        return any(one.includes(kind, phase, status) for one in self.parts)


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


def parse_events(given: Sequence[str], level: Level) -> Topics:
    """The events of several names; see ``parse_event``.

    Raises:
        ConfigurationError: There is none, or one of them is unknown.
    """
    if not given:
        raise ConfigurationError("events=[]: there would be nothing to receive; leave it out, or name some")
    return Topics(tuple(parse_event(one, level) for one in given))


def parse_level(given: Any) -> Level:
    """Check a level.

    Raises:
        ConfigurationError: The level is unknown.
    """
    if given not in LEVELS:
        raise ConfigurationError(f"level={given!r}, expected {' or '.join(map(repr, LEVELS))}")
    return given
