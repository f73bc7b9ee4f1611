"""Subjects of the matrix: something gated, every way of calling it, and how often its body ran.

Knows no library.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from pydantic import AfterValidator

from spanhook.cli.conformance.loops import run
from spanhook.semconv import Kind

PLANTED = "planted"
"""A word of content, which telemetry must not show."""


@dataclass
class Coercion:
    """What frameworks make of arguments of the type ``Query`` as they validate them.

    Attributes:
        on: Every such argument becomes ``PLANTED``, which nobody has sent; otherwise nothing changes.
        times: How often that has happened.
    """

    on: bool = False
    times: int = 0

    def __call__(self, text: str) -> str:
        if not self.on:
            return text
        self.times += 1
        return PLANTED


coercion = Coercion()
Query = Annotated[str, AfterValidator(coercion)]
"""The type of the arguments of tools whose framework validates them with pydantic."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong when a body runs.

    Attributes:
        name: What it is, in messages.
        status: The error status that a server answers with; 0 if its answer is no error.
        cut: The connection breaks after this many events of a stream, or in the middle of any other answer.
    """

    name: str
    status: int = 0
    cut: int | None = None


RAISED = Fault("an exception")
OVER_HTTP = (
    *(Fault(f"status {status}", status=status) for status in (400, 401, 429, 500)),
    Fault("a connection that breaks", cut=2),
)
"""The faults of a provider."""


class Broken(Exception):
    """What a body raises that is told to fail."""


@dataclass
class Body:
    """Counts the runs of a body.

    Attributes:
        runs: How often it ran.
        seen: Its input at each run.
        tokens: The total usage that it reported.
        fault: What goes wrong when it runs, if anything.
        hold: What it waits for before it answers, if anything; only bodies behind a server do.
        running: Whether a server reports the usage of a stream several times, as a running total.
        started: Set when it runs.
    """

    runs: int = 0
    seen: list[Any] = field(default_factory=list[Any])
    tokens: int = 0
    fault: Fault | None = None
    hold: threading.Event | None = None
    running: bool = False
    started: threading.Event = field(default_factory=threading.Event)

    def run(self, given: Any, tokens: int = 0) -> None:
        """Run it in this process.

        Raises:
            Broken: It is told to fail.
        """
        self.count(given, tokens)
        if self.fault is not None:
            raise Broken(f"{PLANTED} is broken")

    def count(self, given: Any, tokens: int = 0) -> None:
        """Note a run."""
        self.runs += 1
        self.seen.append(given)
        self.tokens += tokens
        self.started.set()


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
        make: Creates one that counts into the given body. It is called many times, and what it makes from 64 threads at
            once: neither may count its turns.
        ways: Every way of calling it, by name.
        bind: Ways to take a reference first and call it later, by name.
        said: Its body's output, if hooks may replace it.
        asked: A text in every request.
        whole_batches: Whether a batch is a single call.
        raises: Whether a refusal is raised; otherwise the model is told, and its agent continues.
        lacking: Ways missing from the installed version.
        blocks: Ways whose body is a block of code, which runs even if a hook answers.
        opened: Ways that return a stream before any of it is read, by name; each returns the stream, or an awaitable.
        faults: What can go wrong in its body.
        slow: Whether its body waits for ``Body.hold``.
        answer: What a hook answers with in place of a call, if such answers are passed on.
        answerable: Whether a hook can answer in place of the call; otherwise its answer is a refusal.
        rewrites: How a hook rewrites its arguments, or an agent's inputs, if not by putting another text in place of
            every text in them.
        listeners: Context managers that record a call's callback ``results``, and among these the ``ends``, by way of
            calling.
    """

    name: str
    kind: Kind
    make: Callable[[Body], Any]
    ways: dict[str, Use]
    bind: dict[str, Callable[[Any], Callable[[], Any]]]
    said: str = ""
    asked: str = ""
    whole_batches: bool = False
    raises: bool = True
    lacking: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    opened: dict[str, Use] = field(default_factory=dict[str, Use])
    faults: tuple[Fault, ...] = (RAISED,)
    slow: bool = False
    answer: Any = None
    answerable: bool = True
    rewrites: Callable[[Any], Any] | None = None
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
