"""Measures the control plane: ``python -m benchmarks.control_plane``.

It fills a database in a temporary folder, or that of ``--database``, which must be empty. With ``--postgresql`` it does
the same to a PostgreSQL of its own. Times are those of the CPU, of this process with all its threads and of the
PostgreSQL, so that other work on the machine does not change them much. With ``--minutes`` it sends spans all that time
instead, with retention by size. With ``--queue`` it measures jobs that a worker runs instead (extra ``worker``).
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.control_plane.answering import answers, served
from benchmarks.control_plane.filling import clock_of, fill_log, ingest
from benchmarks.control_plane.jobs import jobs
from benchmarks.control_plane.load import load
from benchmarks.printing import table
from benchmarks.terminal import machine
from spanhook.cli.conformance.servers.postgres_server import USER, running_postgres
from spanhook.store.control import Database

_SPANS, _QUICK_SPANS = 1_000_000, 20_000
_LOGS, _QUICK_LOGS = 1_000_000, 10_000
_JOBS, _QUICK_JOBS = 2_000, 100
_LIBRARIES = ("sqlalchemy", "aiosqlite", "psycopg", "protobuf")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control_plane", description="The control plane.")
    parser.add_argument("--quick", action="store_true", help="fewer spans: a first look")
    parser.add_argument("--database", default="", metavar="URL", help="an empty database, such as postgresql://...")
    parser.add_argument("--postgresql", action="store_true", help="then the same with a PostgreSQL of its own")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--minutes", type=float, default=0, help="how long to send spans, to SQLite")
    parser.add_argument("--rate", type=int, default=5_000, help="spans per second of that")
    parser.add_argument("--size-mb", type=int, default=500, help="the size that retention keeps then")
    parser.add_argument("--queue", default="", metavar="URL", help="a queue for jobs, such as redis://...")
    options = parser.parse_args()
    if options.queue:
        document = _worked(options)
    else:
        document = _loaded(options) if options.minutes else {"databases": _measured(options)}
    document["machine"] = machine(_LIBRARIES)
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        shown = _jobs_table if options.queue else _load_table if options.minutes else _tables
        print(shown(document))
    return 0


def _loaded(options: argparse.Namespace) -> dict[str, Any]:
    async def run(url: str) -> dict[str, Any]:
        database = await Database.open(url)
        seconds = options.minutes * 60
        try:
            return await load(
                database, seconds=seconds, rate=options.rate, size_mb=options.size_mb, every_s=max(1.0, seconds / 20)
            )
        finally:
            await database.close()

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(run(f"sqlite:///{folder}/spanhook.db"))


def _worked(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.control_plane.workers import in_workers

    count, cancels = (_QUICK_JOBS, 5) if options.quick else (_JOBS, 50)
    with tempfile.TemporaryDirectory() as folder:
        url = options.database or f"sqlite:///{folder}/spanhook.db"
        return asyncio.run(in_workers(url, options.queue, count, cancels, Path(folder)))


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        url = options.database or f"sqlite:///{folder}/spanhook.db"
        found[url.partition(":")[0]] = _of_database(url, options.quick)
    if options.postgresql:
        with running_postgres() as port:
            found["postgresql"] = _of_database(f"postgresql://{USER}@127.0.0.1:{port}/postgres", options.quick)
    return found


def _of_database(url: str, quick: bool) -> dict[str, Any]:
    async def fill() -> tuple[dict[str, float], dict[str, float], Callable[[], float]]:
        database = await Database.open(url)
        try:
            taken = await ingest(database, _QUICK_SPANS if quick else _SPANS)
            await fill_log(database, _QUICK_LOGS if quick else _LOGS)
            ran = await jobs(database, _QUICK_JOBS if quick else _JOBS)
            return taken, ran, await clock_of(database)
        finally:
            await database.close()

    taken, ran, clock = asyncio.run(fill())
    with served(url) as client:
        return {"ingest": taken, "jobs": ran, "answers_ms": answers(client, clock)}


def _tables(document: dict[str, Any]) -> str:
    parts: list[str] = []
    for name, found in document["databases"].items():
        taken, ran = found["ingest"], found["jobs"]
        row = (f"{taken['spans']:.0f}", *(f"{taken[key]:.0f}" for key in ("per_cpu_s", "per_s", "peak_mb")), "")
        parts += [
            f"## {name}: taking in protobuf, gzip, batches of 512, with runs and usage derived",
            table(("spans", "per CPU s", "per s", "peak MB", ""), [row]),
            f"## {name}: jobs of an agent with a scripted model, three calls of it and two tool calls, followed",
            table(
                ("ms of CPU for each", "per minute of CPU", "per minute", ""),
                [(f"{ran['ms_of_cpu']:.1f}", f"{ran['per_minute_of_cpu']:.0f}", f"{ran['per_minute']:.0f}", "")],
            ),
            f"## {name}: answers over HTTP, in ms of CPU",
            table(
                ("question", "JSON", "later page", "web page", ""),
                [(question, *map(_shown, took.values()), "") for question, took in found["answers_ms"].items()],
            ),
        ]
    return "\n\n".join(parts)


def _jobs_table(document: dict[str, Any]) -> str:
    row = (f"{document['ms_of_cpu']:.1f}", f"{document['per_minute_of_cpu']:.0f}", f"{document['per_minute']:.0f}", "")
    cancels = [
        (where, f"{document[key]['median']:.0f}", f"{document[key]['worst']:.0f}", "")
        for where, key in (("the server's process", "cancel_ms"), ("a worker", "cancel_in_worker_ms"))
    ]
    return "\n\n".join(
        (
            "## Jobs that a worker runs, followed by the server, CPU of both",
            table(("ms of CPU for each", "per minute of CPU", "per minute", ""), [row]),
            "## How soon the work of a cancelled job stops, in ms",
            table(("where it runs", "median", "worst", ""), cancels),
        )
    )


def _shown(took: float | None) -> str:
    return "" if took is None else f"{took:.1f}"


def _load_table(document: dict[str, Any]) -> str:
    rows = [
        (f"{one['s']:.0f}", str(one["spans"]), *(f"{one[key]:.0f}" for key in ("rss_mb", "file_mb", "wal_mb")), "")
        for one in document["looks"]
    ]
    return "\n\n".join(
        (
            f"## Under load: retention at {document['limit_mb']} MB, {document['cpu_s']:.0f} s of CPU",
            table(("s", "spans", "memory MB", "file MB", "log MB", ""), rows),
            f"deleted {document['deleted']}; refused {document['refused']}, failed {document['failed']}",
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
