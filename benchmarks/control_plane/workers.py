"""What jobs cost that `spanhook worker` runs, and how soon a cancelled one stops, beside the server's own process."""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.control_plane.filling import cpu_of
from benchmarks.control_plane.jobs import AT_ONCE, follow, scripted
from spanhook.jobs import Agent, QueuedRunner, Runner, RunnerSettings, new_job
from spanhook.jobs.sql_jobs import SQLJobs
from spanhook.jobs.workers import JobQueue
from spanhook.store.control import Database

_ROOT = Path(__file__).resolve().parents[2]
_STARTS_S = 60


async def patient(given: Any) -> None:
    """Wait until it is cancelled, and write down when that was."""
    _note(f"{given}.begun")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        _note(f"{given}.stopped")
        raise


def _note(name: str) -> None:
    """Write down the time, by a clock that all processes of a machine share."""
    new = Path(f"{name}.new")
    new.write_text(str(time.monotonic()))
    new.rename(name)


def _noted(name: str) -> float:
    """When something was noted; 0 if it has not been yet."""
    file = Path(name)
    return float(file.read_text()) if file.exists() else 0.0


async def in_workers(database: str, queue: str, count: int, cancels: int, folder: Path) -> dict[str, Any]:
    """Run some jobs in a worker, each with one reader in this process, and cancel some that run.

    Args:
        database: The address of an empty database, which another process can open.
        queue: The address of the queue.
        count: How many jobs.
        cancels: How many more are cancelled, here and in the worker.
        folder: An empty folder.

    Returns:
        Milliseconds of CPU for each job, of server and worker together; jobs per minute of CPU, and as it was; and the
        milliseconds after which cancelled work stopped, in this process and in a worker.
    """
    opened = await Database.open(database)
    try:
        store = SQLJobs(opened)
        agents = {"scripted": Agent("scripted", scripted), "patient": Agent("patient", patient)}
        here = Runner(agents, store, store, RunnerSettings(concurrency=AT_ONCE))
        await here.start()
        stopped = {"cancel_ms": await _cancels(here, cancels, folder / "here")}
        await here.close()
        async with _served(opened, queue, agents) as runner, _worker(database, queue) as worker:
            await _followed(runner, AT_ONCE)  # warm
            wall, used = time.perf_counter(), _used(worker)
            await _followed(runner, count)
            wall, used = time.perf_counter() - wall, _used(worker) - used
            stopped["cancel_in_worker_ms"] = await _cancels(runner, cancels, folder / "worker")
    finally:
        await opened.close()
    return {
        "ms_of_cpu": 1000 * used / count,
        "per_minute_of_cpu": 60 * count / used,
        "per_minute": 60 * count / wall,
        **stopped,
    }


def _used(worker: int) -> float:
    return time.process_time() + sum(cpu_of(worker))


async def _followed(runner: Runner, count: int) -> None:
    turns = asyncio.Semaphore(2 * AT_ONCE)
    await asyncio.gather(*(follow(runner, turns) for _ in range(count)))


async def _cancels(runner: Runner, count: int, folder: Path) -> dict[str, float]:
    """How long after the request to cancel it the work of a job stopped, in milliseconds."""
    took: list[float] = []
    for number in range(count):
        path = f"{folder}-{number}"
        job = await runner.submit(new_job("patient", path))
        await _until(path, "begun")
        asked = time.monotonic()
        await runner.cancel(job.job_id)
        took.append(1000 * (await _until(path, "stopped") - asked))
    return {"median": statistics.median(took), "worst": max(took)}


async def _until(path: str, what: str) -> float:
    """When it was noted."""
    async with asyncio.timeout(_STARTS_S):
        while not (at := _noted(f"{path}.{what}")):  # noqa: ASYNC110 - another process's doing
            await asyncio.sleep(0.005)
    return at


@asynccontextmanager
async def _served(database: Database, queue: str, agents: Mapping[str, Agent]) -> AsyncGenerator[QueuedRunner]:
    """What a server does with jobs that it leaves to workers."""
    store, line = SQLJobs(database), JobQueue(queue)
    runner = QueuedRunner(agents, store, store, RunnerSettings(concurrency=AT_ONCE), line)
    await runner.start()
    try:
        yield runner
    finally:
        await runner.close()
        await line.close()


@asynccontextmanager
async def _worker(database: str, queue: str) -> AsyncGenerator[int]:
    """A worker, ready to work; its process."""
    agents = ("scripted=benchmarks.control_plane.jobs:scripted", "patient=benchmarks.control_plane.workers:patient")
    given = [part for one in agents for part in ("--agent", one)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "spanhook", "worker", "--queue", queue, "--database", database, *given),
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(_STARTS_S):
            said = await process.stdout.readline()
        assert said.startswith(b"spanhook works for "), said
        yield process.pid
    finally:
        process.terminate()
        await process.wait()
