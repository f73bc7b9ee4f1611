"""Operations that begin with one message of the program and end with another: each in a task of its own.

The tasks are the SDK's own sort, which exists on asyncio and on Trio.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import Context, copy_context
from typing import Any

import anyio
from claude_agent_sdk._internal._task_compat import spawn_detached

from spanhook.errors import RunStopped
from spanhook.model import Adapter, Args, Opening, Record, current_record

_running: set["Lasting"] = set()
"""Strong references: event loops keep only weak ones to their tasks."""


class Lasting:
    """One operation.

    Args:
        opening: Opens it.
        adapter: How it is read.
        instance: What it is read from, which is also its result: what happens is noted there.
        args: What hooks may rewrite.
        context: The context that it begins in; the current one unless given.
        dropped: What it ends with if its task is, such as with the event loop.

    Attributes:
        instance: What it is read from.
        args: The arguments that the gates have let pass.
        context: The context of what happens inside of it, once it has begun.
        record: The operation, once it has begun.
        went: The gates have let it pass.
        result: What hooks have made of the result, or have answered with.
        error: What it was refused with, or what hooks have made of its end.
    """

    def __init__(
        self,
        opening: Opening,
        adapter: Adapter,
        instance: Any,
        args: Args = (),
        context: Context | None = None,
        dropped: Callable[[], BaseException] = asyncio.CancelledError,
    ) -> None:
        self.instance, self.args, self.context = instance, args, context or copy_context()
        self.record: Record | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.went, self._dropped = False, dropped
        self._failure: BaseException | None = None
        self._began, self._over, self._done = anyio.Event(), anyio.Event(), anyio.Event()
        self._opened = opening(adapter, self._going, instance, args)

    @property
    def open(self) -> bool:
        """Whether it has begun and not ended."""
        return self.went and not self._over.is_set()

    async def begin(self) -> bool:
        """Begin it; returns whether the gates have let it pass."""
        _running.add(self)
        task = self.context.run(spawn_detached, self._run())
        try:
            await self._began.wait()
        except BaseException:  # whoever asks is gone, and waits for no hook
            self.leave(asyncio.CancelledError())
            if not self.went:
                task.cancel()
            raise
        return self.went

    async def end(self, failure: BaseException | None = None) -> None:
        """End it, with what went wrong if anything did, and wait for its hooks."""
        self._failure = self._failure or failure
        self._over.set()
        await self._done.wait()

    def leave(self, failure: BaseException) -> None:
        """End it without waiting."""
        self._failure = self._failure or failure
        self._over.set()

    async def _run(self) -> None:
        try:
            async with self._opened as answer:
                if self.went:
                    self._began.set()
                    await self._last()
                    if self._failure is not None:
                        raise self._failure
                else:
                    self.result = answer
            if self.went:
                self.result = self._opened.result
        except (Exception, RunStopped) as error:
            self.error = error
        except BaseException as error:
            self.error = error
            if error is not self._failure:
                raise
        finally:
            _running.discard(self)
            for one in (self._began, self._over, self._done):
                one.set()

    async def _last(self) -> None:
        """Wait for the end."""
        try:
            await self._over.wait()
        except anyio.get_cancelled_exc_class():
            if self._dropped is asyncio.CancelledError:
                raise
            self._failure = self._failure or self._dropped()

    def _going(self, *args: Any) -> "_Going":
        return _Going(self, self.instance, args)


class _Going(AbstractAsyncContextManager[Any]):
    """What the operation is a call of."""

    def __init__(self, lasting: Lasting, instance: Any, args: Args) -> None:
        self._lasting, self._instance, self._args = lasting, instance, args

    async def __aenter__(self) -> Any:
        lasting = self._lasting  # the operation is current
        lasting.args, lasting.context, lasting.record, lasting.went = self._args, copy_context(), current_record(), True
        return self._instance

    async def __aexit__(self, *_given: object) -> None:
        return None
