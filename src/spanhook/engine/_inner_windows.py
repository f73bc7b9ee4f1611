"""Streams inside of a call, from which it sends parts to others, such as callbacks, before it returns them itself."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from spanhook.engine._windowed import Flow, Windowed, window_of
from spanhook.model import Args, Kwargs, Record, StreamState, Texts, current

_inside: ContextVar[Any] = ContextVar("spanhook_inner_window", default=None)
"""The operation whose stream is being read: one that it reads itself, such as that of its base class, is part of it."""


def inner_stream(texts: Texts, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The stream that ``wrapped`` returns; if hooks want to see its text before it goes out, with what may go out.

    Args:
        texts: How its chunks are read.
        wrapped, instance, args, kwargs: The call.
    """
    op = current.get()
    if type(op) is not Record or op.plan is None or not op.plan.windows or op.instance is not instance:
        return wrapped(*args, **kwargs)
    if _inside.get() is op:
        return wrapped(*args, **kwargs)
    window = window_of(op)
    if window is None:
        op.part(StreamState).windowed = False  # nobody wants to see it
        return wrapped(*args, **kwargs)
    token = _inside.set(op)
    try:
        source = wrapped(*args, **kwargs)
    finally:
        _inside.reset(token)
    return Inner(source, Flow(op, texts, window, skips=False), op)


class Inner(Windowed):
    """Such a stream."""

    def __init__(self, source: Any, flow: Flow, op: Record) -> None:
        super().__init__(source, flow)
        self._op = op

    def _step(self, method: str, *args: Any) -> Any:
        token = _inside.set(self._op)
        try:
            chunk = super()._step(method, *args)
        except BaseException as error:
            self._fails(error)
            raise
        finally:
            _inside.reset(token)
        self._op.part(StreamState).windowed = True
        return chunk

    async def _astep(self, method: str, *args: Any) -> Any:
        token = _inside.set(self._op)
        try:
            chunk = await super()._astep(method, *args)
        except BaseException as error:
            self._fails(error)
            raise
        finally:
            _inside.reset(token)
        self._op.part(StreamState).windowed = True
        return chunk

    def _fails(self, error: BaseException) -> None:
        """What the model may do instead of streaming has not been seen."""
        if not isinstance(error, StopIteration | StopAsyncIteration):
            self._op.part(StreamState).windowed = None
