"""Makes one call with its hooks around it: the drivers for functions and coroutine functions.

A result is handled by its type: a value, an awaitable, or a stream.

An interrupt may come wherever CPython checks for one: at the start of a function, and after a call. So context is set
inside a ``try`` and restored only by C functions, each in the ``finally`` of the one before, and what has not ended by
then goes on the reaper's queue. Streams and hand-offs are driven in the same way.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from opentelemetry.context import Context

from spanhook.concurrency import Dropped, drive, reaper
from spanhook.engine._announcing import Announcement
from spanhook.engine._completion import afinish, finish, interrupted, left
from spanhook.engine._elsewhere import Elsewhere
from spanhook.engine._gates import apasses, asent, asked, passes, prepared, sent, sent_on, show
from spanhook.engine._pending import await_end
from spanhook.engine.absorption import Absorbed, Part
from spanhook.engine.beginning import begin
from spanhook.engine.handover import hand_over, stream_sort, tap
from spanhook.engine.lifecycle import fail, outcome, settle
from spanhook.engine.receiving import taken
from spanhook.errors import RunStopped, Unwound
from spanhook.model import NO_DECISIONS, NOBODY, Adapter, Args, Deferred, InHook, Kwargs, Record, current, shed
from spanhook.telemetry import context_with, get_context, set_context

Held = Record | InHook | None


def call(adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """Call a plain function as an operation."""
    op = begin(adapter, instance, args, kwargs)
    if op is None:
        return wrapped(*args, **kwargs)
    if type(op) is not Record:
        if type(op) is Part:
            args, kwargs = sent_on(adapter, instance, args, kwargs)
            return wrapped(*args, **kwargs)
        assert type(op) is Absorbed
        args, kwargs = prepared(adapter, instance, args, kwargs)
        if adapter.editing.repeat is None:
            result = op.make(wrapped, args, kwargs)
        else:
            result, args, kwargs = op.make(partial(sent, adapter, wrapped, instance), (args, kwargs), {})
        return tap(op, instance, args, kwargs, result)
    try:
        try:
            set_context(context_with(op.span, op.before))
            current.set(op)
            if op.error is None if op.plan is None else passes(op):
                op.called = True
                if adapter.may_stream and op.runner is not None:
                    asked(op)
                if adapter.prepares:
                    op.args, op.kwargs = prepared(adapter, instance, op.args, op.kwargs)
                if adapter.receiving is not None and op.plan is not None:
                    show(op)
                try:
                    if adapter.editing.repeat is None:
                        result = wrapped(*op.args, **op.kwargs)
                    else:
                        result, op.args, op.kwargs = sent(adapter, wrapped, instance, op.args, op.kwargs)
                except BaseException as error:
                    fail(op, error)
                else:
                    if adapter.may_stream and (stream := hand_over(op, result)) is not None:
                        return stream
                    if issubclass(type(result), Awaitable):
                        return _awaited(op, result, left(op))
                    settle(op, result)
            elif op.decided.answered and adapter.editing.announce is not None:
                op.part(Deferred).outputs = (Announcement(op),)
            finish(op)
        finally:
            try:
                set_context(op.before)
            finally:
                current.set(op.held)
    except BaseException as error:
        op.ended = True
        if not op.reported and not op.handed:
            reaper.put((interrupted, op, False, None, error))
            await_end(op)
        raise
    try:
        return outcome(op)
    finally:
        del op  # the traceback of what it failed with holds this frame


async def acall(
    adapter: Adapter, wrapped: Callable[..., Awaitable[Any]], instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """Call a coroutine function as an operation."""
    op = begin(adapter, instance, args, kwargs)
    if type(op) is not Record:
        try:
            if op is None:
                return await wrapped(*args, **kwargs)
            if type(op) is Part:
                args, kwargs = sent_on(adapter, instance, args, kwargs)
                return await wrapped(*args, **kwargs)
            assert type(op) is Absorbed
            args, kwargs = prepared(adapter, instance, args, kwargs)
            if adapter.editing.repeat is None:
                result = await op.amake(wrapped, args, kwargs)
            else:
                result, args, kwargs = await op.amake(partial(asent, adapter, wrapped, instance), (args, kwargs), {})
            return tap(op, instance, args, kwargs, result)
        except BaseException as error:
            shed(error)
            raise
    try:
        try:
            set_context(context_with(op.span, op.before))
            current.set(op)
            plan = op.plan
            if plan is None:
                passed = op.error is None
            else:
                passed = await apasses(op, partial(_make, op, wrapped) if plan.wraps else None)
            if passed:
                await _make(op, wrapped)
                if adapter.may_stream and (stream := hand_over(op, op.result)) is not None:
                    return stream
            elif op.decided.answered and adapter.editing.announce is not None:
                op.part(Deferred).outputs = (Announcement(op),)
            if op.runner is None:
                finish(op)
            else:
                await afinish(op)
        finally:
            try:
                set_context(op.before)
            finally:
                current.set(op.held)
    except BaseException as error:
        op.ended = True
        if not op.reported and not op.handed:
            reaper.put((interrupted, op, True, None, error))
            await_end(op)
        raise
    try:
        result = outcome(op)
        decided = op.decided
        if (
            decided is not NO_DECISIONS
            and (decided.answered or decided.refused)
            and issubclass(type(result), Awaitable)
        ):
            return await result
        return result
    except BaseException as error:
        shed(error)
        raise
    finally:
        del op  # as in `call`


def call_for(held: Held, wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Call a plain function on behalf of what was current elsewhere."""
    return drive(_standing_in(held, wrapped, args, kwargs, is_async=False))


async def acall_for(held: Held, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    """Call a coroutine function on behalf of what was current elsewhere."""
    try:
        return await _standing_in(held, wrapped, args, kwargs, is_async=True)
    except BaseException as error:
        shed(error)
        raise


async def _standing_in(held: Held, wrapped: Callable[..., Any], args: Args, kwargs: Kwargs, *, is_async: bool) -> Any:
    """Make ``held`` current for code that a framework runs on its behalf, such as in a task that serves many runs.

    A rejection of the run is raised as the plain ``Reject``, which the framework passes to the waiting caller.
    """
    op = held.op if isinstance(held, InHook) else held
    context = Context() if op is None else context_with(op.span, op.before)
    try:
        with Elsewhere(held, context, NOBODY if op is None else op.ambient):
            result = wrapped(*args, **kwargs)
            return await result if is_async else result
    except RunStopped as stopped:
        raise stopped.reject from None


def call_inside(op: Record, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a part of ``op`` in another thread, to which the context was not passed on."""
    try:
        with Elsewhere(op, context_with(op.span, op.before), op.ambient):
            return function(*args, **kwargs)
    except BaseException as error:
        shed(error)
        raise


async def _make(op: Record, wrapped: Callable[..., Awaitable[Any]]) -> None:
    op.called = True
    asked(op)
    if op.adapter.prepares:
        op.args, op.kwargs = prepared(op.adapter, op.instance, op.args, op.kwargs)
    adapter = op.adapter
    made = _looked_at if adapter.receiving is not None and op.plan is not None else None
    try:
        if adapter.editing.repeat is not None:
            result, op.args, op.kwargs = await asent(adapter, wrapped, op.instance, op.args, op.kwargs)
        else:
            result = await (wrapped(*op.args, **op.kwargs) if made is None else made(op, wrapped))
    except BaseException as error:
        fail(op, error)
    else:
        if op.adapter.may_stream and stream_sort(op.adapter, result):
            op.result = result
        else:
            settle(op, result)


async def _looked_at(op: Record, wrapped: Callable[..., Awaitable[Any]]) -> Any:
    """Make a call whose body gates look at; once more if they have to wait where the framework cannot."""
    show(op)
    args, kwargs = op.args, op.kwargs
    while True:
        try:
            return await wrapped(*args, **kwargs)
        except Unwound:
            look = taken(op)
            if look is None:
                raise
            await look.wait()


async def _awaited(op: Record, result: Awaitable[Any], dropped: Dropped) -> Any:
    """Continue an operation whose plain function returned an awaitable."""
    before, held = get_context(), current.get()
    try:
        try:
            dropped.hand = int
            set_context(context_with(op.span, op.before))
            current.set(op)
            try:
                made = await result
                if op.adapter.may_stream and (stream := hand_over(op, made)) is not None:
                    return stream
                settle(op, made)
            except BaseException as error:
                shed(error)
                op.error = error
            await afinish(op)
        finally:
            try:
                set_context(before)
            finally:
                current.set(held)
    except BaseException as error:
        op.ended = True
        if not op.reported and not op.handed:
            reaper.put((interrupted, op, True, None, error))
            await_end(op)
        raise
    try:
        return outcome(op)
    except BaseException as error:
        shed(error)
        raise
    finally:
        del op  # as in `call`
