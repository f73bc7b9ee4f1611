"""Operations of the application's own code as ``with`` blocks.

A block is driven by hand in the same way as a call: C functions restore the current context, and what has not ended by
then goes to the reaper. A block cannot be skipped, so its code has to take a hook's answer; see ``OwnOperation``.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import Any, TypeVar

from spanhook.concurrency import drive, reaper
from spanhook.engine._completion import afinish, finish, interrupted, operate
from spanhook.engine._gates import apasses, passes
from spanhook.engine._own_adapters import Own, block_adapter
from spanhook.engine._own_functions import decorated
from spanhook.engine._own_operation import OwnOperation
from spanhook.engine._pending import await_end
from spanhook.engine.beginning import Beginning, begin
from spanhook.engine.lifecycle import fail, outcome, settle
from spanhook.errors import ConfigurationError, OperationError, Reject
from spanhook.gating import count_decision, unanswered
from spanhook.model import InHook, Record, asheds, current, shed, sheds
from spanhook.semconv import Kind
from spanhook.telemetry import set_context

F = TypeVar("F", bound=Callable[..., Any])


class OperationBlock:
    """What ``operation`` returns: a context manager for ``with`` and ``async with``, and a decorator."""

    _hand: Callable[[], Any] = int
    __del__: Any = property(attrgetter("_hand"))  # not a Python function, which could be interrupted

    def __init__(self, kind: Kind, own: Own, request: Mapping[str, Any] | None) -> None:
        self._kind: Kind = kind
        self._own = own
        self._request = request
        self._handle: OwnOperation | None = None
        self._entered = False

    def __call__(self, function: F) -> F:
        if self._request is not None or self._entered:
            raise ConfigurationError(
                "request= is for `with` blocks; a decorated function's request is its arguments, so leave it out"
            )
        return decorated(function, self._kind, self._own)

    def _begin(self) -> Beginning:
        if self._entered:
            raise OperationError("this operation was already entered; call spanhook.operation() for each block")
        self._entered = True
        given = self._request or {}
        own = self._own
        adapter = block_adapter(self._kind, frozenset(given), own.verb, identified=bool(own.ids))
        return begin(adapter, own, (), given)

    def _keep(self, op: Record, *, is_async: bool) -> None:
        """Let the reaper end the operation if the block is dropped without being left."""
        reaper.start()
        self._handle = OwnOperation(op, is_async=is_async)
        self._hand = partial(reaper.put, (interrupted, op, is_async, None, GeneratorExit()))

    # ----------------------------------------------------------------- entering

    @sheds
    def __enter__(self) -> OwnOperation:
        return drive(self._enter(is_async=False))

    @asheds
    async def __aenter__(self) -> OwnOperation:
        return await self._enter(is_async=True)

    async def _enter(self, *, is_async: bool) -> OwnOperation:
        async def enter(op: Record) -> bool:
            if await apasses(op) if is_async else passes(op):
                self._keep(op, is_async=is_async)
                op.called = True
                return True
            if is_async:
                await afinish(op)
            else:
                finish(op)
            return False

        op: Any = await operate(self._begin, enter, is_async=is_async)  # nothing absorbs a block
        return outcome(op) if self._handle is None else self._handle

    # ----------------------------------------------------------------- leaving

    # Two methods, not one coroutine as for entering: an interrupt before its first step would leave the operation
    # current.

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        handle, op = self._leave()
        away = False
        before = op.error
        try:
            try:
                self._hand = int
                if self._is_over(handle, op, error):
                    finish(op)
            finally:
                try:
                    away = elsewhere(op)
                finally:
                    if not away:
                        try:
                            set_context(op.before)
                        finally:
                            current.set(op.held)
        except BaseException as failure:
            op.ended = True
            if not op.reported and not op.handed:
                reaper.put((interrupted, op, False, None, failure))
                await_end(op)
            raise
        raise_outcome(op, error, before)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        handle, op = self._leave()
        away = False
        before = op.error
        try:
            try:
                self._hand = int
                if self._is_over(handle, op, error):
                    await afinish(op)
            finally:
                try:
                    away = elsewhere(op)
                finally:
                    if not away:
                        try:
                            set_context(op.before)
                        finally:
                            current.set(op.held)
        except BaseException as failure:
            op.ended = True
            if not op.reported and not op.handed:
                reaper.put((interrupted, op, True, None, failure))
                await_end(op)
            raise
        raise_outcome(op, error, before)

    # ----------------------------------------------------------------- the end

    def _leave(self) -> tuple[OwnOperation, Record]:
        handle = self._handle
        if handle is None or handle._left:
            raise OperationError("this operation was left without being entered; use it as a `with` block")
        return handle, handle._record

    def _is_over(self, handle: OwnOperation, op: Record, error: BaseException | None) -> bool:
        """Record how the block ended; returns whether its operation ends here."""
        handle._left = True
        if op.ended:
            return False
        stream, handle._stream_end = handle._stream_end, None
        if stream is not None and stream.is_unfinished:
            if error is None:
                return False  # it continues in a stream that was handed out
            stream.end_without(op)
        if next(handle._endings):
            return False
        if not handle._used:
            self._own.takes_answer = False
            if op.decided.answerer is not None:
                unanswered(op, count_decision, keep=error is not None)
            if error is None and op.error is None:
                settle(op, handle._output)
        if error is not None and op.error is not error:
            if handle._used:
                op.error = error
            else:
                fail(op, error)
        return True


def elsewhere(op: Record) -> bool:
    """Whether the block is left in another context than its own, as may happen in a dropped generator."""
    held = current.get()
    found = held.op if isinstance(held, InHook) else held
    while found is not None and found is not op and found.ended:  # an interrupt may leave ended operations current
        found = found.parent
    return found is not op


def raise_outcome(op: Record, error: BaseException | None, before: BaseException | None) -> None:
    """Raise the block's outcome, unless its own code raised it or has caught it."""
    found = op.error
    if found is None or not op.ended:
        return
    if (found is error or (error is None and found is before)) and not isinstance(found, Reject):
        return
    if found is before and op.run.stop is None:
        return
    trace = None if error is None else error.__traceback__
    try:
        outcome(op)
    except BaseException as raised:
        if raised is error:
            BaseException.with_traceback(raised, trace)
            return
        shed(raised)
        raise
