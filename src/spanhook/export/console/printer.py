"""Prints every finished run as a tree on standard error, without any backend.

Nothing here depends on spans: it works with the SDK disabled, unconfigured, or sampling nothing.
"""

import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from spanhook.engine import listeners, registry
from spanhook.export.console.rendering import render
from spanhook.export.console.terminal import style_of
from spanhook.export.console.tree import Node, Trees
from spanhook.fork import after_fork
from spanhook.model import encodable_to


class Console:
    """Writes each tree to a stream in one piece, so that parallel runs never mix.

    Args:
        stream: The stream; by default, ``sys.stderr`` at the time of writing.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream
        self.renew()
        _all.add(self)

    def renew(self) -> None:
        """In a forked child, replace the lock: a thread that does not exist there may hold it."""
        self._writing = threading.RLock()

    def show(self, tree: Node) -> None:
        """Write a tree; a closed or missing stream must not affect the application."""
        stream = self.stream if self.stream is not None else sys.stderr
        if stream is None:  # pyright: ignore[reportUnnecessaryComparison] - a program without a console
            return
        text = encodable_to(render(tree, style_of(stream)) + "\n", stream)
        with suppress(OSError, ValueError), self._writing:
            stream.write(text)
            stream.flush()


_all: "weakref.WeakSet[Console]" = weakref.WeakSet()


def _renew() -> None:
    for console in list(_all):
        console.renew()


after_fork("console", _renew)


def install(stream: TextIO | None = None) -> Callable[[], None]:
    """Print every run that ends from now on.

    If hooks in shadow mode saw any of a run, its end waits for them for at most 0.2 seconds.

    Args:
        stream: The stream; standard error unless given.

    Returns:
        A function that stops the printing.
    """
    listener = Trees(Console(stream).show, registry.flush_shadows)
    listeners.append(listener)

    def uninstall() -> None:
        with suppress(ValueError):
            listeners.remove(listener)

    return uninstall
