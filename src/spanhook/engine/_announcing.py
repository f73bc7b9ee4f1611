"""Announces answers that took a call's place: the library's own code tells its listeners of them, as of its own.

It does so once all hooks have decided. What a listener raises fails the call, as it does without hooks; anything else
that goes wrong leaves the answer as it is, untold.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, closing
from typing import Any

from spanhook.diagnostics import internal
from spanhook.engine._chunks import answer_chunks
from spanhook.model import Record

_END: Any = object()


class Announcement:
    """The answer of one call, withheld from the library's listeners until hooks have decided about it.

    Args:
        op: The operation.
    """

    def __init__(self, op: Record) -> None:
        self._op = op
        self._begun = False

    def out(self) -> Iterator[Callable[[bool], Any]]:
        if self._op.error is None and not self._begun:
            self._begun = True
            yield self._announce

    def _announce(self, is_async: bool) -> Awaitable[None] | None:
        op = self._op
        try:
            made = _made(op, is_async=is_async)
        except Exception as error:
            _failed(op, error)
        else:
            if made is not None:
                if is_async:
                    return self._settle(made)
                op.result = made
        return None

    async def _settle(self, made: Awaitable[Any]) -> None:
        try:
            self._op.result = await made
        except Exception as error:
            _failed(self._op, error)


def announced(op: Record, *, is_async: bool) -> Any:
    """The library's own stream of an answer, to be read in place of the one that it would have made; ``None`` if there
    is none.
    """
    try:
        made = _made(op, is_async=is_async)
    except Exception as error:
        internal.report("announce", error)
        return None
    if made is None:
        return None
    return _aread(op, made) if is_async else _read(op, made)


def _made(op: Record, *, is_async: bool) -> Any:
    announce = op.adapter.editing.announce
    return None if announce is None else announce(op.instance, op.args, op.kwargs, op.result, is_async)


def _read(op: Record, made: Any) -> Iterator[Any]:
    with closing(made):
        try:
            first = next(made, _END)
        except Exception as error:
            _failed(op, error)
            yield from answer_chunks(op, None)
            return
        if first is not _END:
            yield first
            yield from made


async def _aread(op: Record, made: Any) -> AsyncIterator[Any]:
    async with aclosing(made):
        try:
            first = await anext(made, _END)
        except Exception as error:
            _failed(op, error)
            for chunk in answer_chunks(op, None):
                yield chunk
            return
        if first is not _END:
            yield first
            async for chunk in made:
                yield chunk


def _failed(op: Record, error: Exception) -> None:
    """Raise what a listener raised; report anything else."""
    if op.ending.listener_error is error:
        raise error
    internal.report("announce", error)
