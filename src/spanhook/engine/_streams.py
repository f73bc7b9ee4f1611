"""Streams: one operation from a stream's first step to its end, however it ends.

Each step makes the operation's context current and restores the previous one before it returns, so what the consumer
does between two items has its usual parent. Steps are written once, as coroutines that sync streams drive by hand; see
``handover`` for what the consumer gets.
"""

from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

from spanhook.concurrency import reaper
from spanhook.engine._chunks import answer_chunks, body_of, reading
from spanhook.engine._gates import apasses, arun_rest, asked, passes, prepared, run_rest
from spanhook.engine._holding import ANSWERED, ENDED
from spanhook.engine._pending import await_end
from spanhook.engine._steps import END, Failed, Steps
from spanhook.engine.beginning import begin
from spanhook.engine.lifecycle import outcome
from spanhook.engine.receiving import looked_at
from spanhook.model import REPLACEABLE, Adapter, Args, Body, Kwargs, Record, StreamState, current, shed
from spanhook.telemetry import context_with, get_context, set_context


class Track(Steps):
    """One stream and its operation. The stream is in one of these states:

    - ``lazy``: it has not begun. The first step asks the gates, and leads to any of the other states; to ``passing`` if
      the stream is not an operation.
    - ``flowing``: chunks are read as they pass, through a window if hooks rewrite their text. The end, or a failure,
      leads to ``passing``; if hooks decide about the chunk that completes the stream, it leads to ``releasing``.
    - ``holding``: hooks must see all of the stream first. The next step reads it to its end, and leads to
      ``releasing``, or after a failure to ``passing``.
    - ``releasing``: the operation has ended, and the consumer gets what hooks have made of the chunks.
    - ``refused``: the operation has ended, and the consumer gets nothing.
    - ``passing``: nothing is tracked, or not any more.

    Closing the stream leads from the first three to ``passing``. If the consumer drops it, or an interrupt stops one of
    its steps, the reaper ends the operation. The last three are final.

    Args:
        adapter: How the stream's call is read.
        source: The library's own iterator.
        is_async: Whether its steps are awaited.
    """

    __slots__ = ("_begins", "call")

    def __init__(self, adapter: Adapter, source: Any, *, is_async: bool) -> None:
        super().__init__(adapter, source, is_async=is_async)
        self.call: tuple[Callable[..., Any], Any, Args, Kwargs] | None = None
        self._begins = count()

    # ------------------------------------------------------------------------------------------- start

    def lazy(self, make: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> None:
        """Begin the operation at the first step: ``source`` is a generator that has not started."""
        self.call = (make, instance, args, kwargs)

    def adopt(self, op: Record, body: Body | None = None) -> None:
        """Continue an operation whose call returned the stream; its context is current."""
        self.op = op
        self.end.hold(op)
        op._result = None
        if not self.streaming.opaque:
            self._context = get_context()
        self._body = body
        self._prepare(op)
        self._hold_back(op)

    def _prepare(self, op: Record) -> None:
        op.part(StreamState).streamed = op.kind in REPLACEABLE
        self._keep(op)
        self.end.reading = reading(op, self._body)

    def begins(self, body: Any, steps: Any) -> bool:
        """Whether ``steps`` are the first to read ``body``, and so belong to this track."""
        if self.state == "passing" or self.source is not body:
            return False
        self._window_on(steps)
        return True

    def goes_on_in(self, response: Any) -> Body | None:
        """The body of ``response``, tracked from now on, because it is about to be read directly instead of the stream.

        ``None`` if nothing is tracked, or the stream has begun, so that the body can no longer be read.
        """
        op = self.op
        if op is None or self.state in ENDED or getattr(response, "is_stream_consumed", True):
            return None
        body = body_of(op, response)
        if body is not None:
            self.source, self._body, self.end.reading = body.stream, body, reading(op, body)
            self._flow = self.end.outgoing = self.brief = None
            self._hold_back(op)
        return body

    async def _begin(self) -> None:
        """The first step of a lazy stream: begin, run the gates, and prepare what they allow.

        Raises:
            RuntimeError, ValueError: Another task or thread waits for the first chunk: what a generator would raise.
        """
        if next(self._begins):  # only one thread gets 0
            if self.is_async:
                raise RuntimeError("anext(): the stream is already running: its first chunk is awaited")
            raise ValueError("the stream is already executing: another thread waits for its first chunk")
        begins, self.call = self.call, None
        if begins is None:  # another thread has closed it
            return
        make, instance, args, kwargs = begins
        op = begin(self.adapter, instance, args, kwargs)
        if type(op) is not Record:
            self.state = "passing"
            return
        try:
            try:
                self._context = context_with(op.span, op.before)
                set_context(self._context)
                current.set(op)
                self._prepare(op)
                passed = await apasses(op) if self.is_async else passes(op)
                if op.ended:  # others have closed the stream meanwhile
                    self.state = "refused"
                    return
                self.end.hold(op)
                if passed:
                    op.called = True
                    if op.runner is not None:
                        asked(op)
                    call = op.args, op.kwargs
                    op.args, op.kwargs = prepared(self.adapter, instance, *call)
                    if self.is_async and self.adapter.receiving is not None and op.plan is not None:
                        source: Any = looked_at(op, make)
                        self.source = source
                    elif op.decided.modified or op.kwargs is not call[1]:
                        self.source = make(*op.args, **op.kwargs)
                    self._hold_back(op)
                    return
                if op.error is None and self.adapter.editing.announce is not None:
                    # What the library announces is what all hooks have made of the answer.
                    if self.is_async:
                        await arun_rest(op)
                    else:
                        run_rest(op)
                    if op.error is None and self._announces(op):
                        return
                self.state, body = "refused", self._body
                await self._finish(op)
                if op.error is None:
                    self._buffer, self.state = answer_chunks(op, body), "releasing"
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
                self.state, op.ended = self.state if self.state in ANSWERED else "passing", True
                reaper.put((Track._interrupted, self, op, error))
                await_end(op)
            raise
        outcome(op)

    # ------------------------------------------------------------------------------------------- steps

    async def step(self, method: str, *args: Any) -> Any:
        """Take one step with a method of the source; the chunk, or ``END``."""
        if self.state == "lazy":
            await self._begin()
        state, op = self.state, self.op
        if state == "passing" or op is None:
            return await self._pass(method, args)
        if state in ANSWERED:
            return self._popped()
        return await (self._buffered(op) if state == "holding" else self._next(op, method, args))

    def _popped(self) -> Any:
        chunk = self._buffer.popleft() if self._buffer else END
        if type(chunk) is Failed:
            raise chunk.error
        return chunk

    async def _buffered(self, op: Record) -> Any:
        """Hold the whole stream back until the hooks have seen its result."""
        op.part(StreamState).buffered = True
        if self.streaming.ends == "drained":
            self._read_on()
        body, chunks = self._body, deque[Any]()
        method = "__anext__" if self.is_async else "__next__"
        while not op.ended and (chunk := await self._next(op, method, ())) is not END:
            chunks.append(chunk)
        if op.error is not None or self._is_closed(op):  # others have stepped or closed the stream meanwhile
            self.state = "refused"
            outcome(op)
            return END
        self._buffer = answer_chunks(op, body) if op.decided.replaced else chunks
        self.brief, self.state = None, "releasing"
        return self._buffer.popleft() if self._buffer else END

    # ------------------------------------------------------------------------------------------- end

    async def close(self, method: str, *args: Any, of: Any = None) -> Any:
        """Close the source, or its owner; a consumer that stops early abandons the operation."""
        self.call = None
        op, closed = self.op, self.source if of is None else of
        if op is None or self.state in ENDED:
            self.state = "passing" if op is None else self.state
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
                self.end.leave(op)
                await self._finish(op)
            finally:
                if held is not None:
                    try:
                        set_context(held[0])
                    finally:
                        current.set(held[1])
        except BaseException as error:
            if not op.reported and not op.handed:
                self.state, op.ended = self.state if self.state in ANSWERED else "passing", True
                reaper.put((Track._interrupted, self, op, error))
                await_end(op)
            raise
        if op.error is not None:
            outcome(op)
        return result
