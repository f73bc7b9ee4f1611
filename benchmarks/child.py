"""One variant of one case in a separate process: JSON lines in, JSON lines out.

Commands: ``record`` (the spans of one operation), ``expect`` (spans to replay), ``time``, ``replay``, ``slope``,
``crowd`` (many at once), ``visits`` (the functions of one).
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from opentelemetry import context

from benchmarks import paths, peers
from benchmarks.memory import observe
from benchmarks.providers import Providers, surroundings
from benchmarks.replay import replay, tell
from benchmarks.setting import instrument
from benchmarks.variants import Variant
from benchmarks.workloads import CASES, ENDURANCE, Operation

Answer = Any


class Child:
    """Answers the commands of ``benchmarks.process``."""

    def __init__(self, name: str, variant: Variant) -> None:
        self.providers = Providers(variant)
        case = CASES.get(name) or ENDURANCE[name]
        if variant.peer:
            peers.instrument(variant.peer, self.providers.tracers)
        elif variant.instrumented:
            instrument(variant, self.providers, case.further_hooks())
        self.operation = case.operation()
        self.is_async = case.is_async
        self.bare: Operation | None = None
        self.loop = asyncio.new_event_loop()

    def record(self) -> Answer:
        """The spans of one operation, after a first one, which is not typical."""
        self.time(1)
        kept: list[Any] = []
        self.providers.exporter.kept = kept
        self.time(1)
        self.providers.exporter.kept = None
        return tell(kept)

    def expect(self, spans: list[Any]) -> Answer:
        tracer = self.providers.bare.get_tracer("bare")
        self.bare = replay(spans, tracer, context.get_current()) if spans else None
        return len(spans)

    def time(self, count: int) -> Answer:
        return self._timed(self.operation, count, is_async=self.is_async)

    def replay(self, count: int) -> Answer:
        return None if self.bare is None else self._timed(self.bare, count, is_async=False)

    def once(self) -> None:
        """One operation."""
        if self.is_async:
            self.loop.run_until_complete(self.operation())
        else:
            self.operation()

    def visits(self) -> list[paths.Visit]:
        """What one warm call visits."""
        for _ in range(paths.WARM):
            self.once()
        return paths.visits(self.once)

    def crowd(self, count: int) -> Answer:
        """Nanoseconds of CPU and of wall time for ``count`` operations at once, with exporting."""

        async def together() -> None:
            await asyncio.gather(*(self.operation() for _ in range(count)))

        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        self.loop.run_until_complete(together())
        self.providers.flush()
        return {"cpu": time.process_time_ns() - cpu, "wall": time.perf_counter_ns() - wall}

    def slope(self, count: int) -> Answer:
        return observe(self.operation, count, self.providers.flush)

    def _timed(self, operation: Operation, count: int, *, is_async: bool) -> Answer:
        """CPU nanoseconds per operation, of all threads: the median, and the mean with collecting and exporting."""
        now, taken = time.process_time_ns, [0] * count
        start = now()
        if is_async:

            async def run() -> None:
                for index in range(count):
                    before = now()
                    await operation()
                    taken[index] = now() - before

            self.loop.run_until_complete(run())
        else:
            for index in range(count):
                before = now()
                operation()
                taken[index] = now() - before
        self.providers.flush()
        everything = (now() - start) / count
        return {"p50": sorted(taken)[count // 2], "mean": everything}


def main(name: str, variant: Variant, core: int) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with the answers
    child = Child(name, variant)
    commands: dict[str, Callable[..., Answer]] = {
        command.__name__: command
        for command in (child.record, child.expect, child.time, child.replay, child.slope, child.crowd, child.visits)
    }
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    with surroundings(variant):
        print(json.dumps("ready"), file=answers, flush=True)
        for line in sys.stdin:
            command, *arguments = json.loads(line)
            print(json.dumps(commands[command](*arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Variant.from_json(json.loads(sys.argv[2])), int(sys.argv[3]))
