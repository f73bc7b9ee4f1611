"""Names of events: the short names for kinds and phases, and the kinds that ``"*"`` stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from spanhook.semconv import Kind, Phase, Status

Level = Literal["summary", "trace"]
LEVELS: Final = ("summary", "trace")

SUMMARY_KINDS: Final[tuple[Kind, ...]] = ("agent.invoke", "job", "cron.execute")
"""What ``"*"`` stands for at the level ``summary``: a few events per run."""


@dataclass(frozen=True, slots=True)
class Alias:
    """The events that a short name stands for.

    Attributes:
        kind: The kind of operation.
        phases: Its phases.
        cancelled: Only cancelled operations, or only those that were not cancelled; ``None`` for both.
    """

    kind: Kind
    phases: tuple[Phase, ...]
    cancelled: bool | None = None

    @property
    def level(self) -> Level:
        """The lowest level at which ``"*"`` includes them."""
        return "summary" if self.kind in SUMMARY_KINDS else "trace"

    def includes(self, phase: Phase, status: Status | Literal[""]) -> bool:
        """Whether an event of this kind is one of them."""
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
"""Every short name. If there is none for a failure, the name for the end covers failures too."""


def alias_of(kind: str, phase: Phase, status: Status | Literal[""]) -> str:
    """The short name of an event; empty if it has none."""
    for name, alias in ALIASES.items():
        if alias.kind == kind and alias.includes(phase, status):
            return name
    return ""
