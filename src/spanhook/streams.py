"""Streams: one operation from a stream's first step to its end, however it ends.

Each step makes the operation's context current and takes it off again, never across a step, so what the consumer does
between two items has the parent it would have had. Steps are written once, as coroutines that sync streams drive by
hand; see ``proxies`` for what is handed to the consumer.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.context import Context

from spanhook.absorption import Absorbed
from spanhook.async_library import running_loop
from spanhook.attached import get_context, set_context
from spanhook.clock import clock
from spanhook.current import current
from spanhook.driving import drive
from spanhook.errors import internal
from spanhook.finishing import Run, afinish, apasses, finish, orphan, passes, prepared, start
from spanhook.hook import Reject
from spanhook.lifecycle import Held, begin, enter, outcome, restore, returned, told
from spanhook.record import Record
from spanhook.shape import REPLACEABLE, Args, Body, Chunks, Kwargs, Shape
from spanhook.spans import context_with
from spanhook.telemetry import telemetry
from spanhook.threads import reaper
from spanhook.tracebacks import shed

END: Any = object()
"""What a step returns when there is nothing more; ``Track.value`` is then the generator's return value."""

_unfinished: set[Run] = set()
"""Strong references to the hooks of streams under way. Of a stream in a reference cycle the garbage collector would
close them before it lets anybody know."""


class Track:
    """One stream and its operation.

    Args:
        shape: How the stream's call reads.
        source: The library's own iterator.
        is_async: Whether its steps are awaited.

    Attributes:
        plain: Nothing is tracked: it is no operation of its own, or the operation has ended.
        dead: The source must never be stepped, because a hook refused or answered the call.
    """

    __slots__ = (
        "_answer",
        "_buffer",
        "_chunks",
        "_context",
        "_loop",
        "_run",
        "call",
        "dead",
        "is_async",
        "op",
        "plain",
        "shape",
        "source",
        "value",
    )

    def __init__(self, shape: Shape, source: Any, *, is_async: bool) -> None:
        self.shape, self.source, self.is_async = shape, source, is_async
        self.op: Record | None = None
        self.call: tuple[Callable[..., Any], Any, Args, Kwargs] | None = None
        self.plain = self.dead = False
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
        self._hold(run)
        op.result = None
        if body is not None:
            self._chunks, self._answer = body.chunks, body.answer
        if not self.shape.opaque:
            self._context = get_context()
        self._prepare(op)

    def _prepare(self, op: Record) -> None:
        self.op = op
        reaper.start()
        op.streamed = op.kind in REPLACEABLE
        if self.is_async and op.plan is not None:
            self._loop = running_loop()
        try:
            if self._chunks is None and self.shape.chunks is not None:
                self._chunks = self.shape.chunks(op.instance, op.args, op.kwargs)
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

    async def _begin(self) -> None:
        """The first step of a lazy stream: begin, run the gates, and get ready what they let pass."""
        assert self.call is not None
        make, instance, args, kwargs = self.call
        self.call = None
        op = begin(self.shape, instance, args, kwargs)
        if op is None or isinstance(op, Absorbed):
            self.plain = True
            return
        self._context = context_with(op.span, op.before)
        self._prepare(op)
        held = self._enter()
        try:
            run = self._hold(start(op, is_async=self.is_async))
            if await apasses(op, run) if self.is_async else passes(op, run):
                op.called = True
                call = op.args, op.kwargs
                op.args, op.kwargs = prepared(self.shape, instance, *call)
                if op.modified or op.kwargs is not call[1]:
                    self.source = make(*op.args, **op.kwargs)
                return
            self.dead = True
            await self._finish(op)
            if op.error is None:
                self._buffer = self._answer_chunks(op)
        finally:
            self._leave(held)
        outcome(op)

    def _answer_chunks(self, op: Record) -> deque[Any]:
        """The chunks of an answer that a hook gave, in the library's own type.

        Raises:
            Reject: It cannot be said in chunks; the stream that it stands for is not to be seen either.
        """
        try:
            if self._answer is not None:
                return deque(self._answer(op.answer))
            if self.shape.answer_chunks is None:
                return deque([op.result])
            return deque(self.shape.answer_chunks(op.instance, op.args, op.kwargs, op.answer))
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
        while True:
            held = self._enter()
            try:
                chunk = getattr(self.source, method)(*args)
                if self.is_async:
                    chunk = await chunk
            except BaseException as error:
                return await self._stopped(op, error)
            finally:
                self._leave(held)
            if self._took(op, chunk):
                if self._ends_here():
                    await self._finish(op)
                    outcome(op)
                return chunk
            method, args = ("__anext__", ()) if self.is_async else ("__next__", ())

    def take(self) -> Any:
        """``step("__next__")`` of a sync stream, without a coroutine once it is under way."""
        op = self.op
        if op is None or self.dead or self._buffer is not None or self._held_back(op):
            return drive(self.step("__next__"))
        while True:
            held = self._enter()
            try:
                chunk = self.source.__next__()
            except BaseException as error:
                return drive(self._stopped(op, error))
            finally:
                self._leave(held)
            if self._chunks is None or self._took(op, chunk):
                if self._ends_here():
                    drive(self._finish(op))
                    outcome(op)
                return chunk

    def _ends_here(self) -> bool:
        """Whether the chunk that has come is the last, and its consumer may never ask whether there is another."""
        return self.shape.ends_complete and self._chunks is not None and self._chunks.complete

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

    def _enter(self) -> Held | None:
        """Make what the last step left current; nothing where steps run none of the application's code."""
        context = self._context
        if context is None:
            return None
        held = (get_context(), current.get())
        set_context(context)
        current.set(self.op)
        return held

    def _leave(self, held: Held | None) -> None:
        if held is not None:
            self._context = get_context()
            restore(held)

    # ------------------------------------------------------------------------------------------- end

    async def close(self, method: str, *args: Any, of: Any = None) -> Any:
        """Close the source, or what it belongs to; a consumer that stops early abandons the operation."""
        self.call = None
        op, closed = self.op, self.source if of is None else of
        if op is None or self.plain or self.dead:
            self.plain = self.plain or op is None
            result = getattr(closed, method)(*args)
            return await result if self.is_async and hasattr(result, "__await__") else result
        held = self._enter()
        try:
            result = None
            try:
                result = getattr(closed, method)(*args)
                if self.is_async and hasattr(result, "__await__"):
                    result = await result
            except BaseException as error:
                shed(error)
                op.error = error
            op.abandoned = self._early()
            await self._finish(op)
        finally:
            self._leave(held)
        outcome(op)
        return result

    async def _finish(self, op: Record) -> None:
        self.plain = not self.dead
        if self._run is not None:
            _unfinished.discard(self._run)
        returned(op)
        self._read(op)
        held = None
        if self._context is None and self._run is not None:  # hooks need the context that steps went without
            held = (get_context(), current.get())
            enter(op)
        try:
            if self.is_async:
                await afinish(op, self._run)
            else:
                finish(op, self._run)
        finally:
            if held is not None:
                restore(held)

    def _early(self) -> bool:
        """Whether a consumer that lets go now has stopped before the end."""
        try:
            return self._chunks is None or not self._chunks.complete
        except Exception as error:
            internal.report("extract.complete", error)
            return True

    def _read(self, op: Record) -> None:
        """Read what the chunks that have come tell."""
        if self._chunks is None or not op.called:
            return
        try:
            attributes, used = self._chunks.response()
            told(op, attributes, used)
            op.mark = getattr(self._chunks, "mark", None)
            if self._chunks.keep:
                op.result = self._chunks.result()
        except Exception as error:
            internal.report("extract.response", error, lost=1)

    def let_go(self) -> None:
        """The consumer dropped the stream without closing it. Runs in a finalizer, so it only hands over."""
        op = self.op
        if op is None or op.ended or self.plain or self.dead:
            return
        self.plain = op.root.loose = True
        op.abandoned = self._early()
        reaper.put(lambda: self._reap(op))

    def _reap(self, op: Record) -> None:
        if self._run is not None:
            _unfinished.discard(self._run)
        self._read(op)
        orphan(op, self._run, is_async=self.is_async, loop=self._loop)
