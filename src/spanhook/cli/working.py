"""``spanhook worker``: runs the jobs that a server leaves to workers."""

import asyncio
from typing import Any

import click

from spanhook.cli.serving import named_agents, with_agents

_END_S = 15.0
"""How long the worker may take to end beside the time that its jobs have."""


@click.command(short_help="Run the jobs that a server with --queue leaves to workers.")
@click.option("--queue", metavar="URL", help="Where jobs come from: redis://... or postgresql://...")
@click.option("--database", metavar="URL", help="The server's database; default: sqlite:///spanhook.db.")
@click.option("--config", "file", metavar="FILE", help="Settings of the server, in YAML, JSON or TOML.")
@click.option("--agent", "agents", multiple=True, metavar="NAME=TARGET", help="An agent: support=./app.py:graph.")
@click.option("--concurrency", type=click.IntRange(1, 1000), help="How many jobs run at a time; default: 16.")
@click.option(
    "--lease",
    type=click.FloatRange(5, 3600),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="After which time its jobs are taken over if it dies.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0, 86_400),
    default=25,
    show_default=True,
    metavar="SECONDS",
    help="How long jobs may take to end after SIGTERM.",
)
def worker(file: str | None, agents: tuple[str, ...], lease: float, drain: float, **given: Any) -> None:
    """Run jobs from a queue until SIGTERM, for a server that was started with the same --queue and --database.

    Every worker of a queue needs the same agents. A job whose worker dies has failed, or runs again if its agent has
    "retry: safe" in the settings.
    """
    from spanhook.concurrency import Ending
    from spanhook.config import instrument
    from spanhook.errors import ConfigurationError, StoreError
    from spanhook.jobs import load_agent
    from spanhook.jobs.workers import WorkerSettings, work
    from spanhook.server import notify_of_agents, read_settings, tell_of_job

    settings = read_settings(
        file,
        queue=given["queue"],
        database=given["database"],
        jobs=given["concurrency"],
        agents=named_agents(agents),
    )
    if not settings.queue:
        raise ConfigurationError("a worker needs a queue; give --queue, such as --queue redis://127.0.0.1:6379/0")
    if not settings.agents:
        raise ConfigurationError("a worker needs agents; give --agent, such as --agent support=./app.py:graph")
    instrument()
    loaded = {name: load_agent(name, one.target, one.retry) for name, one in settings.agents.items()}
    how = WorkerSettings(
        queue=settings.queue,
        database=settings.database,
        concurrency=settings.jobs,
        lease_s=lease,
        drain_s=drain,
    )

    def started(queue: str, database: str) -> None:
        click.echo(f"spanhook works for {queue} and {database}{with_agents(loaded)}")

    try:
        told, beside = (tell_of_job, notify_of_agents) if settings.webhooks is not None else (None, None)
        with Ending(drain + _END_S).watching() as ending:
            asyncio.run(work(how, loaded, started, told=told, beside=beside, stopping=ending.tell))
    except StoreError as error:
        raise ConfigurationError(f"{error}; see --database") from error
