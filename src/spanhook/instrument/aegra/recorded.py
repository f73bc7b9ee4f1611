"""What Aegra's tables say of a run."""

from collections.abc import Awaitable, Callable
from inspect import signature
from typing import Any

from aegra_api.core import orm
from sqlalchemy import select

from spanhook.instrument.aegra.threads import REFUSED
from spanhook.model import Args, Kwargs, Opening


async def assistant_of(run_id: str) -> str:
    """The assistant of a run, which its job does not name; empty if the run is not there."""
    async with orm._get_session_maker()() as session:
        found = await session.scalar(select(orm.Run.assistant_id).where(orm.Run.run_id == run_id))
    return str(found or "")


async def resuming(
    _opening: Opening, wrapped: Callable[..., Awaitable[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """In place of what finds the assistant of a thread's newest run, for an answer that names none: a run that was
    refused does not count.
    """
    session, thread_id, user = signature(wrapped).bind(*args, **kwargs).args
    query = select(orm.Run.assistant_id).where(
        orm.Run.thread_id == thread_id,
        orm.Run.user_id == user.identity,
        orm.Run.execution_params[REFUSED].astext.is_(None),
    )
    return await session.scalar(query.order_by(orm.Run.created_at.desc()).limit(1))
