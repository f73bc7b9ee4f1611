"""An operation that the application's own code opens with a ``with`` block, as its author sees it."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextvars import copy_context
from itertools import count
from typing import Any, ParamSpec, TypeVar, cast, overload

from spanhook import semconv
from spanhook.concurrency import drive, private_loops
from spanhook.engine._gates import arun_rest, asked, run_rest
from spanhook.engine._own_adapters import own_model
from spanhook.engine._own_streams import BlockEnd, answered, close_unawaited, hand_over
from spanhook.engine._own_usage import add_usage
from spanhook.engine.lifecycle import fail, outcome, settle
from spanhook.errors import OperationError
from spanhook.gating import count_decision, unanswered
from spanhook.model import EndDetails, Operation, Record, Request, asheds, copied, current, sheds
from spanhook.telemetry import context_with, get_context, set_context

P = ParamSpec("P")
T = TypeVar("T")

AUTHOR = "the code that opens an operation cannot decide about it; use a hook"


class OwnOperation(Operation):
    """An operation of the application's own code while it runs: what ``with spanhook.operation(...)`` gives.

    Besides what an ``Operation`` offers, it takes the result. An operation has one result, so only one of ``call``,
    ``acall``, ``stream``, ``result_of`` and ``aresult_of`` may be called, once.
    """

    def __init__(self, record: Record, *, is_async: bool) -> None:
        super().__init__(record)
        self._locked = AUTHOR
        self._is_async = is_async
        self._used = ""
        self._left = False
        self._output: Any = None  # the block's result, if no call and no `result_of` gives one
        self._endings = count()
        self._stream_end: BlockEnd | None = None
        self._own_request: Request | None = None

    # ----------------------------------------------------------------- what it is about

    @property
    def request(self) -> Request:
        """The request after hooks, with messages in the form in which they were given."""
        if self._own_request is None:
            record = self._record
            given = record.kwargs
            messages: Any = given.get("messages")
            if isinstance(messages, str):
                messages = [messages]
            self._own_request = Request(
                list(messages or ()),
                given.get("system") or "",
                arguments=copied(dict(given.get("arguments") or {})),
                inputs=given.get("inputs"),
                model=own_model(record.instance, given),
            )
        return self._own_request

    # ----------------------------------------------------------------- its result

    @sheds
    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function``, unless a hook has answered, and run the ``after`` hooks.

        Returns:
            What it returned, or what hooks put in its place.

        Raises:
            Reject: A hook refused the result.
            OperationError: The operation already has a result or has been left, or the function returned an awaitable.
        """
        op = self._claim("call")
        if not op.decided.answered:
            try:
                result = function(*args, **kwargs)
                if isinstance(result, Awaitable):
                    close_unawaited(result)
                    raise OperationError(f"op.call() was given {function!r}, which is async; await op.acall() instead")
            except BaseException as error:
                fail(op, error)
            else:
                settle(op, result)
        return self._decided()

    @asheds
    async def acall(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """``call`` for a coroutine function."""
        op = self._claim("acall")
        if not op.decided.answered:
            try:
                result = await function(*args, **kwargs)
            except BaseException as error:
                fail(op, error)
            else:
                settle(op, result)
        return await self._adecided() if self._is_async else self._decided()

    @sheds
    def result_of(self, value: T) -> T:
        """Set the result, and run the ``after`` hooks.

        In an ``async with`` block, prefer ``aresult_of``: here, hooks that must be awaited block the event loop.

        Returns:
            ``value``, or what hooks put in its place.

        Raises:
            Reject: A hook refused it.
            OperationError: The operation already has a result, or has been left.
        """
        self._made(self._claim("result_of"), value)
        return self._decided()

    @asheds
    async def aresult_of(self, value: T) -> T:
        """``result_of`` for ``async with`` blocks, where hooks may have to be awaited."""
        self._made(self._claim("aresult_of"), value)
        return await self._adecided() if self._is_async else self._decided()

    @overload
    def stream(self, chunks: AsyncIterable[T] | Callable[[], AsyncIterable[T]]) -> AsyncIterator[T]: ...

    @overload
    def stream(self, chunks: Iterable[T] | Callable[[], Iterable[T]]) -> Iterator[T]: ...

    def stream(self, chunks: Any) -> Any:
        """Pass a stream on: hooks see its result, and hold it back if they must see it before the consumer does.

        The stream may outlive the block; the operation then ends with the stream.

        Args:
            chunks: The stream, or a function that returns it, which is not called if a hook has answered.

        Raises:
            Reject: A hook refused it; raised by the stream.
            OperationError: The operation already has a result, or has been left.
        """
        op = self._claim("stream")
        if op.kind == "llm.call":
            op.attributes[semconv.GEN_AI_REQUEST_STREAM] = True  # known no sooner
            op.span.set_attribute(semconv.GEN_AI_REQUEST_STREAM, True)
            asked(op)
        if op.decided.answered:
            is_async = self._is_async if callable(chunks) else not isinstance(chunks, Iterable)
            return answered(self, is_async=is_async)
        return hand_over(self, chunks() if callable(chunks) else chunks)

    def record_usage(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        reasoning_tokens: int = 0,
        cost_usd: float | None = None,
        model: str = "",
        finish_reason: str = "",
    ) -> None:
        """Add the usage of a model call; several reports are added up.

        Args:
            input_tokens: Tokens of the prompt, cached ones included.
            output_tokens: Tokens of the answer, reasoning included.
            cache_read_tokens, cache_write_tokens: Prompt tokens read from the provider's cache or written to it.
            reasoning_tokens: Answer tokens spent on reasoning.
            cost_usd: The cost that the provider reports; unless given, price lists are used.
            model: The answering model, if it is not the requested one.
            finish_reason: Why the model stopped, in its provider's words, such as ``"stop"``. A result that is a
                mapping with a ``finish_reason`` says so itself.

        Raises:
            OperationError: It is not a model call, or has ended.
        """
        if self._record.accounted or self._record.ended:
            raise OperationError(f"op.record_usage() was called on {self!r}, which has ended; call it inside the block")
        counts = (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens)
        add_usage(self._record, counts, cost_usd, model=model, finish_reason=finish_reason)

    # ----------------------------------------------------------------- for the engine

    def _claim(self, what: str) -> Record:
        if self._left:
            raise OperationError(f"op.{what}() was called on {self!r}, whose block has been left")
        if self._used:
            raise OperationError(
                f"op.{what}() was called after op.{self._used}(), which already set its result; open another operation"
            )
        self._used = what
        return self._record

    def _made(self, op: Record, value: Any) -> None:
        """Note that the block has made the call, whether or not a hook has answered."""
        if op.decided.answerer is not None:
            unanswered(op, count_decision, keep=False)
        if op.error is None:
            settle(op, value)

    def _decided(self) -> Any:
        self._rest()
        self._reread()
        return outcome(self._record)

    async def _adecided(self) -> Any:
        await self._arest()
        self._reread()
        result = outcome(self._record)
        if self._record.decided.answered and isinstance(result, Awaitable):
            return await cast("Awaitable[Any]", result)
        return result

    def _rest(self) -> None:
        """Run the ``after`` hooks and determine the outcome; the operation does not end yet."""
        drive(self._after(awaits=False))

    async def _arest(self) -> None:
        """``_rest`` in a coroutine. If the call is being cancelled, part of it is left for the end of the block."""
        await self._after(awaits=True)

    async def _after(self, *, awaits: bool) -> None:
        op = self._record
        held = (get_context(), current.get()) if current.get() is not op else None
        try:
            if held is not None:
                set_context(context_with(op.span, op.before))
                current.set(op)
            if awaits:
                await arun_rest(op)
            elif self._is_async and op.plan is not None and op.plan.wraps:
                _rest_on_our_loop(op)
            else:
                op.part(EndDetails).unawaited = True
                run_rest(op)
        finally:
            if held is not None:
                try:
                    set_context(held[0])
                finally:
                    current.set(held[1])


def _rest_on_our_loop(op: Record) -> None:
    """Run the remaining hooks on one of spanhook's loops, because this one is blocked."""
    loop = private_loops.get().loop
    copy_context().run(asyncio.run_coroutine_threadsafe, arun_rest(op), loop).result()
