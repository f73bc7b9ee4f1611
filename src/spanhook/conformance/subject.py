"""What a way of calling is: a thing that is gated, every way of calling it, and how often its body ran.

Knows no library.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from spanhook.conformance.loops import run
from spanhook.semconv import Kind


@dataclass
class Body:
    """Counts the runs of a body."""

    runs: int = 0
    seen: list[Any] = field(default_factory=list[Any])

    def run(self, given: Any) -> None:
        self.runs += 1
        self.seen.append(given)


Use = Callable[[Any], Any]
"""Calls a subject once; returns a value, or an awaitable for the async ways."""


@dataclass(frozen=True)
class Subject:
    """A thing that is gated.

    Attributes:
        name: What tests call it.
        kind: The kind of operation it makes.
        make: A new one, counting into the body it is given.
        ways: Every way of calling it, by name.
        bind: Ways to take a reference first and call it later, by name.
    """

    name: str
    kind: Kind
    make: Callable[[Body], Any]
    ways: dict[str, Use]
    bind: dict[str, Callable[[Any], Callable[[], Any]]]


def settle(made: Any) -> Any:
    """The result of a call, async or not."""
    if isinstance(made, Awaitable):

        async def wait() -> Any:
            return await made

        return run(wait())
    return made
