"""Libraries stay bound from test to test, because wrapping and unwrapping takes a fifth of the suite's time.

Hooks, providers and settings go after each test. Until the next one instruments, wrapped functions make operations
that no hook sees and nobody reports. ``spanhook.uninstrument()`` in a test unbinds as ever. Tests of wrapping itself
have the mark ``binds``: when they begin, nothing is bound.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

from spanhook.instrument import Instrumentor
from spanhook.instrument.instrumentor import Bindings

_restore = Bindings.restore
_kept: set[Bindings] = set()


@contextmanager
def kept() -> Iterator[None]:
    """Within it, libraries that are uninstrumented stay bound."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bindings, "restore", _keep)
        yield


def _keep(bindings: Bindings) -> None:
    _kept.add(bindings)


def remove(stay: Iterable[Bindings] = ()) -> None:
    """Unbind what tests before have left bound, but for some."""
    for bindings in _kept.difference(stay):
        _restore(bindings)
    _kept.clear()


def only(installed: Callable[..., Iterator[Instrumentor]]) -> Callable[..., Iterator[Instrumentor]]:
    """Have ``spanhook.instrument(only=...)`` unbind what it leaves out."""

    def wanted(only: Iterable[str] | None = None) -> Iterator[Instrumentor]:
        found = list(installed(only))
        remove([one.bindings for one in found])
        return iter(found)

    return wanted
