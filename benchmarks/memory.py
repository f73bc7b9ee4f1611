"""Whether memory grows with the number of calls: resident size and tracked objects, against an uninstrumented control.

Before each measurement everything is exported, garbage is collected and free memory returned, so that what remains is
in use.
"""

import ctypes
import gc
from collections.abc import Callable
from typing import Any

from benchmarks.process import Process
from benchmarks.variants import CONTROL, OPERATIONS, Variant
from benchmarks.workloads import Case

HELD = Variant(
    name="held", about="6 hooks, all providers", hooks=3, mixed=True, kinds=OPERATIONS, metrics=True, logs=True
)
_LOOKS = 5
_WARM_UP = 10
_PAGE = 4096

Look = tuple[int, int, int]
"""Calls so far, bytes resident, objects tracked by the garbage collector."""


def observe(operation: Callable[[], Any], count: int, flush: Callable[[], None]) -> list[Look]:
    """Measure memory after a warm-up and at regular intervals over ``count`` calls. Runs in the child."""
    trim: Callable[[int], int] = getattr(ctypes.CDLL(None), "malloc_trim", lambda _keep: 0)

    def look(calls: int) -> Look:
        flush()
        gc.collect()
        trim(0)
        with open("/proc/self/statm", encoding="ascii") as told:
            pages = int(told.read().split()[1])
        return calls, pages * _PAGE, len(gc.get_objects())

    for _ in range(max(1, count // _WARM_UP)):
        operation()
    looks = [look(0)]
    for number in range(1, _LOOKS):
        for _ in range(max(1, count // (_LOOKS - 1))):
            operation()
        looks.append(look(number * count // (_LOOKS - 1)))
    return looks


def measure(case: Case, count: int, core: int) -> dict[str, Any]:
    """The slopes of one case, spanhook's and the control's, in bytes and objects per call."""
    result: dict[str, Any] = {"about": case.about, "calls": count}
    for name, variant in (("control", CONTROL), ("spanhook", HELD)):
        with Process(case.name, variant, core) as process:
            looks = [tuple(look) for look in process.ask("slope", count)]
        result[name] = {
            "bytes_per_call": _slope([(calls, size) for calls, size, _ in looks]),
            "objects_per_call": _slope([(calls, objects) for calls, _, objects in looks]),
            "looks": looks,
        }
    return result


def _slope(points: list[tuple[int, int]]) -> float:
    """The slope of the best-fitting straight line."""
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
