"""What Aegra's tables say of a run, and what is recorded there."""

from typing import Any

from aegra_api.core import orm
from sqlalchemy import select


async def assistant_of(run_id: str) -> str:
    """The assistant of a run, which its job does not name; empty if the run is not there."""
    async with orm._get_session_maker()() as session:
        found = await session.scalar(select(orm.Run.assistant_id).where(orm.Run.run_id == run_id))
    return str(found or "")


def as_before(job: Any) -> str:
    """The status of its thread if a run does not begin: one that was to resume another still waits to be resumed."""
    return "interrupted" if "resume" in (job.execution.command or {}) else "idle"
