"""Which process checks what: the ways of calling, divided so that all cores have work until the end."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from spanhook.cli.conformance.costs import IMPORT, cost_of
from spanhook.cli.conformance.matrix import Library

SHORTEST = 10.0
"""Seconds of work for which another process is worth its start."""


@dataclass(frozen=True)
class Portion:
    """A part of the ways of calling one library, checked by one process.

    Attributes:
        library: The library.
        number, of: Which part, from 0, of how many.
        quick: Whether only the ways of calling of ``--quick`` are checked.
        seconds: How long it may take.
    """

    library: Library
    number: int = 0
    of: int = 1
    quick: bool = False
    seconds: float = 0.0


@dataclass
class Schedule:
    """All portions.

    Attributes:
        portions: Every portion, in the order of the report.
        cores: The number of cores that they share.
        processes: How many of them are checked at a time.
        ways: The number of ways of calling to be checked, by library: as recorded until its process has reported it.
        known: The number of ways of calling that there are, by library, once reported.
        took: The processor time in seconds of the processes that have ended, by library.
    """

    portions: Sequence[Portion]
    cores: int
    processes: int
    ways: dict[str, int]
    known: dict[str, int] = field(default_factory=dict[str, int])
    took: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def work(self) -> float:
        """Seconds of work in all portions."""
        return sum(one.seconds for one in self.portions)

    @property
    def seconds(self) -> float:
        """How long everything may take if nothing else uses the cores."""
        longest = max(one.seconds for one in self.portions)
        return max(longest, self.work / self.cores)

    def longest_first(self) -> list[Portion]:
        """The order in which portions are started, so that no long one is left for the end."""
        return sorted(self.portions, key=lambda one: -one.seconds)


def schedule(libraries: Sequence[Library], *, quick: bool = False, cores: int = 0) -> Schedule:
    """Divide the ways of calling among one process more than there are cores, because some checks wait.

    Args:
        libraries: The libraries to check.
        quick: Whether only the ways of calling of ``--quick`` are checked.
        cores: The number of cores; by default as many as this process may use.
    """
    cores = cores or _cores()
    costs = {one.name: cost_of(one.name, quick=quick) for one in libraries}
    share = max(SHORTEST, sum(one.seconds for one in costs.values()) / (2 * cores))
    portions: list[Portion] = []
    for library in libraries:
        seconds = costs[library.name].seconds
        of = 1 if cores == 1 else max(1, math.ceil(seconds / share))
        each = (seconds + (of - 1) * IMPORT) / of
        portions += [Portion(library, number, of, quick, each) for number in range(of)]
    ways = {name: cost.ways for name, cost in costs.items()}
    return Schedule(portions, min(cores, len(portions)), min(cores + 1, len(portions)), ways)


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
