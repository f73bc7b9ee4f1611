"""Subjects of the matrix: something gated, every way of calling it, and how often its body ran.

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
        seen: Its input at each run.
        tokens: The total usage that it reported.
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
"""Ways whose result comes in pieces, by their names in LangChain and LangGraph."""
_BATCHES = frozenset(("batch", "abatch", "batch as completed", "abatch as completed"))


@dataclass(frozen=True)
class Subject:
    """Something that is gated.

    Attributes:
        name: Its name in tests and in the command.
        kind: The kind of operation it creates.
        make: Creates one that counts into the given body.
        ways: Every way of calling it, by name.
        bind: Ways to take a reference first and call it later, by name.
        said: Its body's output, if hooks may replace it.
        whole_batches: Whether a batch is a single call.
        raises: Whether a refusal is raised; otherwise the model is told, and its agent continues.
        lacking: Ways missing from the installed version.
        listeners: Context managers that record a call's callback ``results``, and among these the ``ends``, by way of
            calling.
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
        """How many operations of its kind ``way`` creates."""
        return 2 if way in _BATCHES and not self.takes_whole(way) else 1


@dataclass(frozen=True)
class Ungated:
    """A way of calling that is documented as not gated.

    Attributes:
        name: Its name.
        make: Creates what is called, counting into the given body.
        use: Calls it; ``None`` if the loopback server cannot support it.
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
