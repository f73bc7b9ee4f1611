"""Many agent runs at once on one event loop: throughput with hooks, as a multiple of the uninstrumented one.

Rounds of both alternate, in processes that live on, so that both meet the same machine.
"""

from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.process import Process
from benchmarks.variants import CONTROL, MIXED
from benchmarks.workloads import Case

RUNS = 2_000
ROUNDS = 5


def measure(case: Case, runs: int, rounds: int, core: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Throughput of both, and the ratio by CPU time (on a busy machine, the one to trust) and by wall time.

    Args:
        case: An async case.
        runs: How many are started at once.
        rounds: How many rounds count; one before them does not.
        core: The core to pin processes to; below zero for none.
        tell: Called with progress messages.
    """
    taken: dict[str, list[dict[str, int]]] = {"control": [], "spanhook": []}
    with Process(case.name, CONTROL, core) as control, Process(case.name, MIXED, core) as ours:
        sides = [("control", control), ("spanhook", ours)]
        for number in range(rounds + 1):
            tell(f"concurrency: {runs} runs at once, round {number} of {rounds}")
            for name, process in sides if number % 2 else reversed(sides):
                taken[name].append(process.ask("crowd", runs))

    def ratio(clock: str) -> float:
        pairs = zip(taken["control"][1:], taken["spanhook"][1:], strict=True)
        return median(control[clock] / ours[clock] for control, ours in pairs)

    return {
        "about": case.about,
        "variant": MIXED.about,
        "runs": runs,
        "rounds": rounds,
        "per_cpu_second": {name: median(runs / one["cpu"] * 1e9 for one in told[1:]) for name, told in taken.items()},
        "ratio": ratio("cpu"),
        "wall_ratio": ratio("wall"),
    }
