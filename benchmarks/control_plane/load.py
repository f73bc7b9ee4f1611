"""Memory and size under load, with retention by size."""

import asyncio
import itertools
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.control_plane.telemetry import BATCH, requests
from benchmarks.terminal import tell
from spanhook.store.control import Database, FullError, Ingestor, Retention, RetentionLimits, RunFilter, runs_page

_SENDERS = 8
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Look:
    """What there was at one moment, in seconds since the start and in MB."""

    s: float
    spans: int
    rss_mb: float
    file_mb: float
    wal_mb: float


async def load(database: Database, *, seconds: float, rate: int, size_mb: int, every_s: float) -> dict[str, Any]:
    """Send spans at a rate for some time, and look at memory and at the files again and again.

    Args:
        database: An SQLite file.
        seconds: How long.
        rate: Spans per second.
        size_mb: The size that retention keeps.
        every_s: Seconds between two looks.
    """
    ingestor = Ingestor(database)
    retention = Retention(database, RetentionLimits(size_bytes=size_mb * 1_000_000))
    retention.start()
    looks: list[Look] = []
    start, cpu = time.monotonic(), time.process_time()
    due = _due(start, rate, seconds)
    refused = 0

    async def send() -> None:
        nonlocal refused
        for body, at in due:
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            while True:
                try:
                    await ingestor.take("traces", body, content_type="application/x-protobuf", content_encoding="gzip")
                    break
                except FullError as error:
                    refused += 1
                    await asyncio.sleep(error.retry_after_s)

    async def look() -> None:
        for number in itertools.count():
            await asyncio.sleep(max(0.0, start + number * every_s - time.monotonic()))
            await runs_page(database, None, RunFilter(status="error"))
            looks.append(_look(database, start, ingestor))
            last = looks[-1]
            tell(
                f"{last.s:.0f} s: {last.spans} spans, {last.rss_mb:.0f} MB of memory, "
                f"{last.file_mb:.0f} MB file, {last.wal_mb:.0f} MB WAL"
            )

    looking = asyncio.create_task(look())
    await asyncio.gather(*(send() for _ in range(_SENDERS)))
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    looks.append(_look(database, start, ingestor))
    cpu_s = time.process_time() - cpu
    await ingestor.close()
    await retention.close()
    figures = retention.figures
    return {
        "looks": [asdict(one) for one in looks],
        "limit_mb": size_mb,
        "refused": refused,
        "failed": ingestor.figures.failed,
        "deleted": figures.deleted,
        "sweeps": figures.sweeps,
        "failures": figures.failures,
        "cpu_s": cpu_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _due(start: float, rate: int, seconds: float) -> Iterator[tuple[bytes, float]]:
    """Requests, and when each is to be sent."""
    for number, body in enumerate(requests()):
        at = start + number * BATCH / rate
        if max(at, time.monotonic()) > start + seconds:
            return
        yield body, at


def _look(database: Database, start: float, ingestor: Ingestor) -> Look:
    with open("/proc/self/statm") as told:
        resident = int(told.read().split()[1]) * _PAGE
    return Look(
        time.monotonic() - start,
        ingestor.figures.spans,
        resident / 1e6,
        os.path.getsize(database.path) / 1e6,
        os.path.getsize(f"{database.path}-wal") / 1e6,
    )
