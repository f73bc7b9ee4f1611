"""Callbacks that generators pass their chunks to: these wait, if hooks hold answers back until they have decided."""

from collections.abc import Callable, Iterator
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from haystack.dataclasses import StreamingChunk

from spanhook.instrument.haystack.arguments import given, having
from spanhook.instrument.haystack.classes import accepts
from spanhook.instrument.haystack.messages import text_of
from spanhook.instrument.haystack.responses import replies_of
from spanhook.model import Args, Deferred, EndDetails, Kwargs, Record, current_record

Tell = Callable[[Any], Any]
_NAME = "streaming_callback"


def callback_of(instance: Any, args: Args, kwargs: Kwargs) -> Tell | None:
    """The callback of a call, or else that of its generator."""
    return given(instance, args, kwargs, _NAME) or getattr(instance, _NAME, None)


def hold(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A call whose chunks wait, if hooks decide about its answer before anybody gets it."""
    op = current_record()
    tell = callback_of(instance, args, kwargs)
    if op is None or tell is None or not _decides(op):
        return args, kwargs
    if not accepts(type(instance), _NAME):
        op.part(Deferred).leaked = True
        return args, kwargs
    told = Told(op, tell)
    op.part(Deferred).outputs += (told,)
    waiting = told.keep_async if iscoroutinefunction(tell) else told.keep
    return having(instance, args, kwargs, _NAME, waiting)


def _decides(op: Record) -> bool:
    plan = op.plan
    return plan is not None and any(bound.concerns(op) for bound in (*plan.buffers, *plan.windows))


def chunk_of(result: Any) -> Any:
    """What a result says, as one chunk."""
    text = "".join(text_of(one) for one in replies_of(result))
    return StreamingChunk(content=text, meta={"finish_reason": "stop"})


class Told:
    """What one call of a generator would have passed to its callback."""

    def __init__(self, op: Record, tell: Tell) -> None:
        self._op, self._tell = op, tell
        self._chunks: list[Any] = []

    def keep(self, chunk: Any) -> None:
        self._chunks.append(chunk)

    async def keep_async(self, chunk: Any) -> None:
        self._chunks.append(chunk)

    def out(self) -> Iterator[Callable[[bool], Any]]:
        """Release the chunks; in their place one with what hooks have made of them, and none if they have refused."""
        op = self._op
        if op.error is not None:
            self._chunks.clear()
        elif self._chunks and (op.decided.replaced or op.stream.reworded):
            self._chunks = [chunk_of(op.result)]
        while self._chunks:
            chunk = self._chunks.pop(0)
            yield lambda _awaits, chunk=chunk: _told(self._tell, chunk)


def _told(tell: Tell, chunk: Any) -> Any:
    made = tell(chunk)
    return made if isawaitable(made) else None


def announced(instance: Any, args: Args, kwargs: Kwargs, result: Any, is_async: bool) -> Any:
    """Pass an answer that took a call's place to the callback, as the call would have."""
    tell = callback_of(instance, args, kwargs)
    if tell is None:
        return None
    if is_async:
        return _announced_later(tell, result)
    try:
        tell(chunk_of(result))
    except Exception as error:
        _note(error)
        raise
    return result


async def _announced_later(tell: Tell, result: Any) -> Any:
    try:
        made = _told(tell, chunk_of(result))
        if made is not None:
            await made
    except Exception as error:
        _note(error)
        raise
    return result


def _note(error: Exception) -> None:
    """What the application's callback raises fails the call, as it does without hooks."""
    op = current_record()
    if op is not None:
        op.part(EndDetails).listener_error = error
