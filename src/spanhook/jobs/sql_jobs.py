"""Jobs, and their events, in the control plane's database. It needs the extra ``server``."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.jobs.events import JobEvent
from spanhook.jobs.job import FINAL, STATUSES, Job, Transition, moved, noted
from spanhook.jobs.memory_jobs import check_finished
from spanhook.jobs.store import SPARE_NS, EventsTakenError, JobFilter
from spanhook.store.control import Database, tables

_jobs, _events = tables.jobs, tables.job_events
_LIVE = tuple(one for one in STATUSES if one not in FINAL)
_ASKED = select(_jobs.c.job, _jobs.c.lease_ns)
_AT_ONCE, MOST_LOGGED = 500, 10_000


class SQLJobs:
    """A store of jobs in a database, and a log of their events. See ``JobStore`` and ``EventLog``.

    Args:
        database: The open database.
        most: How many events of a job are kept; then the oldest go.
        told: Told of each new job, and of each change of a status, in the transaction that makes it; what it raises
            undoes that.
    """

    def __init__(
        self, database: Database, *, most: int = MOST_LOGGED, told: Callable[[Connection, Job], None] | None = None
    ) -> None:
        self._database, self._most, self._told = database, most, told

    # ------------------------------------------------------------------------------------------ jobs

    async def create(self, job: Job) -> Job:
        values = {**_found_by(job), "request_key": job.key or None, "created_ns": job.created_ns}
        try:
            async with self._database.writing() as connection:
                await connection.execute(insert(_jobs).values(**values))
                await self._tell(connection, job)
        except IntegrityError:
            first = await self.find(job.tenant_id, job.agent, job.key) if job.key else None
            if first is None:
                raise
            return first
        return job

    async def find(self, tenant_id: str, agent: str, key: str) -> Job | None:
        where = (_jobs.c.tenant_id == tenant_id, _jobs.c.agent == agent, _jobs.c.request_key == key)
        async with self._database.reading() as connection:
            found = (await connection.execute(_ASKED.where(*where))).one_or_none()
        return None if found is None else _job(found)

    async def get(self, job_id: str, tenant_id: str | None = "") -> Job | None:
        async with self._database.reading() as connection:
            job = await _read(connection, job_id)
        return job if job is not None and tenant_id in (None, job.tenant_id) else None

    async def list(self, which: JobFilter, limit: int = 50) -> Sequence[Job]:
        asked = _ASKED.order_by(_jobs.c.created_ns.desc(), _jobs.c.job_id.desc()).limit(limit)
        if which.tenant_id is not None:
            asked = asked.where(_jobs.c.tenant_id == which.tenant_id)
        if which.status is not None:
            asked = asked.where(_jobs.c.status == which.status)
        if which.agent:
            asked = asked.where(_jobs.c.agent == which.agent)
        if which.before is not None:
            asked = asked.where(tuple_(_jobs.c.created_ns, _jobs.c.job_id) < which.before)
        async with self._database.reading() as connection:
            return [_job(one) for one in await connection.execute(asked)]

    async def move(self, job_id: str, change: Transition) -> Job | None:
        return await self._changed(job_id, lambda job: moved(job, change))

    async def note(self, seen: Job, usage: Mapping[str, Any], tools: tuple[str, ...]) -> Job | None:
        return await self._changed(seen.job_id, lambda job: noted(job, seen, usage, tools))

    async def renew(
        self, job_ids: Collection[str], worker: str, until_ns: int, spare_ns: int = SPARE_NS
    ) -> frozenset[str]:
        if not job_ids:
            return frozenset()
        ids, held = list(job_ids), set[str]()
        for start in range(0, len(ids), _AT_ONCE):
            held |= await self._renewed(ids[start : start + _AT_ONCE], worker, until_ns, spare_ns)
        return frozenset(held)

    async def _renewed(self, ids: Sequence[str], worker: str, until_ns: int, spare_ns: int) -> set[str]:
        mine = (_jobs.c.job_id.in_(ids), _jobs.c.worker == worker, _jobs.c.status.in_(_LIVE))
        short = _jobs.c.lease_ns < until_ns - spare_ns
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(_jobs.c.job_id, short).where(*mine))).all()
        if any(is_short for _, is_short in rows):
            async with self._database.writing() as connection:
                await connection.execute(update(_jobs).where(*mine, short).values(lease_ns=until_ns))
        return {job_id for job_id, _ in rows}

    async def expired(self, now_ns: int, limit: int = 100, agents: Collection[str] | None = None) -> Sequence[Job]:
        asked = _ASKED.where(_jobs.c.status.in_(_LIVE), _jobs.c.lease_ns < now_ns)
        if agents is not None:
            asked = asked.where(_jobs.c.agent.in_(list(agents)))
        asked = asked.order_by(_jobs.c.created_ns, _jobs.c.job_id).limit(limit)
        async with self._database.reading() as connection:
            return [_job(one) for one in await connection.execute(asked)]

    async def delete(self, job_id: str, tenant_id: str | None = "") -> bool:
        async with self._database.writing() as connection:
            job = await _read(connection, job_id, lock=True)
            if job is None or tenant_id not in (None, job.tenant_id):
                return False
            check_finished(job)
            await connection.execute(delete(_events).where(_events.c.job_id == job_id))
            await connection.execute(delete(_jobs).where(_jobs.c.job_id == job_id))
        return True

    async def _changed(self, job_id: str, change: Callable[[Job], Job]) -> Job | None:
        async with self._database.writing() as connection:
            job = await _read(connection, job_id, lock=True)
            if job is None:
                return None
            after = change(job)
            await _write(connection, after)
            if after.status != job.status:
                await self._tell(connection, after)
        return after

    async def _tell(self, connection: AsyncConnection, job: Job) -> None:
        if self._told is not None:
            await connection.run_sync(self._told, job)

    # ------------------------------------------------------------------------------------------ events

    async def append(self, job_id: str, events: Sequence[JobEvent]) -> None:
        rows = [
            {"job_id": job_id, "event_id": one.id, "type": one.type, "data": dict(one.data), "time_ns": one.time_ns}
            for one in events
        ]
        if not rows:
            return
        gone = (_events.c.job_id == job_id, _events.c.event_id <= events[-1].id - self._most)
        try:
            async with self._database.writing() as connection:
                if await _is_gone(connection, job_id):
                    return
                await connection.execute(insert(_events), rows)
                if events[-1].id > self._most:
                    await connection.execute(delete(_events).where(*gone))
        except IntegrityError:
            last = events[-1]
            if await self.read(job_id, last.id - 1, 1) != [last]:  # unless an answer of the database was lost
                raise EventsTakenError(f"another process writes the events of {job_id}") from None

    async def read(self, job_id: str, after: int, limit: int = 500) -> Sequence[JobEvent]:
        where = (_events.c.job_id == job_id, _events.c.event_id > after)
        asked = select(_events).where(*where).order_by(_events.c.event_id).limit(limit)
        async with self._database.reading() as connection:
            rows = (await connection.execute(asked)).all()
        return [JobEvent(row.event_id, row.type, row.data or {}, row.time_ns) for row in rows]

    async def last(self, job_id: str) -> int:
        asked = select(func.max(_events.c.event_id)).where(_events.c.job_id == job_id)
        async with self._database.reading() as connection:
            return (await connection.execute(asked)).scalar_one_or_none() or 0


async def _read(connection: AsyncConnection, job_id: str, *, lock: bool = False) -> Job | None:
    asked = _ASKED.where(_jobs.c.job_id == job_id)
    found = (await connection.execute(asked.with_for_update() if lock else asked)).one_or_none()
    return None if found is None else _job(found)


async def _is_gone(connection: AsyncConnection, job_id: str) -> bool:
    """Whether there is no such job; if there is, it cannot be deleted before the transaction ends."""
    asked = select(_jobs.c.job_id).where(_jobs.c.job_id == job_id).with_for_update(read=True, key_share=True)
    return (await connection.execute(asked)).one_or_none() is None


def _job(row: Row[Any, Any]) -> Job:
    return Job.of({**row.job, "lease_ns": row.lease_ns})


async def _write(connection: AsyncConnection, job: Job) -> None:
    await connection.execute(update(_jobs).where(_jobs.c.job_id == job.job_id).values(**_found_by(job)))


def _found_by(job: Job) -> dict[str, Any]:
    """The columns of a job that change, and those that do not."""
    named = ("job_id", "tenant_id", "agent", "status", "worker", "lease_ns")
    return {**{name: getattr(job, name) for name in named}, "ended_ns": job.ended_ns or None, "job": job.as_dict()}
