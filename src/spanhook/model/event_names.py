"""Names of events: the short ones that stand for kind and phase, and what ``"*"`` stands for. It knows no handler."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from spanhook.semconv import Kind, Phase, Status

Level = Literal["summary", "trace"]
LEVELS: Final = ("summary", "trace")

SUMMARY_KINDS: Final[tuple[Kind, ...]] = ("agent.invoke", "job", "cron.execute")
"""Kinds of which ``"*"`` tells at the level ``summary``: a few events for each run."""


@dataclass(frozen=True, slots=True)
class Alias:
    """What a short name stands for.

    Attributes:
        kind: Of the operations.
        phases: What of them.
        cancelled: Only those that were cancelled, or only those that were not; ``None`` for both.
    """

    kind: Kind
    phases: tuple[Phase, ...]
    cancelled: bool | None = None

    @property
    def level(self) -> Level:
        """The lowest level at which ``"*"`` tells of them."""
        return "summary" if self.kind in SUMMARY_KINDS else "trace"

    def includes(self, phase: Phase, status: Status | Literal[""]) -> bool:
        """Whether an event of its kind is one of them."""
        return phase in self.phases and self.cancelled in (None, status == "cancelled")


ALIASES: Final[Mapping[str, Alias]] = {
    "agent:start": Alias("agent.invoke", ("pre",)),
    "agent:end": Alias("agent.invoke", ("post",)),
    "agent:error": Alias("agent.invoke", ("error",)),
    "job:start": Alias("job", ("pre",)),
    "job:end": Alias("job", ("post", "error"), cancelled=False),
    "job:cancelled": Alias("job", ("error",), cancelled=True),
    "cron:executed": Alias("cron.execute", ("post", "error")),
    "tool:execute": Alias("tool.execute", ("post", "error")),
    "delegate:start": Alias("agent.delegate", ("pre",)),
    "delegate:end": Alias("agent.delegate", ("post", "error")),
    "model:call": Alias("llm.call", ("post", "error")),
}
"""Short names. Where there is none for a failure, the end of an operation that failed goes by that of its end."""


def alias_of(kind: str, phase: Phase, status: Status | Literal[""]) -> str:
    """The short name of an event; empty where it has none."""
    for name, alias in ALIASES.items():
        if alias.kind == kind and alias.includes(phase, status):
            return name
    return ""
