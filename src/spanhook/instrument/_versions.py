"""Which version of a distribution is installed; read again only if something may have been installed since."""

import os
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata
from typing import Any

from packaging.requirements import Requirement

_BY_PATH = frozenset(("_frozen_importlib_external", "importlib_metadata"))
"""Modules of finders that look for distributions only in the folders of ``sys.path``."""

_SETTLED_NS = 2_000_000_000
"""A folder modified less than this before it was read may have been modified again unnoticed."""

_Folders = tuple[Any, ...]


class _Moment(threading.local):
    """What a thread that asks for many versions has seen of the folders, in a tuple; ``None`` if it asks for one."""

    seen: "tuple[_Folders | None] | None" = None


_moment = _Moment()

_read: tuple[_Folders, dict[str, str | None]] | None = None
"""Versions read while the folders were in this state; ``None`` means not installed."""

_owners: tuple[_Folders, Mapping[str, Sequence[str]]] | None = None
"""The same of the distributions of modules."""

requirement = lru_cache(maxsize=256)(Requirement)
"""A requirement as in a requirements file, parsed once."""


@lru_cache(maxsize=256)
def is_within(wanted: str, found: str) -> bool:
    """Whether a version is one that a requirement allows."""
    return requirement(wanted).specifier.contains(found, prereleases=True)


@contextmanager
def one_moment() -> Generator[None]:
    """Versions that the block asks for are those of now: the folders are looked at once, not for each of them.

    A block inside of another is of the same moment.
    """
    before = _moment.seen
    _moment.seen = before or (_folders(),)
    try:
        yield
    finally:
        _moment.seen = before


def owners() -> Mapping[str, Sequence[str]]:
    """The distributions of each module at the top level. To read them takes about a second.

    Raises:
        Exception: Their metadata cannot be read.
    """
    global _owners
    folders = _folders() if _moment.seen is None else _moment.seen[0]
    if folders is None:
        return metadata.packages_distributions()
    kept = _owners
    if kept is None or kept[0] != folders:
        kept = _owners = folders, metadata.packages_distributions()
    return kept[1]


def version(name: str) -> str:
    """The installed version of a distribution.

    Raises:
        PackageNotFoundError: It is not installed.
        Exception: Its metadata cannot be read.
    """
    global _read
    folders = _folders() if _moment.seen is None else _moment.seen[0]
    if folders is None:
        return metadata.version(name)
    kept = _read
    if kept is None or kept[0] != folders:
        kept = _read = folders, {}
    known = kept[1]
    if name not in known:
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            known[name] = None
    found = known[name]
    if found is None:
        raise metadata.PackageNotFoundError(name)
    return found


def _folders() -> _Folders | None:
    """A state of the folders that shows whether anything was installed or removed; ``None`` if that is unknown."""
    for finder in sys.meta_path:
        if hasattr(finder, "find_distributions") and _module(finder) not in _BY_PATH:
            return None
    found: list[Any] = []
    settled = time.time_ns() - _SETTLED_NS
    for place in sys.path:
        try:
            state = os.stat(place or ".")
        except (OSError, TypeError, ValueError):
            found.append(place)
            continue
        if state.st_mtime_ns > settled:
            return None
        found.append((place, state.st_dev, state.st_ino, state.st_mtime_ns))
    return tuple(found)


def _module(finder: Any) -> str:
    return (finder if isinstance(finder, type) else type(finder)).__module__
