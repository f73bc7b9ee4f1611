"""The clocks and the run ids, in one place so that ``spanhook.testing`` can replace them."""

from collections.abc import Callable
from random import getrandbits
from time import perf_counter_ns, time_ns


def random_id() -> str:
    """32 random hex digits."""
    return getrandbits(128).to_bytes(16, "big").hex()  # a third of what formatting takes


class Clock:
    """What time it is.

    Attributes:
        now: Nanoseconds of a monotonic clock, for durations.
        wall: Nanoseconds since the epoch.
        run_id: A new id for an outermost operation.
    """

    def __init__(self) -> None:
        self.now: Callable[[], int] = perf_counter_ns
        self.wall: Callable[[], int] = time_ns
        self.run_id: Callable[[], str] = random_id


clock = Clock()
