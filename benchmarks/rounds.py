"""Measures all variants of one case side by side: many short rounds, in rotating order.

Other work on the machine costs cycles even on another core, because caches are shared. So the lower quartile of each
variant's rounds counts, which up to three disturbed rounds in four do not affect. The memory layout of a process also
matters, so everything is repeated with new processes.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import mean, stdev
from typing import Any

from benchmarks.process import Process
from benchmarks.variants import BASE, CONTROL, Variant
from benchmarks.workloads import Case

_STARTING = 4
"""How many children are started at once."""
_FLOOR_SPANS = 400
"""Spans to replay per round, at least one operation's."""

Estimate = dict[str, float]


def measure(
    case: Case,
    variants: Sequence[Variant],
    *,
    repeats: int,
    rounds: int,
    count: int,
    core: int,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """The overhead of each variant over the control, and the cost of bare SDK spans instead.

    Args:
        variants: Must include the control, and the base if any variant is not sampled.
        repeats: How often to start over with new processes.
        rounds: How many rounds in each process.
        count: Operations per round.
        core: The core to pin processes to; below zero for none.
        tell: Called with progress messages.
    """
    estimates: dict[str, list[Estimate]] = {variant.name: [] for variant in variants}
    for repeat in range(repeats):
        tell(f"{case.name}: {len(variants)} processes, {repeat + 1} of {repeats}")
        with ExitStack() as stack:
            measured = _Repeat(case, variants, core, stack)
            for name, estimate in measured.run(rounds, count).items():
                estimates[name].append(estimate)
    return {
        "about": case.about,
        "repeats": repeats,
        "rounds": rounds,
        "count": count,
        "control_us": mean(one["p50_us"] for one in estimates[CONTROL.name]),
        "variants": {
            variant.name: {"about": variant.about, "peer": variant.peer} | _combined(estimates[variant.name])
            for variant in variants
            if variant.instrumented
        },
    }


class _Repeat:
    """One process for each variant."""

    def __init__(self, case: Case, variants: Sequence[Variant], core: int, stack: ExitStack) -> None:
        self._processes: dict[str, Process] = {}
        self._spans: dict[str, list[Any]] = {}
        for variant in variants:
            self._processes[variant.name] = stack.enter_context(Process(case.name, variant, core))
            if len(self._processes) % _STARTING == 0 or variant is variants[-1]:
                for name in list(self._processes)[len(self._spans) :]:
                    self._spans[name] = self._processes[name].ask("record")
        self._replayed: set[str] = set()
        for variant in variants:
            spans = self._spans[variant.name if variant.sampling == "on" else BASE.name] if variant.instrumented else []
            if self._processes[variant.name].ask("expect", spans):
                self._replayed.add(variant.name)

    def run(self, rounds: int, count: int) -> dict[str, Estimate]:
        order = list(self._processes)
        replays = max(1, min(count, _FLOOR_SPANS // max(1, len(self._spans.get(BASE.name, ())))))
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in order}
        floors: dict[str, list[dict[str, float]]] = {name: [] for name in order}
        for name in order:
            self._processes[name].ask("time", count)
            self._processes[name].ask("replay", replays)
        for number in range(rounds):
            first = number % len(order)
            for name in order[first:] + order[:first]:
                taken[name].append(self._processes[name].ask("time", count))
                if name in self._replayed:
                    floors[name].append(self._processes[name].ask("replay", replays))
        control = _quiet(taken[CONTROL.name], "p50"), _quiet(taken[CONTROL.name], "mean")
        return {
            name: {
                "p50_us": _quiet(taken[name], "p50"),
                "overhead_us": _quiet(taken[name], "p50") - control[0],
                "everything_us": _quiet(taken[name], "mean") - control[1],
                "floor_us": _quiet(floors[name], "p50") if floors[name] else 0.0,
                "spans": len(self._spans[name]),
            }
            for name in order
        }


def _combined(estimates: Sequence[Estimate]) -> dict[str, float]:
    """The mean over the repeats, and its standard error."""
    overheads = [one["overhead_us"] for one in estimates]
    floor = mean(one["floor_us"] for one in estimates)
    return {
        "overhead_us": mean(overheads),
        "error_us": stdev(overheads) / len(overheads) ** 0.5 if len(overheads) > 1 else 0.0,
        "everything_us": mean(one["everything_us"] for one in estimates),
        "floor_us": floor,
        "ratio": mean(overheads) / floor if floor else 0.0,
        "spans": estimates[0]["spans"],
    }


def _quiet(times: Sequence[dict[str, float]], what: str) -> float:
    """The lower quartile, in microseconds."""
    return sorted(one[what] for one in times)[len(times) // 4] / 1e3
