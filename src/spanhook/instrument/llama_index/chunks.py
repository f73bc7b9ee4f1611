"""The chunks of a model's stream. Each of them is the whole response so far, and what it adds to that."""

from collections.abc import AsyncGenerator, Generator, Iterable
from typing import Any

from spanhook.instrument.llama_index.responses import model_response
from spanhook.model import Args, Attributes, Kwargs, Usage, copied


class ModelChunks:
    """Keeps the last chunk, which is the response, and the usage that any of them reports."""

    complete = False

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = False
        self._last: Any = None
        self._attributes: Attributes = {}
        self._used: Usage | None = None

    def add(self, chunk: Any) -> bool:
        attributes, used = model_response(chunk)
        self._last = copied(chunk) if self.keep else None  # its consumer may edit it
        self._attributes = attributes or self._attributes
        self._used = used or self._used
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return self._attributes, self._used

    def result(self) -> Any:
        return self._last


class Answered(Generator[Any, None, None]):
    """The stream of an answer: a generator, as the library takes it for one.

    Attributes:
        response: The last chunk, which is the whole response.
    """

    def __init__(self, chunks: Iterable[Any]) -> None:
        made = list(chunks)
        self.response = made[-1]
        self._left = iter(made)

    def send(self, _value: None, /) -> Any:
        return next(self._left)

    def throw(self, typ: Any, val: Any = None, _tb: Any = None, /) -> Any:
        self._left = iter(())
        raise _exception(typ, val)


class AsyncAnswered(AsyncGenerator[Any, None]):
    """``Answered`` for async streams."""

    def __init__(self, chunks: Iterable[Any]) -> None:
        made = list(chunks)
        self.response = made[-1]
        self._left = iter(made)

    async def asend(self, _value: None, /) -> Any:
        for one in self._left:
            return one
        raise StopAsyncIteration

    async def athrow(self, typ: Any, val: Any = None, _tb: Any = None, /) -> Any:
        self._left = iter(())
        raise _exception(typ, val)


def _exception(typ: Any, val: Any) -> BaseException:
    if val is not None:
        return val
    return typ() if isinstance(typ, type) else typ
