"""What is known of a schedule between its ticks, as it is kept in a store."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Running:
    """An execution under way.

    Attributes:
        execution_id: Its id.
        tick: The time that it is for.
        until: When its lease ends, unless it is extended.
        turn: How many processes have followed it after the one that began it.
    """

    execution_id: str
    tick: datetime
    until: datetime
    turn: int = 0


Reason = Literal["missed", "overlapping", "lost"]
"""Nothing was running when it came; an earlier run was under way; its process has died."""
Fate = Literal["completed", "failed", "cancelled", "missed", "overlapping", "lost"]
"""What became of a tick."""
MOST_RECENT = 20
"""How many of the latest ticks are kept with what became of them."""


@dataclass(frozen=True, slots=True)
class Past:
    """A tick that is over.

    Attributes:
        tick: The time that it was for.
        fate: What became of it.
        at: When that was known.
        execution_id: Its execution; empty if it was not run.
        job_id: The job that was made of it, if any.
        error: The name of the exception if it failed, or the reason if it was refused.
    """

    tick: datetime
    fate: Fate
    at: datetime
    execution_id: str = ""
    job_id: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class CronState:
    """What is known of a schedule.

    Attributes:
        rule: The expression and the time zone that it is known for, and whether it was enabled.
        last: The last tick that was dealt with. Ticks are dealt with once: it never moves back.
        running: Executions under way.
        waiting: Ticks that will be run once those have ended.
        recent: The latest ticks that are over, the last one last.
    """

    rule: str
    last: datetime
    running: tuple[Running, ...] = field(default=())
    waiting: tuple[datetime, ...] = field(default=())
    recent: tuple[Past, ...] = field(default=())

    def as_text(self) -> str:
        """It as JSON."""
        return json.dumps(
            {
                "rule": self.rule,
                "last": self.last.timestamp(),
                "running": [
                    [one.execution_id, one.tick.timestamp(), one.until.timestamp(), one.turn] for one in self.running
                ],
                "waiting": [tick.timestamp() for tick in self.waiting],
                "recent": [
                    [one.tick.timestamp(), one.fate, one.at.timestamp(), one.execution_id, one.job_id, one.error]
                    for one in self.recent
                ],
            }
        )

    @classmethod
    def from_text(cls, text: str) -> "CronState":
        """It from JSON.

        Raises:
            ValueError: It is no such text.
        """
        try:
            known: dict[str, Any] = json.loads(text)
            running = tuple(
                Running(str(one), _time(tick), _time(until), *map(int, turn))
                for one, tick, until, *turn in known["running"]
            )
            recent = tuple(Past(_time(tick), fate, _time(at), *said) for tick, fate, at, *said in known["recent"])
            return cls(str(known["rule"]), _time(known["last"]), running, tuple(map(_time, known["waiting"])), recent)
        except (KeyError, TypeError, OverflowError, OSError) as error:
            raise ValueError(f"{text[:80]!r} is not the state of a schedule") from error


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
