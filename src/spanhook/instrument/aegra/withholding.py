"""Keeps a run out of Aegra's tables while gates decide about it.

Aegra records a run as pending before it submits it. Whatever finds it there executes it, such as the reaper of runs
that nobody has taken, and its thread is busy. A run that is withheld is nowhere: nothing executes it, its thread stays
as it is, and a process that ends meanwhile leaves nothing behind.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from inspect import signature
from typing import TYPE_CHECKING, Any

import wrapt
from aegra_api.core import orm

from spanhook.copies import Copied
from spanhook.instrument.aegra.threads import REFUSED, STATUS_BEFORE, Thread, look_up, occupy, resumes
from spanhook.model import Args, Kwargs, Opening, asheds

if TYPE_CHECKING:
    ObjectProxy = wrapt.ObjectProxy[Any]
else:
    ObjectProxy = wrapt.ObjectProxy  # wrapt 1 is not generic


class Withheld:
    """What Aegra would have recorded as it prepared a run.

    Attributes:
        run: The run.
        thread: Its thread as it is; ``None`` if there is none.
    """

    def __init__(self) -> None:
        self.run: Any = None
        self.thread: Thread | None = None
        self._describe: Callable[[Any], Awaitable[None]] | None = None

    async def describe(self, describe: Callable[[Any], Awaitable[None]], session: Any, thread_id: str) -> None:
        """Withhold what is said about the thread, by a function that takes a session."""
        self._describe = describe
        self.thread = await look_up(session, thread_id)

    async def record(self, job: Any) -> None:
        """Record the run, which was let pass, and that its thread is busy.

        Raises:
            HTTPException: The thread is not as it was.
        """
        run = self.run
        async with orm._get_session_maker()() as session:
            if self.thread is None:
                await self._describe_in(session)
            before = self.thread or Thread("idle", run.user_id)
            resuming = resumes(job.execution.command)
            now = await occupy(session, run.thread_id, before, resuming=resuming)
            if self.thread is not None:
                await self._describe_in(session)
            run.execution_params = {**(run.execution_params or {}), STATUS_BEFORE: now.status}
            session.add(run)
            await session.commit()

    async def record_refusal(self, status: str, reason: str) -> None:
        """Record that the run has ended without having begun; its thread stays as it is, if there is one."""
        run = self.run
        async with orm._get_session_maker()() as session:
            thread = await look_up(session, run.thread_id)
            if self.thread is None and thread is None:
                await self._describe_in(session)
            elif thread is None or thread.owner != (self.thread.owner if self.thread else run.user_id):
                return
            run.status, run.error_message, run.output = status, reason, {}
            run.execution_params = {**(run.execution_params or {}), REFUSED: True}
            run.updated_at = datetime.now(UTC)
            session.add(run)
            await session.commit()

    async def _describe_in(self, session: Any) -> None:
        if self._describe is not None:
            await self._describe(session)
            await session.flush()  # a new thread, before a run on it


class _Session(Copied, ObjectProxy):
    """A session that does not add runs."""

    def __init__(self, session: Any, withheld: Withheld) -> None:
        super().__init__(session)
        self._self_withheld = withheld

    def add(self, instance: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(instance, orm.Run):
            self._self_withheld.run = instance
        else:
            self.__wrapped__.add(instance, *args, **kwargs)


_preparing: ContextVar[Withheld | None] = ContextVar("spanhook.aegra.preparing", default=None)


def withheld(run_id: str) -> Withheld | None:
    """What is withheld of a run that is being prepared; ``None`` if it is recorded already."""
    preparing = _preparing.get()
    return preparing if preparing is not None and getattr(preparing.run, "run_id", None) == run_id else None


@asheds
async def prepare(
    opening: Opening, wrapped: Callable[..., Awaitable[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """In place of what prepares every run, records and submits it."""
    if not opening.runs.hooked:
        return await wrapped(*args, **kwargs)
    withholding = Withheld()
    token = _preparing.set(withholding)
    try:
        if "session" in kwargs:
            return await wrapped(*args, **{**kwargs, "session": _Session(kwargs["session"], withholding)})
        return await wrapped(_Session(args[0], withholding), *args[1:], **kwargs)
    finally:
        _preparing.reset(token)


async def describe_thread(
    _opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of what says which assistant is on a thread, and makes the thread if there is none."""
    preparing = _preparing.get()
    if preparing is None:
        await wrapped(*args, **kwargs)
    else:
        given = signature(wrapped).bind(*args, **kwargs).arguments
        await preparing.describe(
            lambda session: wrapped(**{**given, "session": session}), given["session"], given["thread_id"]
        )


async def set_status(
    _opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of what says that the thread of a run is busy."""
    if _preparing.get() is None:
        await wrapped(*args, **kwargs)
