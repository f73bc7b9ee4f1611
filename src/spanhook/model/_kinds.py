"""Which kinds of operation there are, and what may be done to them: those of the conventions and of spanhook, and those
that an application has registered for its own code.
"""

import re
from collections.abc import Iterator

from spanhook import semconv
from spanhook.errors import ConfigurationError

MOST = 50
"""So many kinds of its own an application may have: each is a value of attributes of metrics."""

REWRITABLE: set[str] = {"agent.invoke", "llm.call", "tool.execute", "workflow.step", "memory.store", "request"}
"""Kinds whose request a hook may rewrite before the call."""
REPLACEABLE: set[str] = {"llm.call", "tool.execute", "request"}
"""Kinds whose result a hook may replace after the call."""

_FORM = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_own: list[str] = []
made: set[str] = set()
"""Kinds that the application's own code makes, as far as it has run."""


def kinds() -> tuple[str, ...]:
    """Every kind there is."""
    return (*semconv.KINDS, *_own)


def events() -> Iterator[str]:
    """Every kind with each of its phases."""
    return (f"{kind}.{phase}" for kind in kinds() for phase in semconv.PHASES)


def add_kind(kind: str) -> None:
    """Have one more kind; nothing if it is there already.

    Raises:
        ConfigurationError: It cannot be one, or there are too many.
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
            f"kind {kind!r} is the {MOST + 1}th; at most {MOST} are allowed; give operations of one kind names"
        )
    made.add(kind)
    REWRITABLE.add(kind)
    REPLACEABLE.add(kind)
    _own.append(kind)
