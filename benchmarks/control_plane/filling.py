"""Fills a database as exporters and processes do, and says what that costs."""

import asyncio
import random
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import text

from benchmarks.control_plane.telemetry import BATCH, START_NS, requests
from benchmarks.terminal import tell
from spanhook.store.control import (
    Database,
    Execution,
    ExecutionEntry,
    Ingestor,
    Retention,
    RetentionLimits,
    record_executions,
)

SENDERS = 8
_STEP = 100
_HOOKS, _TENANTS = 20, 20


async def ingest(database: Database, spans: int) -> dict[str, float]:
    """Send spans, and return how many there were, per second of CPU and of the clock, and the peak of memory in MB.

    The CPU seconds are those of this process with all its threads, and of a PostgreSQL on this machine.
    """
    ingestor, bodies_left, cpu = Ingestor(database), requests(), await clock_of(database)
    taken = cpu_s = wall_s = 0.0
    while taken < spans:
        bodies = [next(bodies_left) for _ in range(min(_STEP, -(-(spans - int(taken)) // BATCH)))]
        began_cpu, began = cpu(), time.perf_counter()
        await _send(ingestor, bodies)
        cpu_s, wall_s = cpu_s + cpu() - began_cpu, wall_s + time.perf_counter() - began
        taken += len(bodies) * BATCH
        tell(f"{taken:.0f} spans, {taken / cpu_s:.0f} per CPU second")
    await ingestor.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"spans": taken, "per_cpu_s": taken / cpu_s, "per_s": taken / wall_s, "peak_mb": peak}


async def _send(ingestor: Ingestor, bodies: list[bytes]) -> None:
    waiting = asyncio.Semaphore(SENDERS)

    async def send(body: bytes) -> None:
        async with waiting:
            await ingestor.take("traces", body, content_type="application/x-protobuf", content_encoding="gzip")

    await asyncio.gather(*map(send, bodies))


async def fill_log(database: Database, rows: int) -> None:
    """Write entries of the execution log, one a second, and have retention sum up what is old."""
    draw = random.Random(1)
    for first in range(0, rows, 10_000):
        entries = [
            ExecutionEntry(
                log_id=str(number),
                tenant_id=f"tenant-{number % _TENANTS}",
                event_type="tool.execute.pre",
                time_ns=START_NS + number * 10**9,
                results=(Execution(f"hook-{number % _HOOKS}", duration_ns=int(draw.lognormvariate(13, 2))),),
            )
            for number in range(first, first + 10_000)
        ]
        await record_executions(database, entries)
    await Retention(database, RetentionLimits(age_s=0, sums_age_s=0)).sweep()
    tell(f"{rows} entries of the execution log")


async def clock_of(database: Database) -> Callable[[], float]:
    """What tells the seconds of CPU so far: of this process, and of a PostgreSQL on this machine."""
    if database.dialect == "sqlite":
        return time.process_time
    async with database.reading() as connection:
        folder = (await connection.execute(text("SHOW data_directory"))).scalar_one()
    file = Path(folder) / "postmaster.pid"
    if not file.is_file():  # it runs elsewhere
        return time.process_time
    server = int(file.read_text().split()[0])
    return lambda: time.process_time() + sum(cpu_of(server))


def cpu_of(server: int) -> Iterator[float]:
    """CPU seconds of a process, of its children, and of those that have ended; needs Linux."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, fields = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if number == server:
            yield sum(map(int, fields[11:15])) / 100
        elif int(fields[1]) == server:
            yield sum(map(int, fields[11:13])) / 100
