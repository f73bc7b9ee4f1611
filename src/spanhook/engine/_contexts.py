"""Async context managers whose block is an operation, such as the run of an agent: from entering to leaving.

If what is entered is a stream, its steps are the operation instead, and leaving only closes it.

Driven by hand as calls are: C functions restore the current context, and what has not ended by then goes to the reaper.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import Any

from spanhook.concurrency import reaper
from spanhook.engine._completion import afinish, interrupted, operate
from spanhook.engine._gates import apasses, asked, prepared, sent_on
from spanhook.engine._own_blocks import elsewhere, raise_outcome
from spanhook.engine._pending import await_end
from spanhook.engine._streams import Track
from spanhook.engine.absorption import Absorbed, Part
from spanhook.engine.beginning import begin
from spanhook.engine.handover import tap, tracked
from spanhook.engine.lifecycle import fail, outcome, read_response, settle
from spanhook.model import Adapter, Args, Kwargs, Record, asheds, current
from spanhook.telemetry import set_context


class OperationContext(AbstractAsyncContextManager[Any]):
    """What a call of a function that returns an async context manager returns instead.

    The function is called once the gates have let the call pass.
    """

    _hand: Callable[[], Any] = int
    __del__: Any = property(attrgetter("_hand"))  # not a Python function, which could be interrupted

    def __init__(
        self, adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs
    ) -> None:
        self._call = adapter, wrapped, instance, args, kwargs
        self._inner: Any = None
        self._op: Record | None = None
        self._track: Track | None = None
        self._value: Any = None

    @property
    def entered(self) -> bool:
        """Whether the block has begun: no hook has refused the operation or answered in its place."""
        return self._inner is not None

    @property
    def result(self) -> Any:
        """What hooks have made of the result, once the block is left."""
        return self._value if self._op is None else self._op.result

    # ----------------------------------------------------------------- entering

    @asheds
    async def __aenter__(self) -> Any:
        adapter, wrapped, instance, args, kwargs = self._call
        self._op = self._track = None
        op = await operate(lambda: begin(adapter, instance, args, kwargs), self._enter, is_async=True)
        if self._op is not None or self._track is not None:
            return self._value
        if type(op) is Record:
            return outcome(op)
        if op is None:
            self._inner = wrapped(*args, **kwargs)
            return await self._inner.__aenter__()
        if type(op) is Part:
            args, kwargs = sent_on(adapter, instance, args, kwargs)
            self._inner = wrapped(*args, **kwargs)
            return await self._inner.__aenter__()
        assert type(op) is Absorbed
        args, kwargs = prepared(adapter, instance, args, kwargs)
        self._inner = wrapped(*args, **kwargs)
        result = await op.amake(self._inner.__aenter__, (), {})
        return tap(op, instance, args, kwargs, result) if adapter.may_stream else result

    async def _enter(self, op: Record) -> bool:
        wrapped = self._call[1]
        if "made_elsewhere" in op.adapter.traits:
            _is_made(op)
        if await apasses(op):
            op.called = True
            asked(op)
            if op.adapter.prepares:
                op.args, op.kwargs = prepared(op.adapter, op.instance, op.args, op.kwargs)
            try:
                self._inner = wrapped(*op.args, **op.kwargs)
                self._value = await self._inner.__aenter__()
            except BaseException as error:
                self._inner = None
                fail(op, error)
            else:
                handed = tracked(op, self._value)
                if handed is not None:
                    self._track, self._value = handed
                    return False
                self._keep(op)
                return True
        await afinish(op)
        return False

    def _keep(self, op: Record) -> None:
        """Let the reaper end the operation if the block is dropped without being left."""
        reaper.start()
        self._op = op
        self._hand = partial(reaper.put, (interrupted, op, True, None, GeneratorExit()))

    # ----------------------------------------------------------------- leaving

    # One coroutine and not two, as for entering: an interrupt before the first step of the inner one would leave the
    # operation current.

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        op = self._op
        if op is None:
            return await self._close(kind, error, trace)
        away, suppressed = False, False
        try:
            try:
                self._hand = int
                try:
                    suppressed = bool(await self._inner.__aexit__(kind, error, trace))
                except BaseException as raised:
                    fail(op, raised)
                else:
                    if error is not None and not suppressed:
                        fail(op, error)
                    else:
                        settle(op, self._value)
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
        raise_outcome(op, error, None)
        return suppressed

    @asheds
    async def _close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Leave what is no operation, or whose operation is the stream that it gave."""
        inner = self._inner
        if self._track is not None:
            return await self._track.close("__aexit__", kind, error, trace, of=inner)
        return None if inner is None else await inner.__aexit__(kind, error, trace)


def _is_made(op: Record) -> None:
    """Another program makes the call, whatever the gates say: note what it has reported by now."""
    op.called = True
    response = op.adapter.reading.response
    if response is not None:
        read_response(op, response, op.instance)
