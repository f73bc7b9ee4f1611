"""Operations of the application's own code as ``with`` blocks.

A block is driven by hand in the same form as a call: what is made current is put back by functions of C, and what has
not ended by then goes to the reaper. It cannot be left out, so a hook's answer needs to be taken; see ``OwnOperation``.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import Any, TypeVar

from spanhook.concurrency import drive, reaper
from spanhook.engine._completion import afinish, await_end, finish, interrupted
from spanhook.engine._gates import Run, apasses, passes, start
from spanhook.engine._own_adapters import Own, block_adapter
from spanhook.engine._own_functions import decorated
from spanhook.engine._own_operation import OwnOperation
from spanhook.engine.lifecycle import begin, fail, outcome, settle
from spanhook.errors import ConfigurationError, OperationError, Reject
from spanhook.gating import count_decision, unanswered
from spanhook.model import InHook, Record, asheds, current, shed, sheds
from spanhook.semconv import Kind
from spanhook.telemetry import context_with, set_context

F = TypeVar("F", bound=Callable[..., Any])


class OperationBlock:
    """What ``operation`` makes: a context manager for ``with`` and ``async with``, and a decorator."""

    _hand: Callable[[], Any] = int
    __del__: Any = property(attrgetter("_hand"))  # no Python function, which may be interrupted

    def __init__(self, kind: Kind, own: Own, request: Mapping[str, Any] | None) -> None:
        self._kind: Kind = kind
        self._own = own
        self._request = request
        self._handle: OwnOperation | None = None
        self._entered = False

    def __call__(self, function: F) -> F:
        if self._request is not None or self._entered:
            raise ConfigurationError(
                "request= is for `with` blocks; what a decorated function is asked for are its arguments"
            )
        return decorated(function, self._kind, self._own)

    def _begin(self) -> Record:
        if self._entered:
            raise OperationError("this operation has been entered before; make one with spanhook.operation() each time")
        self._entered = True
        given = self._request or {}
        op = begin(block_adapter(self._kind, frozenset(given), self._own.verb), self._own, (), given)
        assert type(op) is Record  # nothing absorbs a block
        return op

    def _keep(self, op: Record, run: Run | None, *, is_async: bool) -> OwnOperation:
        """Have the operation ended by the reaper if the block is dropped without having been left."""
        reaper.start()
        handle = self._handle = OwnOperation(op, run, is_async=is_async)
        self._hand = partial(reaper.put, (interrupted, op, run, is_async, None, GeneratorExit()))
        return handle

    # ----------------------------------------------------------------- entering

    @sheds
    def __enter__(self) -> OwnOperation:
        return drive(self._enter(is_async=False))

    @asheds
    async def __aenter__(self) -> OwnOperation:
        return await self._enter(is_async=True)

    async def _enter(self, *, is_async: bool) -> OwnOperation:
        op = self._begin()
        run: Run | None = None
        inside = False
        try:
            try:
                set_context(context_with(op.span, op.before))
                current.set(op)
                if op.plan is not None:
                    run = start(op, is_async=is_async)
                if op.error is None and (run is None or (await apasses(op, run) if is_async else passes(op, run))):
                    handle = self._keep(op, run, is_async=is_async)
                    op.called = inside = True
                    return handle
                if is_async:
                    await afinish(op, run)
                else:
                    finish(op, run)
            finally:
                if not inside:
                    try:
                        set_context(op.before)
                    finally:
                        current.set(op.held)
        except BaseException as error:
            op.ended = True
            if not op.reported and not op.handed:
                reaper.put((interrupted, op, run, is_async, None, error))
                await_end(op)
            raise
        return outcome(op)

    # ----------------------------------------------------------------- leaving

    # Twins, and not a coroutine as for entering: an interrupt before its first step would leave the operation current.

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        handle, op = self._leave()
        run, elsewhere = handle._run, False
        before = op.error
        try:
            try:
                self._hand = int
                if self._is_over(handle, op, error):
                    finish(op, run)
            finally:
                try:
                    elsewhere = _elsewhere(op)
                finally:
                    if not elsewhere:
                        try:
                            set_context(op.before)
                        finally:
                            current.set(op.held)
        except BaseException as failure:
            op.ended = True
            if not op.reported and not op.handed:
                reaper.put((interrupted, op, run, False, None, failure))
                await_end(op)
            raise
        _raise(op, error, before)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        handle, op = self._leave()
        run, elsewhere = handle._run, False
        before = op.error
        try:
            try:
                self._hand = int
                if self._is_over(handle, op, error):
                    await afinish(op, run)
            finally:
                try:
                    elsewhere = _elsewhere(op)
                finally:
                    if not elsewhere:
                        try:
                            set_context(op.before)
                        finally:
                            current.set(op.held)
        except BaseException as failure:
            op.ended = True
            if not op.reported and not op.handed:
                reaper.put((interrupted, op, run, True, None, failure))
                await_end(op)
            raise
        _raise(op, error, before)

    # ----------------------------------------------------------------- the end

    def _leave(self) -> tuple[OwnOperation, Record]:
        handle = self._handle
        if handle is None or handle._left:
            raise OperationError("an operation was left that has not been entered")
        return handle, handle._record

    def _is_over(self, handle: OwnOperation, op: Record, error: BaseException | None) -> bool:
        """Take what the block came to; whether its operation ends here."""
        handle._left = True
        if op.ended:
            return False
        track, handle._track = handle._track, None
        if track is not None and track.is_unfinished:
            if error is None:
                return False  # it goes on in a stream that was handed out
            track.leave(op)
        if next(handle._endings):
            return False
        if not handle._used:
            self._own.takes_answer = False
            if op.answerer is not None:
                unanswered(op, count_decision, keep=error is not None)
            if error is None and op.error is None:
                settle(op, None)
        if error is not None and op.error is not error:
            if handle._used:
                op.error = error
            else:
                fail(op, error)
        return True


def _elsewhere(op: Record) -> bool:
    """Whether the block is left in a context that is not its own, as that of a generator which is dropped may be."""
    held = current.get()
    found = held.op if isinstance(held, InHook) else held
    while found is not None and found is not op and found.ended:  # interrupts may leave what was in it
        found = found.parent
    return found is not op


def _raise(op: Record, error: BaseException | None, before: BaseException | None) -> None:
    """Raise what a block has come to, unless it is what its code has raised itself, or has caught."""
    found = op.error
    if found is None or not op.ended:
        return
    if (found is error or (error is None and found is before)) and not isinstance(found, Reject):
        return
    if found is before and op.root.latch is None:
        return
    trace = None if error is None else error.__traceback__
    try:
        outcome(op)
    except BaseException as raised:
        if raised is error:
            raised.__traceback__ = trace
            return
        shed(raised)
        raise
