"""The threads of runs: what they are like while a run is being decided about, and once it may begin or may not."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from aegra_api.core import orm
from aegra_api.core.database import db_manager
from fastapi import HTTPException
from sqlalchemy import select, update

STATUS_BEFORE = "spanhook_thread_status"
"""Where the status of the thread before a run is kept with Aegra's own parameters of the run."""
REFUSED = "spanhook_refused"
"""Where these parameters say that the run has never begun."""


class Thread(NamedTuple):
    """A thread as it is.

    Attributes:
        status: Its status, in Aegra's words.
        owner: Whose it is.
        changed: When it was changed last; ``None`` if it is not there yet.
    """

    status: str
    owner: str
    changed: datetime | None = None


def resumes(command: Mapping[str, Any] | None) -> bool:
    """Whether a run is to resume a thread that waits for a person."""
    return "resume" in (command or {})


async def look_up(session: Any, thread_id: str, *, lock: bool = False) -> Thread | None:
    """A thread as it is; ``None`` if there is none.

    Args:
        session: A session of Aegra's.
        thread_id: The thread.
        lock: Keep others from changing it until the session commits.
    """
    query = select(orm.Thread.status, orm.Thread.user_id, orm.Thread.updated_at)
    query = query.where(orm.Thread.thread_id == thread_id)
    row = (await session.execute(query.with_for_update() if lock else query)).one_or_none()
    return None if row is None else Thread(*row)


async def occupy(session: Any, thread_id: str, before: Thread, *, resuming: bool) -> Thread:
    """Say that a thread is busy, with a run that was let pass. Does not commit.

    Args:
        session: A session of Aegra's.
        thread_id: The thread.
        before: The thread as it was when the run was asked for.
        resuming: The run resumes what waits for a person there.

    Returns:
        The thread as it was until now.

    Raises:
        HTTPException: While the run was being decided about, the thread was deleted, or what it waited for has changed.
    """
    now = await look_up(session, thread_id, lock=True)
    if now is None or now.owner != before.owner:
        raise HTTPException(404, f"Thread '{thread_id}' not found")
    if resuming and before.status == "interrupted" and now != before:
        # It may wait again, but for another answer.
        raise HTTPException(400, "Cannot resume: the thread has changed since this was asked for; ask again")
    changed = update(orm.Thread).where(orm.Thread.thread_id == thread_id)
    await session.execute(changed.values(status="busy", updated_at=datetime.now(UTC)))
    return now


async def mark_refused(run_id: str, thread_id: str) -> str:
    """Note that a run that is recorded does not begin.

    Returns:
        The status of its thread without it.
    """
    this = orm.Run.run_id == run_id
    async with orm._get_session_maker()() as session:
        known = await session.scalar(select(orm.Run.execution_params).where(this)) or {}
        await session.execute(update(orm.Run).where(this).values(execution_params={**known, REFUSED: True}))
        await session.commit()
    before = known.get(STATUS_BEFORE, "busy")
    if before != "busy":
        return before
    # Another run was active then, and has changed the thread since.
    waits = await db_manager.get_checkpointer().aget_tuple(
        {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    )
    writes = [] if waits is None else waits.pending_writes or []
    return "interrupted" if any(channel == "__interrupt__" for _, channel, _ in writes) else "idle"
