"""What the checks of each library cost: from this, the command says beforehand how long they may take."""

from dataclasses import dataclass

IMPORT = 1.5
"""Seconds that a process takes to start and to import its library."""


@dataclass(frozen=True)
class Cost:
    """The checks of one library, as they were recorded.

    Attributes:
        ways: The number of ways of calling.
        subjects: The number of different things that are called.
        seconds: The processor time of all checks.
    """

    ways: int
    subjects: int
    seconds: float

    def quick(self) -> "Cost":
        """The cost of one way of calling for each subject."""
        return Cost(self.subjects, self.subjects, self.seconds * self.subjects / self.ways)


USUAL = Cost(40, 8, 16.0)
"""For libraries that have not been recorded."""

COSTS: dict[str, Cost] = {}


def cost_of(library: str, *, quick: bool) -> Cost:
    """The cost of a library's checks, all of them or those of ``--quick``."""
    cost = COSTS.get(library, USUAL)
    return cost.quick() if quick else cost
