"""Jobs in a folder, one JSON file each, shared by processes of one machine.

A change is made under a lock on the folder, and a file is replaced as a whole: after a crash it holds the job as it was
before the change, or as it was after it. Only a lease that was renewed may be forgotten when the power is lost, and
with it the process that had it. Listing reads every file; for many jobs use the database.
"""

import asyncio
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError, StoreError
from spanhook.jobs._folder_lock import FolderLock
from spanhook.jobs._live import Live
from spanhook.jobs.job import Job, Transition, moved, noted
from spanhook.jobs.memory_jobs import (
    KEPT_S,
    MOST_FINISHED,
    check_finished,
    holds,
    is_expired,
    newest,
    oldest,
    superfluous,
)
from spanhook.jobs.store import SPARE_NS, JobFilter

T = TypeVar("T")
_ID = re.compile(r"job_[0-9a-f]{32}")
_NEW, _EVERY = ".new-", 100


class FileJobs:
    """A store of jobs in a folder. See ``JobStore``.

    Args:
        folder: Created if it is not there, in a folder that is. Only its owner can read it.
        most: How many finished jobs are kept, about; the oldest go.
        kept_s: For how many seconds finished jobs are kept.

    Raises:
        ConfigurationError: The folder cannot be used.
    """

    def __init__(self, folder: str | Path, *, most: int = MOST_FINISHED, kept_s: float = KEPT_S) -> None:
        self._most, self._kept_s, self._created = most, kept_s, 0
        self._folder = Path(os.path.abspath(folder))
        self._keys = self._folder / "keys"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._keys.mkdir(mode=0o700, exist_ok=True)
            self._live = Live(self._folder / "live", self._put, _kept)
        except OSError as error:
            raise ConfigurationError(f"jobs: the folder {str(self._folder)!r} cannot be used: {error}") from None
        self._lock = FolderLock(self._folder / ".lock")

    async def create(self, job: Job) -> Job:
        return await self._locked(lambda: self._create(job))

    def _create(self, job: Job) -> Job:
        if job.key:
            first = self._named(job.tenant_id, job.agent, job.key)
            if first is not None:
                return first
            self._replace(self._key(job.tenant_id, job.agent, job.key), job.job_id)  # without a job, it says nothing
        self._write(job)
        self._created += 1
        if self._created % _EVERY == 1:
            self._tidy(job.created_ns)
        return job

    def _tidy(self, now_ns: int) -> None:
        """Delete what is too much, and mend what a crash has left."""
        found = self._all()
        for one in superfluous(found, now_ns, self._most, self._kept_s):
            self._remove(one)
        live = {job.job_id: job for job in found if not job.finished}
        for job in live.values():
            self._live.add(job)
        for job_id in set(self._live.ids()) - live.keys():
            self._live.discard(job_id)
        for path in self._folder.glob(f"{_NEW}*"):  # under the lock nobody writes one
            path.unlink(missing_ok=True)

    async def find(self, tenant_id: str, agent: str, key: str) -> Job | None:
        return await self._locked(lambda: self._named(tenant_id, agent, key))

    async def get(self, job_id: str, tenant_id: str | None = "") -> Job | None:
        job = await self._off(lambda: self._read(job_id))
        return job if job is not None and tenant_id in (None, job.tenant_id) else None

    async def list(self, which: JobFilter, limit: int = 50) -> Sequence[Job]:
        return newest([job for job in await self._off(self._all) if which.admits(job)], limit)

    async def move(self, job_id: str, change: Transition) -> Job | None:
        return await self._changed(job_id, lambda job: moved(job, change))

    async def note(self, seen: Job, usage: Mapping[str, Any], tools: tuple[str, ...]) -> Job | None:
        return await self._changed(seen.job_id, lambda job: noted(job, seen, usage, tools))

    async def renew(
        self, job_ids: Collection[str], worker: str, until_ns: int, spare_ns: int = SPARE_NS
    ) -> frozenset[str]:
        def renewed() -> frozenset[str]:
            held = [job for one in job_ids if (job := self._read(one)) is not None and holds(job, worker)]
            for job in held:
                if job.lease_ns < until_ns - spare_ns:
                    self._renew(job, until_ns)
            return frozenset(job.job_id for job in held)

        return await self._locked(renewed)

    async def expired(self, now_ns: int, limit: int = 100, agents: Collection[str] | None = None) -> Sequence[Job]:
        live = await self._off(lambda: self._found(self._live.ids()))
        return oldest([job for job in live if is_expired(job, now_ns, agents)], limit)

    async def delete(self, job_id: str, tenant_id: str | None = "") -> bool:
        def deleted() -> bool:
            job = self._read(job_id)
            if job is None or tenant_id not in (None, job.tenant_id):
                return False
            check_finished(job)
            self._remove(job)
            return True

        return await self._locked(deleted)

    # ------------------------------------------------------------------------------------------ in a thread

    async def _changed(self, job_id: str, change: Callable[[Job], Job]) -> Job | None:
        def changed() -> Job | None:
            job = self._read(job_id)
            if job is None:
                return None
            after = change(job)
            self._write(after)
            return after

        return await self._locked(changed)

    async def _locked(self, do: Callable[[], T]) -> T:
        def locked() -> T:
            with self._lock.held():
                return do()

        return await self._off(locked)

    async def _off(self, do: Callable[[], T]) -> T:
        """Do something in a thread that may wait. It is not left half done if the caller is cancelled."""

        def done() -> T:
            try:
                return do()
            except OSError as error:
                raise StoreError(f"jobs in {self._folder}: {error.strerror or error}") from error

        return await asyncio.shield(asyncio.to_thread(done))

    def _remove(self, job: Job) -> None:
        if job.key:
            self._key(job.tenant_id, job.agent, job.key).unlink(missing_ok=True)
        self._path(job.job_id).unlink(missing_ok=True)
        self._live.discard(job.job_id)

    def _path(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"

    def _key(self, tenant_id: str, agent: str, key: str) -> Path:
        return self._keys / hashlib.sha256(json.dumps([tenant_id, agent, key]).encode()).hexdigest()

    def _named(self, tenant_id: str, agent: str, key: str) -> Job | None:
        try:
            return self._read(self._key(tenant_id, agent, key).read_text("ascii"))
        except FileNotFoundError:
            return None

    def _read(self, job_id: str) -> Job | None:
        job = self._written(job_id)
        return None if job is None else self._live.held(job)

    def _written(self, job_id: str) -> Job | None:
        if not _ID.fullmatch(job_id):
            return None
        try:
            return Job.of(json.loads(self._path(job_id).read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"jobs in {self._folder}: {job_id}.json is damaged: {error}") from None

    def _all(self) -> Sequence[Job]:
        return self._found(path.stem for path in self._folder.glob("job_*.json"))

    def _found(self, job_ids: Iterable[str]) -> Sequence[Job]:
        found: list[Job] = []
        for job_id in job_ids:
            try:
                job = self._read(job_id)
            except StoreError as error:  # others can be listed all the same
                log.warning("spanhook: %s", error)
                continue
            if job is not None:
                found.append(job)
        return found

    def _write(self, job: Job) -> None:
        if not job.finished:
            self._live.add(job)
        self._replace(self._path(job.job_id), json.dumps(job.as_dict(), separators=(",", ":")))
        if job.finished:
            self._live.discard(job.job_id)

    def _renew(self, job: Job, until_ns: int) -> None:
        written = self._written(job.job_id)
        if written is not None and written.lease_ns:
            self._live.renew(job, written.lease_ns, until_ns)
        else:
            self._write(replace(job, lease_ns=until_ns))

    def _replace(self, path: Path, text: str) -> None:
        self._put(path, text, lasting=True)
        _kept(path.parent)

    def _put(self, path: Path, text: str, *, lasting: bool = False) -> None:
        descriptor, temporary = tempfile.mkstemp(prefix=_NEW, dir=self._folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _kept(folder: Path) -> None:
    """Make sure that the names in a folder outlast a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
