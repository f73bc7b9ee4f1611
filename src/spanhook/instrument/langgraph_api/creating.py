"""Decides about a run where it is created, and so before it is stored."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from langgraph_api.utils import uuid7

from spanhook.instrument.identities import as_id
from spanhook.instrument.langgraph_api.run import ADMISSIONS, RUN, asked
from spanhook.model import Admission, Args, Kwargs, Opening, asheds

_NAMES = ("conn", "thread_id", "payload", "headers", "barrier", "run_id")


class _Batch:
    """The runs that one request asks for together: if one of them is refused, none is stored."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._refused: BaseException | None = None
        self._decided = asyncio.Event()

    async def decided(self, refused: BaseException | None) -> None:
        """Note what was decided about one of them, and wait for the others.

        Raises:
            BaseException: Why the first one was refused.
        """
        self._left -= 1
        self._refused = self._refused or refused
        if not self._left:
            self._decided.set()
        await self._decided.wait()
        if self._refused is not None:
            raise self._refused


_batches: WeakKeyDictionary[asyncio.Barrier, _Batch] = WeakKeyDictionary()


@asheds
async def create(
    opening: Opening, wrapped: Callable[..., Awaitable[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """In place of the function that creates every run."""
    if not opening.runs.hooked:
        return await wrapped(*args, **kwargs)
    given: dict[str, Any] = {**dict(zip(_NAMES, args, strict=False)), **kwargs}
    barrier: asyncio.Barrier | None = given.get("barrier")
    batch = None if barrier is None else _batches.setdefault(barrier, _Batch(barrier.parties))
    run_id = given.get("run_id") or uuid7()
    admission: Admission | None = None
    refused: BaseException | None = None
    try:
        run = asked(as_id(run_id), given.get("thread_id"), given["payload"], given["conn"])
        admission = await opening.runs.ask(RUN, run, {})
    except BaseException as error:
        if batch is None:
            raise
        refused = error
    if batch is not None:
        await batch.decided(refused)
    if admission is not None:
        await ADMISSIONS.keep(admission)
    try:
        return await wrapped(*args[: len(_NAMES) - 1], **_named(args, kwargs, run_id))
    except BaseException:
        await ADMISSIONS.drop(as_id(run_id))  # it was not stored: its assistant is unknown, or its thread busy
        raise


def _named(args: Args, kwargs: Kwargs, run_id: Any) -> dict[str, Any]:
    """The arguments that are given by name, among them the id of the run."""
    rest = ("request_start_time", "temporary", "cron_id")
    return {**dict(zip(rest, args[len(_NAMES) :], strict=False)), **kwargs, "run_id": run_id}
