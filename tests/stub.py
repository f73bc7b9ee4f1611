"""A library of six functions that does as it is told, bound like any other: the engine's tests run on it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Literal

from spanhook import Operation, semconv
from spanhook.gating import Hooks, controls
from spanhook.instrument.instrumentor import Bindings
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Message,
    PlainTexts,
    Point,
    Reading,
    Request,
    Streaming,
    Usage,
    first,
    with_first,
)
from spanhook.settings import Settings
from spanhook.testing import Recorder, recorder


class Paused(Exception):
    """The library's own control flow."""


class Library:
    """Gives back what it is given, or raises it if it is an exception; streams letter by letter.

    Attributes:
        calls: What it was called with.
        left: How many of its context managers have been left.
    """

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.left = 0

    def _run(self, given: Any) -> Any:
        self.calls.append(given)
        if isinstance(given, BaseException):
            raise given
        return given() if callable(given) else given

    def work(self, given: Any) -> Any:
        return self._run(given)

    async def awork(self, given: Any) -> Any:
        await asyncio.sleep(0)
        result = self._run(given)
        return await result if hasattr(result, "__await__") else result

    def words(self, given: Any) -> Iterator[Any]:
        yield from str(self._run(given))

    async def awords(self, given: Any) -> AsyncIterator[Any]:
        async for letter in self._letters(given):
            yield letter

    async def _letters(self, given: Any) -> AsyncIterator[Any]:
        for letter in str(self._run(given)):
            await asyncio.sleep(0)
            yield letter

    @asynccontextmanager
    async def asession(self, given: Any) -> AsyncGenerator[Any, None]:
        await asyncio.sleep(0)
        result = self._run(given)
        try:
            yield result
        finally:
            await asyncio.sleep(0)
            self.left += 1

    @asynccontextmanager
    async def aopened(self, given: Any) -> AsyncGenerator[Any, None]:
        await asyncio.sleep(0)
        try:
            yield self._letters(given)
        finally:
            self.left += 1


class Letters:
    """Joins a stream of letters."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self.kept: list[str] = []

    def add(self, chunk: Any) -> bool:
        self.kept.append(chunk)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {semconv.GEN_AI_RESPONSE_MODEL: "stub-1"}, Usage(10, len(self.kept))

    def result(self) -> Any:
        return "".join(self.kept)


def start(_instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_REQUEST_MODEL: "stub", semconv.GEN_AI_PROVIDER_NAME: "stub"}


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {**start(instance, args, kwargs), semconv.GEN_AI_REQUEST_STREAM: True}


def response(_result: Any) -> tuple[Attributes, Usage | None]:
    return {semconv.GEN_AI_RESPONSE_MODEL: "stub-1"}, Usage(10, 5)


def request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = first(args, kwargs, "given")
    return Request(messages=[{"role": "user", "parts": [{"type": "text", "content": given}]}], inputs=given)


def output(result: Any) -> list[Message]:
    return [{"role": "assistant", "parts": [{"type": "text", "content": str(result)}]}]


def rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return with_first(args, kwargs, "given", change.inputs)


def answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    if value == "unusable":
        raise TypeError("the stub cannot answer with that")
    return value


def answer_chunks(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return str(value)


def pauses(error: BaseException) -> Literal["interrupted"] | None:
    return "interrupted" if isinstance(error, Paused) else None


def passing(_op: Operation) -> Iterator[None]:
    """An around hook that does nothing."""
    yield


WHOLE = Adapter(
    kind="llm.call",
    layer="stub",
    start=start,
    reading=Reading(response=response, request=request, output=output),
    editing=Editing(rewrite=rewrite, takes=frozenset(("inputs",)), answer=answer),
)
STREAMING = Streaming(chunks=Letters, answer_chunks=answer_chunks, texts=PlainTexts())
STREAM = replace(WHOLE, start=stream_start, streaming=STREAMING)


def stream_of(result: Any) -> str:
    return "async" if hasattr(result, "__aiter__") else ""


OPENED = replace(STREAM, streaming=replace(STREAMING, stream_of=stream_of))
READ_ONLY = replace(WHOLE, kind="agent.invoke")

TABLE = (
    Point(module="tests.stub", name="Library.work", adapter="tests.stub:WHOLE"),
    Point(module="tests.stub", name="Library.awork", adapter="tests.stub:WHOLE", mode="async"),
    Point(module="tests.stub", name="Library.words", adapter="tests.stub:STREAM", mode="stream"),
    Point(module="tests.stub", name="Library.awords", adapter="tests.stub:STREAM", mode="astream"),
    Point(module="tests.stub", name="Library.asession", adapter="tests.stub:WHOLE", mode="acontext"),
    Point(module="tests.stub", name="Library.aopened", adapter="tests.stub:OPENED", mode="acontext"),
)

MODES = ("sync", "async", "stream", "astream")
"""Every calling convention."""


def use(library: Library, mode: str, given: Any) -> Any:
    """Call the library in one of the modes and wait for the whole result; streams come joined."""
    if mode == "sync":
        return library.work(given)
    if mode == "stream":
        return "".join(library.words(given))

    async def wait() -> Any:
        if mode == "async":
            return await library.awork(given)
        return "".join([letter async for letter in library.awords(given)])

    return asyncio.run(wait())


@contextmanager
def stubbed(
    hooks: Hooks | None = None, settings: Settings | None = None
) -> Generator[tuple[Library, Recorder], None, None]:
    """The library bound, with hooks in force and everything recorded."""
    bindings = Bindings(TABLE)
    with recorder(hooks, only=(), settings=settings) as seen:
        bindings.bind()
        controls.append(pauses)
        try:
            yield Library(), seen
        finally:
            controls.remove(pauses)
            bindings.restore()
