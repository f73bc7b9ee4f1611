"""The streams that the library hands out at once, and that begin when they are read."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from inspect import signature
from typing import Any

from agent_framework import ResponseStream

from spanhook.model import Args, Kwargs


def is_asked_for(method: Callable[..., Any], args: Args, kwargs: Kwargs) -> bool:
    """Whether a call asks for a stream; methods of one's own may be asked by place."""
    if kwargs.get("stream") or len(args) < 2:
        return bool(kwargs.get("stream"))
    return any(name == "stream" and given for name, given in zip(signature(method).parameters, args, strict=False))


class Handed:
    """What a caller gets who asks for a stream: the library's own object, which reads the operation's stream.

    Args:
        wrapped: The library's function, called at the first step.
        finalize: Makes a response of updates, if hooks have changed what the library has made one of.
    """

    def __init__(self, wrapped: Callable[..., Any], finalize: Callable[[Sequence[Any]], Any]) -> None:
        self._wrapped, self._finalize = wrapped, finalize
        self._passed: list[Any] = []
        self._final: tuple[Any, ...] = ()
        self.closing = False

    async def steps(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The updates of the library's own stream. When they end, it has its response."""
        made: Any = self._wrapped(*args, **kwargs)
        if not isinstance(made, AsyncIterable):
            made = await made
        try:
            async for update in made:
                self._passed.append(update)
                yield update
            responds: Any = made if isinstance(made, ResponseStream) else None
            if responds is not None:
                self._final = (await responds.get_final_response(),)
        except GeneratorExit:  # of its own errors, it takes care itself
            if self.closing:  # one that nobody holds any more is left to the garbage collector, as without spanhook
                await _closed(made)
            raise

    def around(self, stream: Any) -> Any:
        """The stream of the operation as the library's object."""
        return ResponseStream(_Read(stream, self), finalizer=self._finalized)

    def _finalized(self, updates: Sequence[Any]) -> Any:
        passed = self._passed
        if self._final and len(passed) == len(updates) and all(map(_is, passed, updates)):
            return self._final[0]
        return self._finalize(updates)


class _Read:
    """The stream of an operation, as the library's object reads and closes it."""

    def __init__(self, stream: Any, handed: Handed) -> None:
        self._stream, self._handed = stream, handed

    def __aiter__(self) -> "_Read":
        return self

    def __anext__(self) -> Awaitable[Any]:
        return self._stream.__anext__()

    async def aclose(self) -> None:
        self._handed.closing = True
        await self._stream.aclose()


def _is(one: Any, other: Any) -> bool:
    return one is other


async def _closed(made: Any) -> None:
    close = getattr(made, "close", None) or getattr(made, "aclose", None)
    if close is not None:
        await close()


def handing(finalize: Callable[[Any, Args, Kwargs, Sequence[Any]], Any]) -> Callable[..., Handed]:
    """Makes a call's ``Handed``, given how a response is made of updates: of the instance, the arguments and these."""

    def handed(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Handed:
        return Handed(wrapped, lambda updates: finalize(instance, args, kwargs, updates))

    return handed
