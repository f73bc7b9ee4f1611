"""Workers in processes of their own, the agents that they run, and what became of them."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanhook.jobs import Agent, Job, QueuedRunner, Retry, RunnerSettings, load_agent

AGENTS = '''
import asyncio, os, time
from pathlib import Path
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
import spanhook

if "TRACED" in os.environ:  # a worker
    trace.set_tracer_provider(TracerProvider())
LEDGER = Path(__file__).with_name("ledger")

def note(*words):
    with LEDGER.open("a") as file:
        file.write(" ".join(map(str, (*words, os.getpid()))) + "\\n")

@spanhook.tool
async def traced():
    return format(trace.get_current_span().get_span_context().trace_id, "032x")

async def working(given):
    """Take some time, and write down each start and each end."""
    note("start", given["name"])
    try:
        await asyncio.sleep(given["seconds"])
    except asyncio.CancelledError:
        note("cancelled", given["name"])
        raise
    note("end", given["name"])
    return given["name"]

async def stubborn(given):
    """Never end."""
    note("start", given["name"])
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def threaded(given):
    """Leave a thread behind."""
    note("start", given["name"])
    await asyncio.to_thread(time.sleep, 3600)

async def telling(given):
    yield "hello "
    yield await traced()
'''


@dataclass(frozen=True)
class Place:
    """Where everything is.

    Attributes:
        folder: A folder of the test's own.
        queue, database: The addresses of the two.
    """

    folder: Path
    queue: str
    database: str

    def settings(self) -> str:
        """A file with the settings that server and workers share: ``working`` may run again, ``once`` may not."""
        module, file = self.folder / "agents.py", self.folder / "server.yaml"
        module.write_text(AGENTS)
        agents = "".join(
            f"  {name}: {{target: '{module}:{target}', retry: {retry}}}\n" for name, target, retry in _SERVED
        )
        file.write_text(f"queue: {self.queue}\ndatabase: {self.database}\nagents:\n{agents}")
        return str(file)

    def agents(self) -> Mapping[str, Agent]:
        """The same agents for this process."""
        self.settings()
        file = self.folder / "agents.py"
        return {name: load_agent(name, f"{file}:{target}", retry) for name, target, retry in _SERVED}

    def ledger(self) -> list[tuple[str, str, int]]:
        """What was done: a word, the name of the work, and the process."""
        file = self.folder / "ledger"
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        words = (line.split() for line in lines)
        return [(word, name, int(process)) for word, name, process in words]


_SERVED: tuple[tuple[str, str, Retry], ...] = (
    ("working", "working", "safe"),
    ("once", "working", "never"),
    ("telling", "telling", "never"),
    ("stubborn", "stubborn", "never"),
    ("threaded", "threaded", "never"),
)


@asynccontextmanager
async def worker(place: Place, *options: str) -> AsyncGenerator[subprocess.Popen[str]]:
    """``worker_process``, while the event loop goes on: what ``serving`` has begun to write would keep it waiting."""
    with ExitStack() as stack:
        yield await asyncio.to_thread(stack.enter_context, worker_process(place, *options))


@contextmanager
def worker_process(place: Place, *options: str) -> Generator[subprocess.Popen[str]]:
    """A worker that takes jobs; it is killed at the end unless it has ended."""
    given = ["--config", place.settings(), "--lease", "8", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "spanhook", "worker", *given],
        cwd=place.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TRACED": "1"},
    ) as process:
        assert process.stdout is not None
        try:
            said = list[str]()
            while not (said and said[-1].startswith("spanhook works for ")):
                said.append(process.stdout.readline())
                assert said[-1], "".join(said)
            yield process
        finally:
            process.kill()


@asynccontextmanager
async def serving(place: Place) -> AsyncGenerator[QueuedRunner]:
    """What a server does with jobs, without its HTTP, and with short claims."""
    from spanhook.jobs.sql_jobs import SQLJobs
    from spanhook.jobs.workers import JobQueue
    from spanhook.store.control import Database

    database = await Database.open(place.database)
    jobs, queue = SQLJobs(database), JobQueue(place.queue)
    runner = QueuedRunner(place.agents(), jobs, jobs, RunnerSettings(lease_s=1, beat_s=0.1), queue)
    await runner.start()
    try:
        yield runner
    finally:
        await runner.close()
        await queue.close()
        await database.close()


async def until(check: Callable[[], Any], seconds: float = 60) -> None:
    """Wait until something is so that no other process tells of."""
    ends = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < ends, "it did not come to be so"
        await asyncio.sleep(0.02)


async def finished(runner: QueuedRunner, jobs: list[Job], seconds: float = 60) -> list[Job]:
    """The jobs once all have finished."""
    ends = time.monotonic() + seconds
    while True:
        found = [await runner.store.get(job.job_id, None) for job in jobs]
        done = [job for job in found if job is not None and job.finished]
        if len(done) == len(jobs):
            return done
        assert time.monotonic() < ends, [job and (job.status, job.attempts) for job in found]
        await asyncio.sleep(0.05)
