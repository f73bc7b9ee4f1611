"""Ways of calling, and what a check finds out about one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from spanhook.cli.conformance.subject import Subject, settle
from spanhook.concurrency import reaper
from spanhook.model import Operation
from spanhook.testing import Recorder

State = Literal["ok", "FAILED", "not gated", "n/a", "exact", "twice", "as sent"]
OK: State = "ok"
FAILED: State = "FAILED"
NOT_GATED: State = "not gated"
NOT_APPLICABLE: State = "n/a"

PATIENCE = 60.0
"""Seconds that a hook may take: generous, because a slow machine is not a failure."""
ANSWER = "withheld"


@dataclass(frozen=True)
class Cell:
    """The result of one check, and why it failed."""

    state: State
    why: str = ""


NONE = Cell(NOT_APPLICABLE)


@dataclass(frozen=True)
class Way:
    """One way of calling a subject.

    Attributes:
        name: Its name.
        subject: What is called.
        take: Takes a reference to it, which is called after hooks become active.
        calls: The number of operations it creates.
        lacking: Whether it is missing from the installed version.
        library: The library whose module has it; empty for one that is made elsewhere.
        memory: What several checks use, computed by the first of them.
    """

    name: str
    subject: Subject
    take: Callable[[Any], Callable[[], Any]] = field(repr=False)
    calls: int = 1
    lacking: bool = False
    library: str = ""
    memory: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False, compare=False)


def ways_of(subject: Subject, library: str = "") -> list[Way]:
    """Every way of calling ``subject``: directly, and by a reference taken before hooks were active."""
    found = [
        Way(name, subject, _on_the_spot(use), subject.calls(name), library=library)
        for name, use in subject.ways.items()
    ]
    found += [Way(name, subject, _on_the_spot(settle), lacking=True, library=library) for name in subject.lacking]
    return found + [Way(f"{name} (kept)", subject, take, library=library) for name, take in subject.bind.items()]


def _on_the_spot(use: Callable[[Any], Any]) -> Callable[[Any], Callable[[], Any]]:
    return lambda thing: lambda: use(thing)


class Wrong(Exception):
    """A broken promise; the message says which."""


def operations_of(way: Way, seen: Recorder) -> list[Operation]:
    return of_kind(way, seen.operations)


def ended(seen: Recorder, since: int) -> list[Operation]:
    """What was recorded since there were so many operations, once all that a call leaves behind has ended.

    To instrument takes longer than most calls, so a check makes several in a row where the same hooks are active.
    """
    reaper.drain(PATIENCE)
    return seen.operations[since:]


def of_kind(way: Way, operations: Iterable[Operation]) -> list[Operation]:
    """Those of the kind that a way of calling creates."""
    return [op for op in operations if op.kind == way.subject.kind]


def times(count: int) -> str:
    """How often something happened, if not once."""
    return "" if count == 1 else f" {count} times"


def brief(text: str) -> str:
    """A text on one line, cut if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"
