"""Choices that depend only on a seed, not on the machine or the order in which runs are made."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """An independent source of choices for one place in the script.

    Only ``Random.random()`` is used: it is the only method of ``random`` guaranteed to give the same numbers in every
    Python version.

    Attributes:
        place: What it depends on, as text.
    """

    def __init__(self, *place: object) -> None:
        self.place = "-".join(map(str, place))
        self._random = random.Random(self.place)  # noqa: S311 - no secret

    def below(self, limit: int) -> int:
        """A whole number from 0 up to but not including ``limit``."""
        return int(self._random.random() * limit)

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """One of the keys, chosen in proportion to its value."""
        left = self._random.random() * sum(weights.values())
        *others, last = weights
        for choice in others:
            left -= weights[choice]
            if left < 0:
                return choice
        return last

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        rest = list(choices)
        return [rest.pop(self.below(len(rest))) for _ in choices]
