"""What is bound, and in which module: so that a module that is imported again is told from the one that is bound."""

import sys
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from spanhook.instrument._packages import spec_of
from spanhook.instrument._wrapping import Wrapper


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry that is bound.

    Attributes:
        owner: The class or module in which it is bound.
        made: What has bound it.
    """

    owner: Any
    made: Any

    def holds(self, owner: Any, attribute: str) -> bool:
        """Whether the entry is bound in this owner still; a module that is reloaded is the same, its functions not."""
        if owner is not self.owner:
            return False
        there = cast("Mapping[str, Any]", vars(owner))
        return isinstance(owner, type) or issubclass(type(there.get(attribute)), Wrapper)


class Watched:
    """A module that was bound, whose later imports are watched.

    Attributes:
        entries: What is bound in it.
        again: Called with the module when it is imported again.
        seen: The module that was bound last.
    """

    __slots__ = ("again", "entries", "seen")

    def __init__(self, entries: list[Any], again: Callable[[ModuleType], None]) -> None:
        self.entries, self.again = entries, again
        self.seen: weakref.ref[ModuleType] | None = None

    def is_replaced(self, name: str) -> bool:
        """Whether another module has its name, which was not bound."""
        now = sys.modules.get(name)
        if now is None or self.seen is None or self.seen() is now:
            return False
        return not getattr(spec_of(now), "_initializing", False)  # it is being imported, and bound at the end of that
