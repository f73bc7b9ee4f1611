"""Runs of the versions up to 0.8, which execute each in the process that has accepted it, as a task of its own.

An endpoint begins the task and answers at once, so it is made to wait for what the gates say there. Until these have
let the run pass, nothing of it happens, and its thread stays as it is.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from inspect import signature
from types import SimpleNamespace
from typing import Any

from aegra_api.api import runs as endpoints
from aegra_api.core import orm

from spanhook.diagnostics import log
from spanhook.errors import Reject
from spanhook.instrument.aegra.recorded import assistant_of
from spanhook.instrument.aegra.run import RUN, run_of
from spanhook.instrument.aegra.threads import Thread, look_up, occupy, resumes
from spanhook.model import Args, Executing, Kwargs, Opening, first


class _Decision:
    """What becomes of a run that was accepted.

    Attributes:
        run_id: The run.
        made: Whether that is known, and recorded.
        refusal: Why it may not begin, if so.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id, self.made = run_id, asyncio.Event()
        self.refusal: Exception | None = None

    async def wait(self) -> None:
        """Wait for it, or for the end of the task that may have been cancelled before it began."""
        task: Any = endpoints.active_runs.get(self.run_id)
        made = asyncio.create_task(self.made.wait())
        try:
            await asyncio.wait({made, *([task] if task is not None else ())}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            made.cancel()
        if self.refusal is not None:
            raise self.refusal


class _Running:
    """A run that this task executes.

    Attributes:
        begun, left: Whether its operation has begun; whether its outcome is known.
    """

    def __init__(self, run_id: str, execution: Executing) -> None:
        self.run_id, self.execution = run_id, execution
        self.begun = self.left = False

    def leave(self, result: Any = None, error: BaseException | None = None, left: str = "") -> BaseException | None:
        if self.left:
            return None
        self.left = True
        return self.execution.leave(result, error, left=left)


class _Accepting:
    """A request for a run.

    Attributes:
        decisions: About the runs that it has asked for.
        thread: The thread as it is, if it was there before; ``None`` if not, or not yet known.
        describe: Says which assistant is on the thread, which is withheld until the run was let pass.
    """

    def __init__(self) -> None:
        self.decisions: list[_Decision] = []
        self.thread: Thread | None = None
        self.describe: Callable[[Any], Awaitable[None]] | None = None

    async def begin(self, job: Any) -> None:
        """Say that the thread is busy with a run that was let pass.

        Raises:
            HTTPException: The thread is not as it was.
        """
        thread_id, before = job.identity.thread_id, self.thread
        async with orm._get_session_maker()() as session:
            before = before or await look_up(session, thread_id) or Thread("idle", job.user.identity)
            await occupy(session, thread_id, before, resuming=resumes(job.execution.command))
            await session.commit()
            if self.describe is not None:
                await self.describe(session)


_accepting: ContextVar[_Accepting | None] = ContextVar("spanhook.aegra.accepting", default=None)
_running: ContextVar[_Running | None] = ContextVar("spanhook.aegra.running", default=None)


async def accept(
    _opening: Opening, wrapped: Callable[..., Awaitable[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """In place of an endpoint that creates a run."""
    accepting = _Accepting()
    token = _accepting.set(accepting)
    try:
        response = await wrapped(*args, **kwargs)
    finally:
        _accepting.reset(token)
    for decision in accepting.decisions:
        await decision.wait()
    return response


async def describe_thread(
    _opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of what says which assistant is on a thread, and makes the thread if there is none."""
    accepting = _accepting.get()
    if accepting is not None:
        given = signature(wrapped).bind(*args, **kwargs).arguments
        accepting.thread = await look_up(given["session"], given["thread_id"])
        if accepting.thread is not None:
            accepting.describe = lambda session: wrapped(**{**given, "session": session})
            return
    await wrapped(*args, **kwargs)


async def set_status(
    _opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of what says that a thread is busy as a run is asked for, and what it is like once the run has ended."""
    if _accepting.get() is None:
        await wrapped(*args, **kwargs)


def execute(
    opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> Awaitable[None]:
    """In place of what executes a run; called by the endpoint, and awaited by the task."""
    given = signature(wrapped).bind(*args, **kwargs).arguments
    decision = _Decision(given["run_id"])
    accepting = _accepting.get()
    if accepting is not None:
        accepting.decisions.append(decision)
    return _execute(opening, lambda: wrapped(*args, **kwargs), given, decision, accepting)


def _job(given: dict[str, Any]) -> Any:
    """A description of the run as later versions have it."""
    ids = {name: given[name] for name in ("run_id", "thread_id", "graph_id")}
    execution = SimpleNamespace(input_data=given["input_data"], command=given.get("command"))
    return SimpleNamespace(identity=SimpleNamespace(**ids), user=given["user"], execution=execution)


def _config(given: dict[str, Any]) -> dict[str, Any]:
    """The configuration with which Aegra runs its graph."""
    config = endpoints.create_run_config(
        given["run_id"], given["thread_id"], given["user"], given.get("config") or {}, given.get("checkpoint")
    )
    for name in ("interrupt_before", "interrupt_after"):
        nodes = given.get(name)
        if nodes is not None:
            config[name] = nodes if isinstance(nodes, list) else [nodes]
    return config


async def _execute(
    opening: Opening,
    wrapped: Callable[[], Awaitable[None]],
    given: dict[str, Any],
    decision: _Decision,
    accepting: _Accepting | None,
) -> None:
    run_id, job = given["run_id"], _job(given)
    _accepting.set(None)  # the task was begun by the request, and is no part of it
    try:
        served = run_of(job, await assistant_of(run_id) if opening.runs.hooked else "", _config(given))
        admission = await opening.runs.ask(RUN, served, {})
        if accepting is not None:
            await accepting.begin(job)
    except BaseException as error:
        if isinstance(error, Exception):
            decision.refusal = error
        await _refused(job, error)
        if decision.refusal is None:
            raise
        return
    finally:
        decision.made.set()
    run = _Running(run_id, opening.runs.executing(RUN, served, admission))
    _running.set(run)
    error: BaseException | None = None
    try:
        await wrapped()
    except BaseException as raised:
        error = None if run.left else raised
        raise
    finally:
        await run.execution.end(error)


async def _refused(job: Any, error: BaseException) -> None:
    """Record that a run has ended without having begun; its thread stays as it is."""
    run_id = job.identity.run_id
    status = "interrupted" if isinstance(error, asyncio.CancelledError) else "error"
    reason = error.reason if isinstance(error, Reject) else str(error)
    try:
        await endpoints.update_run_status(run_id, status, output={}, error=reason)
        await endpoints.streaming_service.cleanup_run(run_id)
    except Exception as failure:
        log.error("spanhook: cannot record that run %s was refused", run_id, exc_info=failure)
    endpoints.active_runs.pop(run_id, None)


async def record(
    _opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of what records the status of a run: it begins with the first one, and its outcome is in the last."""
    run = _running.get()
    if run is None or run.run_id != first(args, kwargs, "run_id"):
        await wrapped(*args, **kwargs)
        return
    status = args[1] if len(args) > 1 else kwargs["status"]
    error = sys.exc_info()[1]  # what Aegra handles as it says so
    if not run.begun:
        run.begun = True
        await run.execution.enter()
    elif error is not None:
        run.leave(error=error)
    elif status != "running":
        instead = run.leave(kwargs.get("output"), left="interrupted" if status == "interrupted" else "")
        if instead is not None:
            raise instead
    await wrapped(*args, **kwargs)


async def stream(
    _opening: Opening, wrapped: Callable[..., AsyncGenerator[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> AsyncGenerator[Any]:
    """In place of what runs the graph: what stops the run from inside leaves it as an error that Aegra records."""
    try:
        async with aclosing(wrapped(*args, **kwargs)) as events:
            async for event in events:
                yield event
    except GeneratorExit:
        raise
    except BaseException as error:
        run = _running.get()
        instead = None if run is None else run.leave(error=error)
        if instead is None:
            raise
        raise instead from None
