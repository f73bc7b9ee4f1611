"""What Aegra's tables say of a run."""

from aegra_api.core import orm
from sqlalchemy import select


async def assistant_of(run_id: str) -> str:
    """The assistant of a run, which its job does not name; empty if the run is not there."""
    async with orm._get_session_maker()() as session:
        found = await session.scalar(select(orm.Run.assistant_id).where(orm.Run.run_id == run_id))
    return str(found or "")
