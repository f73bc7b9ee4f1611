"""Makes it the time at which something was recorded, for spanhook and for hooks that ask what time it is.

Only wall clocks are set: event loops and timeouts measure with monotonic ones, which go on.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager

from spanhook.model import clock


class RecordedTime:
    """What time it is.

    Attributes:
        now_ns: In nanoseconds since the epoch.
    """

    def __init__(self) -> None:
        self.now_ns = 0

    def ns(self) -> int:
        return self.now_ns

    def seconds(self) -> float:
        return self.now_ns / 1e9


@contextmanager
def recorded_time() -> Generator[RecordedTime]:
    """Have the clocks say what the yielded object says."""
    told = RecordedTime()
    held = clock.now, clock.wall, time.time, time.time_ns
    clock.now = clock.wall = time.time_ns = told.ns
    time.time = told.seconds
    try:
        yield told
    finally:
        clock.now, clock.wall, time.time, time.time_ns = held
