"""What routes work with, one set for each application."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from spanhook.jobs import QueuedRunner, Runner, RunnerSettings, load_agent
from spanhook.jobs.sql_jobs import SQLJobs
from spanhook.jobs.workers import JobQueue
from spanhook.schedules import Scheduler
from spanhook.server.agent_events import notify_of_agents
from spanhook.server.authentication import Authentication
from spanhook.server.budgets import Budgets
from spanhook.server.cron_states import CronStates, telling
from spanhook.server.dry_runs import DryRuns
from spanhook.server.handlers import Handlers
from spanhook.server.hook_store import HookStore
from spanhook.server.job_events import tell_of_job
from spanhook.server.measuring import Measures
from spanhook.server.policy_store import PolicyStore
from spanhook.server.processes import Processes
from spanhook.server.scheduling import Jobs
from spanhook.server.sets import Sets, read_signing_key
from spanhook.server.settings import ServerSettings
from spanhook.server.webhooks import Webhooks
from spanhook.store.control import Database, IngestLimits, Ingestor, Retention, RetentionLimits

_DAY_S = 86_400.0


class Services:
    """What routes work with.

    Attributes:
        settings: What can be set of the server.
        database: The database.
        measures: The server's own metrics.
        authentication: Recognizes callers, and lets those of the web pages log in.
        handlers: Which handlers definitions may name.
        hooks: The definitions.
        budgets: The budgets among definitions and policies.
        policies: The policies of processes.
        sets: What processes of agents enforce.
        processes: These processes.
        dry_runs: Runs definitions on sample contexts.
        ingestor: Takes telemetry, while the application serves.
        retention: Deletes telemetry that is too old or too much, in the background.
        webhooks: Endpoints that events are sent to; ``None`` if that is not set up.
        streams: How many pages are live, by tenant.
        runner: Runs agents, while the application serves.
        scheduler: Makes jobs of them by the clock, while the application serves.
    """

    ingestor: Ingestor
    runner: Runner
    scheduler: Scheduler

    def __init__(
        self, settings: ServerSettings, database: Database, measures: Measures, authentication: Authentication
    ) -> None:
        self.settings, self.database, self.measures = settings, database, measures
        self.authentication, self.streams = authentication, Counter[str]()
        self.handlers, self.hooks = Handlers(settings), HookStore(database)
        self.policies, self.budgets = PolicyStore(database, self.handlers), Budgets(database, settings.stores)
        self.sets, self.processes = Sets(database, read_signing_key(settings.signing_key)), Processes(database)
        self._queue = JobQueue(settings.queue) if settings.queue else None
        self.dry_runs = DryRuns(settings, self.handlers.allowed)
        self.retention = Retention(database, _limits(settings))
        self.webhooks = Webhooks(settings.webhooks, database) if settings.webhooks is not None else None
        self._agents = {name: load_agent(name, one.target, one.retry) for name, one in settings.agents.items()}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """What runs as long as the application serves."""
        self.ingestor = Ingestor(self.database, IngestLimits(body=self.settings.max_telemetry))
        self.measures.watch(self.ingestor, self.retention)
        self.retention.start()
        jobs = SQLJobs(self.database, told=tell_of_job if self.webhooks is not None else None)
        settings, told = RunnerSettings(concurrency=self.settings.jobs), self.measures.job
        if self._queue is None:
            self.runner = Runner(self._agents, jobs, jobs, settings, told=told)
        else:
            self.runner = QueuedRunner(self._agents, jobs, jobs, settings, self._queue, told=told)
        self.measures.watch_jobs(self.runner)
        agents = AsyncExitStack()
        if self.webhooks is not None:
            await agents.enter_async_context(notify_of_agents(self.database))
        await self.runner.start()
        cron, jobs_of_ticks = self.settings.cron, Jobs(self.runner)
        states = CronStates(self.database, telling(cron) if self.webhooks is not None else None)
        self.scheduler = Scheduler(cron, jobs_of_ticks, states, follow=jobs_of_ticks.follow)
        await self.scheduler.start()
        try:
            async with AsyncExitStack() as stack:
                if self.webhooks is not None:
                    self.measures.watch_webhooks(self.webhooks.figures)
                    await stack.enter_async_context(self.webhooks.running())
                yield
        finally:
            await asyncio.gather(self.scheduler.close(), self.runner.close())
            await agents.aclose()
            if self._queue is not None:
                await self._queue.close()
            await self.retention.close()
            await self.ingestor.close()


def _limits(settings: ServerSettings) -> RetentionLimits:
    kept = settings.retention
    return RetentionLimits(
        age_s=kept.days * _DAY_S,
        sums_age_s=kept.totals_days * _DAY_S,
        size_bytes=kept.size_mb * 1_000_000,
        interval_s=kept.interval,
    )
