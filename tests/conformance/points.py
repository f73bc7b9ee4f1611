"""Every point of the table of every library that is here, and the function that stands there."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spanhook.instrument import instrumentor_of
from spanhook.instrument._wrapping import static
from spanhook.instrument.bound import BoundFunction
from spanhook.model import Attempts, Block, Held, InnerStream, Lookup, Outlet, Point, Receiver, Signal
from tests.here import BOUND


@dataclass(frozen=True)
class Place:
    """Where a point stands: a class or module, and a name there."""

    entry: Point | Attempts | Lookup | Held | Signal | Outlet
    owner: Any
    name: str

    @property
    def found(self) -> Any:
        """What stands there now, as it stands there."""
        return static(self.owner, self.name) if isinstance(self.owner, type) else getattr(self.owner, self.name)


def module_of(entry: Any) -> Any:
    """The module of a point; ``None`` if only other versions have it."""
    try:
        return importlib.import_module(entry.module)
    except ImportError:
        if entry.optional or getattr(entry, "either", ""):
            return None
        raise


def _places() -> Iterator[Place]:
    for library in BOUND:
        for entry in instrumentor_of(library).table:
            if isinstance(entry, Block | BoundFunction | InnerStream | Receiver):
                continue  # bound while hooks want it, or in no library
            if isinstance(entry, Outlet) and not entry.around:
                continue  # bound in subclasses alone
            owner = module_of(entry)
            *path, name = entry.name.split(".")
            for part in path:
                owner = getattr(owner, part, None)
            if hasattr(owner, name):
                yield Place(entry, owner, name)


PLACES = tuple(_places())


def place_named(place: Place) -> str:
    """The name of a place in test ids."""
    return str(place.entry)
