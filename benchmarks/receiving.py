"""What a collector costs: CPU of its process for received telemetry, memory for held traces."""

import os
import random
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.e2e.programs import until
from tests.e2e.stack import Pipe, pipe

from benchmarks import payloads
from benchmarks.sending import Cost, Sender
from benchmarks.terminal import tell

TICKS = os.sysconf("SC_CLK_TCK")
SETTINGS = {"SPANHOOK_SAMPLING_PERCENT": "10", "SPANHOOK_COLLECTOR_OWN_MS": "60000"}
RESTS = 0.06
"""CPU seconds in two seconds, below which a collector without input counts as idle."""


def costs(seconds: float) -> Iterator[tuple[Cost, int]]:
    """The cost of items, and their size in OTLP bytes.

    Args:
        seconds: How long each type is sent.
    """
    rng, sender = random.Random(1), Sender()
    sorts: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
        ("span", "/v1/traces", lambda: payloads.traces(rng)),
        ("log event", "/v1/logs", lambda: payloads.logs(rng)),
    )
    with tempfile.TemporaryDirectory() as folder, pipe(Path(folder), SETTINGS) as one:
        for item, path, make in sorts:
            tell(f"collector: {item}")
            nanoseconds, control = _spent(one, path, make, seconds, sender.bare)
            yield Cost("collector", item, nanoseconds, nanoseconds / control), round(len(make()) / payloads.BATCH)


def held(traces: int) -> int:
    """The bytes of a collector's memory that a trace takes while it waits for its decision.

    Args:
        traces: How many traces it must hold.
    """
    rng, waiting = random.Random(1), {**SETTINGS, "SPANHOOK_SAMPLING_WAIT": "1h"}
    tell("collector: traces held")
    with tempfile.TemporaryDirectory() as folder, pipe(Path(folder), waiting) as one:
        url, pid = f"{one.endpoint}/v1/traces", one.collector.pid
        _post(url, payloads.traces(rng, rooted=False))
        _settled(pid)
        before = _resident(pid)
        batches = -(-traces * payloads.SPANS_PER_RUN // payloads.BATCH)
        for _ in range(batches):
            _post(url, payloads.traces(rng, rooted=False))
        _settled(pid)
        return round((_resident(pid) - before) / (batches * payloads.BATCH // payloads.SPANS_PER_RUN))


def _spent(
    one: Pipe, path: str, make: Callable[[], bytes], seconds: float, control: Callable[[], None]
) -> tuple[float, float]:
    """CPU nanoseconds of the collector per item, and of the control in the same time."""
    pid, url = one.collector.pid, one.endpoint + path
    _post(url, make())
    control()
    before, sent, controlled, deadline = _settled(pid), 0, 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        _post(url, make())
        start = time.process_time_ns()
        control()
        controlled += time.process_time_ns() - start
        sent += payloads.BATCH
    return (_settled(pid) - before) / sent * 1e9, controlled / sent


def _post(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/x-protobuf"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:
        answer.read()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _settled(pid: int) -> float:
    """CPU seconds once the process is idle."""

    def rests() -> float | None:
        before = _cpu(pid)
        time.sleep(2.0)
        after = _cpu(pid)
        return after if after - before < RESTS else None

    return until(rests, "rest", 120)
