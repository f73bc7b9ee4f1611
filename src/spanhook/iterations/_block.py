"""One turn of an agent's loop: a ``with`` block that is an operation."""

from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import count
from types import TracebackType
from typing import Any, Self

from spanhook.concurrency import drive, is_cancellation, shielded_for
from spanhook.engine import OperationBlock, OwnOperation, operation_for
from spanhook.errors import OperationError, RunStopped
from spanhook.gating import control
from spanhook.iterations._remembering import Remembering
from spanhook.iterations._ways import ASIDE, IN_PLACE, Way
from spanhook.model import Operation, asheds, context, sheds
from spanhook.semconv import ITERATION_INDEX
from spanhook.store import Frame

WRITING_S = 10.0
"""How long writing may take after a cancellation under Trio and AnyIO, which cancel every further await."""


class Iteration:
    """One turn of an agent's loop, as created by ``IterationHooks.iteration``.

    Attributes:
        session_id: The session.
        iteration: The number of the iteration, counted from 0.
        frames: The frames that were loaded at its start, oldest first.
        output: The result, for you to set. Its first 1,000 characters are stored, and ``after`` hooks see it.
        success: Whether it succeeded, for you to set; an iteration that raises has always failed.
        error_context: What the iteration was doing, for you to set; stored if it raises.
    """

    def __init__(self, remembering: Remembering, session_id: str, iteration: int, name: str) -> None:
        self.session_id, self.iteration = session_id, iteration
        self.frames: tuple[Frame, ...] = ()
        self.output: Any = ""
        self.success = True
        self.error_context: Any = ""
        self._remembering = remembering
        self._entries = count()
        self._lasting: list[bool] = []
        self._outer = ExitStack()
        self._op: OwnOperation | None = None
        self._block: OperationBlock = operation_for(
            "iteration",
            name,
            request={"inputs": {"session_id": session_id, "iteration": iteration}},
            attributes={ITERATION_INDEX: iteration},
        )

    @property
    def operation(self) -> Operation:
        """The operation, read-only: for example its ``usage`` so far.

        Raises:
            OperationError: The block has not been entered.
        """
        if self._op is None:
            raise OperationError("an iteration has its operation once its block is entered")
        return self._op

    # ----------------------------------------------------------------- the block

    @sheds
    def __enter__(self) -> Self:
        drive(self._enter(IN_PLACE))
        return self

    @asheds
    async def __aenter__(self) -> Self:
        await self._enter(ASIDE)
        return self

    @sheds
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._check_lasting()
        drive(self._leave(IN_PLACE, error))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._check_lasting()
        await self._leave(ASIDE, error)

    def _check_lasting(self) -> None:
        """Make sure that a turn ends only once, and only after it has been entered."""
        try:
            self._lasting.pop()
        except IndexError:
            raise OperationError("this iteration cannot be left: it has not been entered, or has been left") from None

    async def _enter(self, way: Way) -> None:
        if next(self._entries):
            raise OperationError("this iteration has been entered before; make one with hooks.iteration() each time")
        self._outer.enter_context(context(session_id=self.session_id))
        try:
            self._op = await self._block.__aenter__() if way.is_async else self._block.__enter__()
            try:
                started = await self._remembering.start(way, self.session_id, self.iteration)
            except BaseException as error:
                await self._end(way, error)
                raise
        except BaseException:
            self._outer.close()
            raise
        self.frames = started.frames
        self._lasting.append(True)

    async def _leave(self, way: Way, error: BaseException | None) -> None:
        shield: AbstractContextManager[Any] = nullcontext()
        if way.is_async and is_cancellation(error):
            shield = shielded_for(WRITING_S)
        refused: BaseException | None = None
        try:
            try:
                with shield:
                    if error is None:
                        refused = await self._decided(way)
                    await self._remember(way, error or refused)
            finally:
                await self._end(way, error or refused)
        finally:
            self._outer.close()
        if refused is not None:
            try:
                raise refused
            finally:
                del refused  # breaks a reference cycle with this frame

    async def _decided(self, way: Way) -> BaseException | None:
        """Run ``after`` hooks on the output, and return the exception if one refuses it."""
        assert self._op is not None
        try:
            if way.is_async:
                await self._op.aresult_of(self.output)
            else:
                self._op.result_of(self.output)
        except (Exception, RunStopped) as refused:
            return refused
        return None

    async def _remember(self, way: Way, error: BaseException | None) -> None:
        status = None if error is None else control(error)
        if status == "interrupted":
            return  # it waits for a person and will be resumed
        failed = error is not None and status is None
        here = way, self.session_id, self.iteration
        if failed and isinstance(error, Exception | RunStopped):
            told = error.reject if isinstance(error, RunStopped) else error
            await self._remembering.fail(*here, told, self.error_context)
        await self._remembering.end(*here, self.output, success=self.success and not failed)

    async def _end(self, way: Way, error: BaseException | None) -> None:
        told = (None, None, None) if error is None else (type(error), error, error.__traceback__)
        if way.is_async:
            await self._block.__aexit__(*told)
        else:
            self._block.__exit__(*told)
