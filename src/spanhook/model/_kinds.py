"""The kinds of operation, and what hooks may do to each: kinds of the conventions, kinds of spanhook, kinds of a single
library, and kinds that an application registers for its own code.
"""

import re
from collections.abc import Iterator
from typing import Final

from spanhook import semconv
from spanhook.errors import ConfigurationError

MOST = 50
"""How many kinds of its own an application may have: each becomes a value of metric attributes."""

REWRITABLE: set[str] = {
    "agent.invoke",
    "llm.call",
    "tool.execute",
    "workflow.step",
    "memory.store",
    "retrieval.query",
    "embeddings.create",
    "request",
}
"""Kinds whose request a hook may rewrite before the call."""
ASKING_FOR_RUNS: Final = frozenset(("request", "cron.execute"))
"""What may ask for runs, and is none: hooks of runs are for what is directly inside."""
REPLACEABLE: set[str] = {"llm.call", "tool.execute", "request"}
"""Kinds whose result a hook may replace after the call."""

_FORM = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_own: list[str] = []
_of_libraries: list[str] = []
made: set[str] = set()
"""Kinds that the application's own code has registered so far."""


def kinds() -> tuple[str, ...]:
    """Every kind there is."""
    return (*semconv.KINDS, *_of_libraries, *_own)


def events() -> Iterator[str]:
    """Every kind with each of its phases."""
    return (f"{kind}.{phase}" for kind in kinds() for phase in semconv.PHASES)


def add_library_kind(kind: str) -> None:
    """Add a kind that only operations of one library have; does nothing if it exists."""
    if kind not in _of_libraries:
        REWRITABLE.add(kind)
        REPLACEABLE.add(kind)
        _of_libraries.append(kind)


def add_kind(kind: str) -> None:
    """Add a kind; does nothing if it exists.

    Raises:
        ConfigurationError: The name is not valid, or there are too many kinds.
    """
    if not isinstance(kind, str) or not _FORM.fullmatch(kind):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"kind {kind!r}: expected lower case words with dots between, such as 'billing.charge'"
        )
    if kind.rpartition(".")[2] in semconv.PHASES:
        raise ConfigurationError(f"kind {kind!r} ends like an event; leave out {kind.rpartition('.')[2]!r}")
    if kind in kinds():
        return
    if len(_own) >= MOST:
        raise ConfigurationError(
            f"kind {kind!r} is the {MOST + 1}th; at most {MOST} are allowed; use one kind with different names"
        )
    made.add(kind)
    REWRITABLE.add(kind)
    REPLACEABLE.add(kind)
    _own.append(kind)
