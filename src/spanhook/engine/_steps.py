"""The steps of a stream that is running: the consumer's next chunk, with the operation's context around it."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable
from typing import Any

from opentelemetry.context import Context

from spanhook.concurrency import drive, reaper
from spanhook.engine._chunks import answer_chunks
from spanhook.engine._holding import ANSWERED, Holding
from spanhook.engine._pending import await_end
from spanhook.engine.lifecycle import error_of, outcome
from spanhook.model import Adapter, Record, StreamState, current, shed
from spanhook.telemetry import get_context, set_context

END: Any = object()
"""What a step returns at the end of the stream; ``Steps.value`` is then the generator's return value."""


class Failed:
    """What stands in the place of a chunk that failed, after others that go out first."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


class Steps(Holding, ABC):
    """Takes the chunks of one stream.

    Attributes:
        value: What a generator returned at its end.
    """

    __slots__ = ("_context", "value")

    def __init__(self, adapter: Adapter, source: Any, *, is_async: bool) -> None:
        super().__init__(adapter, source, is_async=is_async)
        self.value: Any = None
        self._context: Context | None = None

    @abstractmethod
    async def step(self, method: str, *args: Any) -> Any:
        """Take one step with a method of the source; the chunk, or ``END``."""

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
                if self._shows(op, chunk):
                    told = self.end.reading
                    if told is None:
                        return END if self.state == "passing" and self._is_closed(op) else chunk
                    if told.ends_complete and told.is_complete():
                        return await self._completed(op, chunk)
                    return chunk
                method, args = ("__anext__", ()) if self.is_async else ("__next__", ())
        except BaseException as error:
            self._cut(op, error)
            raise

    def take(self, steps: Any) -> Any:
        """``step("__next__")`` of a sync stream, which ``steps`` reads, without a coroutine once it is running."""
        if self.state != "flowing":
            return self._passed(steps) if self.state == "passing" else drive(self.step("__next__"))
        op: Any = self.op
        try:
            while True:
                if self._context is None:
                    try:
                        chunk = steps.__next__()
                    except BaseException as error:
                        return drive(self._stopped(op, error))
                else:
                    held = get_context(), current.get()
                    try:
                        set_context(self._context)
                        current.set(op)
                        chunk = steps.__next__()
                    except BaseException as error:
                        return drive(self._stopped(op, error))
                    finally:
                        try:
                            self._context = get_context()
                        finally:
                            try:
                                set_context(held[0])
                            finally:
                                current.set(held[1])
                if self._shows(op, chunk):
                    told = self.end.reading
                    if told is not None and told.ends_complete and told.is_complete():
                        return drive(self._completed(op, chunk))
                    return chunk
        except BaseException as error:
            self._cut(op, error)
            raise

    def taken(self, chunk: Any, steps: Any) -> Any:
        """What goes out for a chunk that ``brief`` has not read: it, or the next one that the consumer may see."""
        op: Any = self.op
        try:
            if self._shows(op, chunk):
                return chunk
        except BaseException as error:
            self._cut(op, error)
            raise
        return self.take(steps)

    def stopped(self, error: BaseException) -> Any:
        """What goes out where a step with ``brief`` raised: usually the end of the stream."""
        op: Any = self.op
        if op.ended and not isinstance(error, StopIteration):
            raise error
        try:
            return drive(self._stopped(op, error))
        except BaseException as failed:
            self._cut(op, failed)
            raise

    def _passed(self, steps: Any) -> Any:
        try:
            return steps.__next__()
        except StopIteration as stop:
            self.value = stop.value
            return END

    async def ataken(self, chunk: Any) -> Any:
        """``taken`` of an async stream."""
        op: Any = self.op
        try:
            if self._shows(op, chunk):
                return chunk
        except BaseException as error:
            self._cut(op, error)
            raise
        return await self.atake()

    async def astopped(self, error: BaseException) -> Any:
        """``stopped`` of an async stream."""
        op: Any = self.op
        if op.ended and not isinstance(error, StopAsyncIteration):
            raise error
        try:
            return await self._stopped(op, error)
        except BaseException as failed:
            self._cut(op, failed)
            raise

    def _shows(self, op: Record, chunk: Any) -> bool:
        """Read a chunk; returns whether the consumer sees it."""
        told = self.end.reading
        if told is None:
            return True
        shown = told.shows(op, chunk)
        if self._context is None:
            self.brief = None if op.ended else told.brief(op)
        elif self.streaming.opaque:
            self._context = None  # a lazy stream has made its request by now
        return shown

    def escapes(self, error: BaseException) -> None:
        """An error leaves a step. If it is an interrupt on the way to what ends the operation, end it."""
        if self.brief is not None and self.op is not None and not self.op.ended:
            self._cut(self.op, error)
        shed(error)

    def _cut(self, op: Record, error: BaseException) -> None:
        """A step was interrupted inside spanhook's code, unless the operation has ended."""
        if not op.reported and not op.handed:
            self.brief = None
            self.state, op.ended = self.state if self.state in ANSWERED else "passing", True
            reaper.put((Steps._interrupted, self, op, error))
            await_end(op)

    def atake(self) -> Awaitable[Any]:
        """``take`` for an async stream."""
        if self.state != "flowing":
            return self.step("__anext__")
        op: Any = self.op
        return self._next(op, "__anext__", ())

    async def _completed(self, op: Record, chunk: Any) -> Any:
        """The source has ended, or given the chunk that completes it: what the consumer gets instead."""
        ends = self.streaming.ends
        if ends == "drained" and chunk is not END:
            return await self._drained(op, chunk)
        body, is_result = self._body, ends in ("result", "drained")
        if is_result:
            op.part(StreamState).buffered = True
        await self._finish(op)
        if op.error is not None:  # what it returns is not made for nobody
            outcome(op)
        if is_result and self._is_closed(op):
            self.state = "refused"
            return END
        if not is_result or not op.decided.replaced:
            return chunk
        self._buffer, self.state = answer_chunks(op, body), "releasing"
        return self._buffer.popleft()

    def _is_closed(self, op: Record) -> bool:
        """Whether others have closed it while a step was under way, so that its hooks may not have decided."""
        return op.plan is not None and op.ending.left == "abandoned"

    async def _drained(self, op: Record, chunk: Any) -> Any:
        """Read what follows the chunk that completes the source, which has ended then."""
        self._read_on()
        body, chunks, method = self._body, deque([chunk]), "__anext__" if self.is_async else "__next__"
        try:
            while not op.ended and (following := await self._next(op, method, ())) is not END:
                chunks.append(following)
        except Exception as error:
            if op.plan is not None or op.decided.refused:  # hooks have not decided about what came before
                raise
            chunks.append(Failed(error))
        if self._is_closed(op):
            self.state = "refused"
            return END
        self._buffer, self.state = answer_chunks(op, body) if op.decided.replaced else chunks, "releasing"
        return self._buffer.popleft()

    def _read_on(self) -> None:
        """From now on, only its end completes the source."""
        if self.end.reading is not None:
            self.end.reading.ends_complete = False

    async def _stopped(self, op: Record, error: BaseException) -> Any:
        """The source is exhausted or has failed. The stream's context is current."""
        if isinstance(error, StopIteration | StopAsyncIteration):
            self.value = getattr(error, "value", None)
        else:
            shed(error)
            op.error = op.looking.stopped or error_of(op, error)
        return await self._completed(op, END)

    async def _pass(self, method: str, args: tuple[Any, ...]) -> Any:
        try:
            chunk = getattr(self.source, method)(*args)
            return await chunk if self.is_async else chunk
        except (StopIteration, StopAsyncIteration) as stop:
            self.value = getattr(stop, "value", None)
            return END
