"""Which jobs of a folder are not finished, and until when they are held: one small file each, beside the jobs' own.

Nothing in them must be right. One that is missing is made again when the folder is tidied, one too many is of a job
that is found to be finished, and a lease counts only with the lease that it has renewed.
"""

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from spanhook.jobs.job import Job

_LEASES = re.compile(r"([1-9]\d{0,19}) (\d{1,20})\Z", re.ASCII)


class Live:
    """The files of the jobs that are not finished.

    Args:
        folder: Where they are. Created if it is not there.
        replace: Replaces a file by one with this text, as a whole; it need not outlast a loss of power.
        keep: Makes sure that the names in a folder outlast one.

    Raises:
        OSError: The folder cannot be used.
    """

    def __init__(self, folder: Path, replace: Callable[[Path, str], None], keep: Callable[[Path], None]) -> None:
        self._folder, self._replace, self._keep = folder, replace, keep
        folder.mkdir(mode=0o700, exist_ok=True)

    def add(self, job: Job) -> None:
        """Note that a job is not finished, before it is written."""
        try:
            (self._folder / job.job_id).touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            return
        self._keep(self._folder)

    def discard(self, job_id: str) -> None:
        """Note that a job is finished or deleted, after it was written."""
        (self._folder / job_id).unlink(missing_ok=True)

    def ids(self) -> Collection[str]:
        """The ids of the jobs that are not finished, and perhaps of some that are."""
        return [path.name for path in self._folder.iterdir()]

    def renew(self, job: Job, written_ns: int, until_ns: int) -> None:
        """Note a longer lease.

        Args:
            job: The job.
            written_ns: The lease in the job's own file; not 0.
            until_ns: Until when it holds, in nanoseconds since the epoch.
        """
        self._replace(self._folder / job.job_id, f"{written_ns} {until_ns}")

    def held(self, job: Job) -> Job:
        """A job as it was written, with the lease that it has by now."""
        if job.finished or not job.lease_ns:
            return job
        text = ""
        with suppress(FileNotFoundError, UnicodeDecodeError):
            text = (self._folder / job.job_id).read_text("ascii")
        found = _LEASES.match(text)
        if found is None or int(found[1]) != job.lease_ns:  # of an earlier claim
            return job
        return replace(job, lease_ns=max(job.lease_ns, int(found[2])))
