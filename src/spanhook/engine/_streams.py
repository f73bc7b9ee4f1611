"""Streams: one operation from a stream's first step to its end, however it ends.

Each step makes the operation's context current and takes it off again, never across a step, so what the consumer does
between two items has the parent it would have had. Steps are written once, as coroutines that sync streams drive by
hand; see ``handover`` for what is handed to the consumer.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Any

from opentelemetry.context import Context

from spanhook.concurrency import drive, reaper, running_loop
from spanhook.diagnostics import internal
from spanhook.engine._completion import Run, afinish, apasses, await_end, finish, orphan, passes, prepared, start
from spanhook.engine.absorption import Absorbed
from spanhook.engine.lifecycle import begin, note_response, outcome, returned
from spanhook.errors import Reject
from spanhook.model import REPLACEABLE, Adapter, Args, Body, Chunks, Kwargs, Record, clock, current, shed
from spanhook.telemetry import context_with, get_context, set_context, telemetry

END: Any = object()
"""What a step returns when there is nothing more; ``Track.value`` is then the generator's return value."""


class Nothing:
    """The track of no stream."""

    hand = int


NOTHING = Nothing()

_unfinished: set[Run] = set()
"""Strong references to the hooks of streams under way. Of a stream in a reference cycle the garbage collector would
close them before it lets anybody know."""


class Track:
    """One stream and its operation.

    Args:
        adapter: How the stream's call reads.
        source: The library's own iterator.
        is_async: Whether its steps are awaited.

    Attributes:
        plain: Nothing is tracked: it is no operation of its own, or the operation has ended.
        dead: The source must never be stepped, because a hook refused or answered the call.
        hand: Called when the consumer drops the stream, which a finalizer does: a function of C.
    """

    __slots__ = (
        "_answer",
        "_buffer",
        "_chunks",
        "_context",
        "_ends",
        "_loop",
        "_run",
        "adapter",
        "call",
        "dead",
        "hand",
        "is_async",
        "op",
        "plain",
        "source",
        "value",
    )

    def __init__(self, adapter: Adapter, source: Any, *, is_async: bool) -> None:
        self.adapter, self.source, self.is_async = adapter, source, is_async
        self.op: Record | None = None
        self.call: tuple[Callable[..., Any], Any, Args, Kwargs] | None = None
        self.plain = self.dead = False
        self.hand: Callable[[], Any] = int
        self._ends = count()
        self.value: Any = None
        self._run: Run | None = None
        self._answer: Callable[[Any], Iterable[Any]] | None = None
        self._chunks: Chunks | None = None
        self._context: Context | None = None
        self._buffer: deque[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # ------------------------------------------------------------------------------------------- start

    def lazy(self, make: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> None:
        """Begin the operation at the first step: ``source`` is a generator whose code has not run yet."""
        self.call = (make, instance, args, kwargs)

    def adopt(self, op: Record, run: Run | None, body: Body | None = None) -> None:
        """Go on with an operation whose call has returned the stream; its context is current."""
        self.op = op
        self._hold(run)
        op.result = None
        if body is not None:
            self._chunks, self._answer = body.chunks, body.answer
        if not self.adapter.opaque:
            self._context = get_context()
        self._prepare(op)

    def _prepare(self, op: Record) -> None:
        self.op = op
        reaper.start()
        if op.parent is not None:
            op.leave_to_reaper()
        self.hand = partial(reaper.put, (type(self)._dropped, self))
        op.streamed = op.kind in REPLACEABLE
        if self.is_async and op.plan is not None:
            self._loop = running_loop()
        try:
            if self._chunks is None and self.adapter.chunks is not None:
                self._chunks = self.adapter.chunks(op.instance, op.args, op.kwargs)
            if self._chunks is not None:
                self._chunks.keep = op.plan is not None or telemetry.span_content or telemetry.event_content
        except Exception as error:
            internal.report("extract.chunks", error, lost=1)

    def _hold(self, run: Run | None) -> Run | None:
        self._run = run
        if run is not None:
            _unfinished.add(run)
        return run

    def begins(self, body: Any, steps: Any) -> bool:
        """Whether ``steps`` are the first that are taken of ``body``, and so those of this track."""
        if self.plain or self.source is not body:
            return False
        self.source = steps
        return True

    def goes_on_in(self, response: Any) -> Body | None:
        """The body of ``response``, which is about to be read in place of the stream's steps, and is tracked now.

        ``None`` where nothing is tracked, or where the steps have begun, so that nobody can read it any more.
        """
        op, read = self.op, self.adapter.body
        if op is None or read is None or self.plain or self.dead or getattr(response, "is_stream_consumed", True):
            return None
        try:
            body = read(op.instance, op.args, op.kwargs, response)
        except Exception as error:
            internal.report("extract.body", error)
            return None
        if body is not None:
            body.chunks.keep = self._chunks is not None and self._chunks.keep
            self.source, self._chunks, self._answer = body.stream, body.chunks, body.answer
        return body

    async def _begin(self) -> None:
        """The first step of a lazy stream: begin, run the gates, and get ready what they let pass."""
        assert self.call is not None
        make, instance, args, kwargs = self.call
        self.call = None
        op = begin(self.adapter, instance, args, kwargs)
        if op is None or type(op) is Absorbed:
            self.plain = True
            return
        try:
            try:
                self._context = context_with(op.span, op.before)
                set_context(self._context)
                current.set(op)
                self._prepare(op)
                run = self._hold(start(op, is_async=self.is_async))
                if await apasses(op, run) if self.is_async else passes(op, run):
                    op.called = True
                    call = op.args, op.kwargs
                    op.args, op.kwargs = prepared(self.adapter, instance, *call)
                    if op.modified or op.kwargs is not call[1]:
                        self.source = make(*op.args, **op.kwargs)
                    return
                self.dead = True
                await self._finish(op)
                if op.error is None:
                    self._buffer = self._answer_chunks(op)
            finally:
                try:
                    self._context = get_context()
                finally:
                    try:
                        set_context(op.before)
                    finally:
                        current.set(op.held)
        except BaseException as error:
            if not op.reported and not op.handed:
                self.plain, op.ended = not self.dead, True
                reaper.put((Track._interrupted, self, op, error))
                await_end(op)
            raise
        outcome(op)

    def _answer_chunks(self, op: Record) -> deque[Any]:
        """The chunks of an answer that a hook gave, in the library's own type.

        Raises:
            Reject: It cannot be said in chunks; the stream that it stands for is not to be seen either.
        """
        try:
            if self._answer is not None:
                return deque(self._answer(op.answer))
            if self.adapter.answer_chunks is None:
                return deque([op.result])
            return deque(self.adapter.answer_chunks(op.instance, op.args, op.kwargs, op.answer))
        except Exception as error:
            raise Reject(f"a hook's answer could not be given: {type(error).__name__}", status_code=500) from error

    # ------------------------------------------------------------------------------------------- steps

    async def step(self, method: str, *args: Any) -> Any:
        """Take one step with a method of the source; the chunk, or ``END``."""
        if self.op is None and not self.plain:
            await self._begin()
        if self._buffer is not None:
            return self._buffer.popleft() if self._buffer else END
        if self.dead:
            return END
        op = self.op
        if self.plain or op is None:
            return await self._pass(method, args)
        if self._held_back(op):
            return await self._buffered(op)
        return await self._next(op, method, args)

    async def _next(self, op: Record, method: str, args: tuple[Any, ...]) -> Any:
        try:
            while True:
                context = self._context
                held = None if context is None else (get_context(), current.get())
                try:
                    if context is not None:
                        set_context(context)
                        current.set(op)
                    chunk = getattr(self.source, method)(*args)
                    if self.is_async:
                        chunk = await chunk
                except BaseException as error:
                    return await self._stopped(op, error)
                finally:
                    if held is not None:
                        try:
                            self._context = get_context()
                        finally:
                            try:
                                set_context(held[0])
                            finally:
                                current.set(held[1])
                if self._took(op, chunk):
                    if self._ends_here():
                        await self._finish(op)
                        outcome(op)
                    return chunk
                method, args = ("__anext__", ()) if self.is_async else ("__next__", ())
        except BaseException as error:
            if not op.reported and not op.handed:
                self.plain, op.ended = not self.dead, True
                reaper.put((Track._interrupted, self, op, error))
                await_end(op)
            raise

    def take(self) -> Any:
        """``step("__next__")`` of a sync stream, without a coroutine once it is under way."""
        op = self.op
        if op is None or self.dead or self._buffer is not None or self._held_back(op):
            return drive(self.step("__next__"))
        try:
            while True:
                context = self._context
                held = None if context is None else (get_context(), current.get())
                try:
                    if context is not None:
                        set_context(context)
                        current.set(op)
                    chunk = self.source.__next__()
                except BaseException as error:
                    return drive(self._stopped(op, error))
                finally:
                    if held is not None:
                        try:
                            self._context = get_context()
                        finally:
                            try:
                                set_context(held[0])
                            finally:
                                current.set(held[1])
                if self._chunks is None or self._took(op, chunk):
                    if self._ends_here():
                        drive(self._finish(op))
                        outcome(op)
                    return chunk
        except BaseException as error:
            if not op.reported and not op.handed:
                self.plain, op.ended = not self.dead, True
                reaper.put((Track._interrupted, self, op, error))
                await_end(op)
            raise

    def _ends_here(self) -> bool:
        """Whether the chunk that has come is the last, and its consumer may never ask whether there is another."""
        return self.adapter.ends_complete and self._chunks is not None and self._chunks.complete

    @staticmethod
    def _held_back(op: Record) -> bool:
        """Whether hooks are to see the whole stream before the consumer sees any of it."""
        if not op.streamed or op.plan is None or not op.plan.buffers:
            return False
        return any(bound.concerns(op) for bound in op.plan.buffers)

    async def _stopped(self, op: Record, error: BaseException) -> Any:
        """The source is exhausted or has failed. The stream's context is current."""
        if isinstance(error, StopIteration | StopAsyncIteration):
            self.value = getattr(error, "value", None)
        else:
            shed(error)
            op.error = error
        await self._finish(op)
        outcome(op)
        return END

    async def _buffered(self, op: Record) -> Any:
        """Hold the whole stream back until the hooks have seen what came of it."""
        op.buffered = True
        chunks: deque[Any] = deque()
        method = "__anext__" if self.is_async else "__next__"
        while not op.ended and (chunk := await self._next(op, method, ())) is not END:
            chunks.append(chunk)
        self._buffer = self._answer_chunks(op) if op.replaced else chunks
        self.plain, self.dead = False, True  # from here on the buffer is the stream
        return self._buffer.popleft() if self._buffer else END

    async def _pass(self, method: str, args: tuple[Any, ...]) -> Any:
        try:
            chunk = getattr(self.source, method)(*args)
            return await chunk if self.is_async else chunk
        except (StopIteration, StopAsyncIteration) as stop:
            self.value = getattr(stop, "value", None)
            return END

    def _took(self, op: Record, chunk: Any) -> bool:
        """Take note of a chunk; whether the consumer is to see it."""
        if self._chunks is None:
            return True
        if not op.first_chunk_ns:
            op.first_chunk_ns = clock.now()
        try:
            return self._chunks.add(chunk)
        except Exception as error:
            internal.report("extract.chunk", error, lost=1)
            return True

    # ------------------------------------------------------------------------------------------- end

    async def close(self, method: str, *args: Any, of: Any = None) -> Any:
        """Close the source, or what it belongs to; a consumer that stops early abandons the operation."""
        self.call = None
        op, closed = self.op, self.source if of is None else of
        if op is None or self.plain or self.dead:
            self.plain = self.plain or op is None
            result = getattr(closed, method)(*args)
            return await result if self.is_async and hasattr(result, "__await__") else result
        result, context = None, self._context
        try:
            held = None if context is None else (get_context(), current.get())
            try:
                if context is not None:
                    set_context(context)
                    current.set(op)
                try:
                    result = getattr(closed, method)(*args)
                    if self.is_async and hasattr(result, "__await__"):
                        result = await result
                except BaseException as error:
                    shed(error)
                    op.error = error
                self._leave(op)
                await self._finish(op)
            finally:
                if held is not None:
                    try:
                        set_context(held[0])
                    finally:
                        current.set(held[1])
        except BaseException as error:
            if not op.reported and not op.handed:
                self.plain, op.ended = not self.dead, True
                reaper.put((Track._interrupted, self, op, error))
                await_end(op)
            raise
        outcome(op)
        return result

    async def _finish(self, op: Record) -> None:
        if next(self._ends):  # it was dropped, while something that belongs to it is closed
            return
        self.plain = not self.dead
        returned(op)
        self._read(op)
        # Hooks need the context that steps went without, or have left.
        held = (get_context(), current.get()) if self._run is not None and current.get() is not op else None
        try:
            if held is not None:
                set_context(context_with(op.span, op.before))
                current.set(op)
            if self.is_async:
                await afinish(op, self._run)
            else:
                finish(op, self._run)
        finally:
            if held is not None:
                try:
                    set_context(held[0])
                finally:
                    current.set(held[1])
        self._release(op)

    def _release(self, op: Record) -> None:
        """Nobody need keep or end anything of it any more."""
        self.hand = int
        if self._run is not None:
            _unfinished.discard(self._run)
        if op.parent is not None:
            op.take_from_reaper()

    def _leave(self, op: Record) -> None:
        """The consumer lets go: note whether it has stopped before the end."""
        try:
            complete = self._chunks is not None and self._chunks.complete
        except Exception as error:
            internal.report("extract.complete", error)
            complete = False
        if not complete and not op.left:
            op.left = "abandoned"

    def _read(self, op: Record) -> None:
        """Read what the chunks that have come tell."""
        if self._chunks is None or not op.called:
            return
        try:
            attributes, used = self._chunks.response()
            note_response(op, attributes, used)
            op.mark = getattr(self._chunks, "mark", None)
            if self._chunks.keep:
                op.result = self._chunks.result()
        except Exception as error:
            internal.report("extract.response", error, lost=1)

    def _dropped(self) -> None:
        """The consumer has dropped the stream without closing it; the reaper ends it."""
        op = self.op
        self.hand = int
        if op is None or op.ended or self.plain or self.dead or next(self._ends):
            return
        self.plain = True
        self._leave(op)
        self._end_alone(op)

    def _interrupted(self, op: Record, error: BaseException) -> None:
        """A step was interrupted within code of ours; the reaper ends the stream."""
        self.hand = int
        if op.reported:
            return
        op.ends_again()
        if not op.end_ns and op.error is None:
            op.error = error
        self._end_alone(op)

    def _end_alone(self, op: Record) -> None:
        if self._run is not None:
            _unfinished.discard(self._run)
        if not op.end_ns:
            self._read(op)
        orphan(op, self._run, is_async=self.is_async, loop=self._loop)
