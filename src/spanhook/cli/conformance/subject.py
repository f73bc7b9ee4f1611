"""What a way of calling is: a thing that is gated, every way of calling it, and how often its body ran.

Knows no library.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, cast

from spanhook.cli.conformance.loops import run
from spanhook.semconv import Kind


@dataclass
class Body:
    """Counts the runs of a body.

    Attributes:
        runs: How often it ran.
        seen: What it was given each time.
        tokens: What it said that it used, in all.
    """

    runs: int = 0
    seen: list[Any] = field(default_factory=list[Any])
    tokens: int = 0

    def run(self, given: Any, tokens: int = 0) -> None:
        self.runs += 1
        self.seen.append(given)
        self.tokens += tokens


Use = Callable[[Any], Any]
"""Calls a subject once; returns a value, or an awaitable for the async ways."""

STREAMED = frozenset(
    (
        *("stream", "astream", "stream values", "stream many", "stream messages", "transform", "atransform"),
        *("events", "v3", "av3"),
    )
)
"""Ways of which the result comes in pieces, by the names that LangChain's and LangGraph's have."""
_BATCHES = frozenset(("batch", "abatch", "batch as completed", "abatch as completed"))


@dataclass(frozen=True)
class Subject:
    """A thing that is gated.

    Attributes:
        name: What tests and the command call it.
        kind: The kind of operation it makes.
        make: A new one, counting into the body it is given.
        ways: Every way of calling it, by name.
        bind: Ways to take a reference first and call it later, by name.
        said: What its body says, if hooks may say something else instead.
        whole_batches: Whether a batch is one call with all that it is given.
        raises: Whether a refusal is raised; else it is told to the model, whose agent goes on.
        lacking: Ways that the installed version has not.
        listeners: What is told of a call beside what it returns, by the way of calling: blocks that give the
            ``results`` told in them, and among these the ``ends``.
    """

    name: str
    kind: Kind
    make: Callable[[Body], Any]
    ways: dict[str, Use]
    bind: dict[str, Callable[[Any], Callable[[], Any]]]
    said: str = ""
    whole_batches: bool = False
    raises: bool = True
    lacking: tuple[str, ...] = ()
    listeners: "Callable[[Subject, str], Iterable[AbstractContextManager[Any]]] | None" = None

    def takes_whole(self, way: str) -> bool:
        """Whether ``way`` gives several prompts to one call."""
        return way in ("generate", "agenerate") or (self.whole_batches and way in ("batch", "abatch"))

    def calls(self, way: str) -> int:
        """How many operations of its kind ``way`` is."""
        return 2 if way in _BATCHES and not self.takes_whole(way) else 1


@dataclass(frozen=True)
class Ungated:
    """A way of calling that is documented as not gated.

    Attributes:
        name: What it is.
        make: What is called, counting into the body it is given.
        use: Calls it; ``None`` where that takes what a loopback server does not give.
    """

    name: str
    make: Callable[[Body], Any] = lambda body: body
    use: Use | None = None


def settle(made: Any) -> Any:
    """The result of a call, async or not."""
    if isinstance(made, Awaitable):
        awaited = cast("Awaitable[Any]", made)

        async def wait() -> Any:
            return await awaited

        return run(wait())
    return made
