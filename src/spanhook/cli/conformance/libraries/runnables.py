"""Ways of calling that all of LangChain's and LangGraph's Runnables have."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from spanhook.cli.conformance.subject import Use


async def collect(stream: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


def _completed(thing: Any, given: list[Any]) -> list[Any]:
    """Results of a call that yields them as completed, in input order."""
    return [result for _, result in sorted(thing.batch_as_completed(given), key=lambda pair: pair[0])]


async def _acompleted(thing: Any, given: list[Any]) -> list[Any]:
    pairs = [pair async for pair in thing.abatch_as_completed(given)]
    return [result for _, result in sorted(pairs, key=lambda pair: pair[0])]


async def _one_by_one(given: Any) -> AsyncIterator[Any]:
    yield given


def more_ways(given: Any, other: Any) -> dict[str, Use]:
    """Less obvious ways that every Runnable has."""
    return {
        "transform": lambda thing: list(thing.transform(iter([given]))),
        "atransform": lambda thing: collect(thing.atransform(_one_by_one(given))),
        "batch as completed": lambda thing: _completed(thing, [given, other]),
        "abatch as completed": lambda thing: _acompleted(thing, [given, other]),
    }


async def _av3(thing: Any, given: Any) -> list[Any]:
    return await collect(await thing.astream_events(given, version="v3"))


V3 = ("v3", "av3")


def lacks_v3(kind: type) -> bool:
    """Whether this version of LangChain or LangGraph has no version 3 events."""
    return not hasattr(kind, "stream_events")


def v3_ways(kind: type, given: Any) -> dict[str, Use]:
    """Version 3 events, if LangChain and LangGraph have them."""
    if lacks_v3(kind):
        return {}
    return {
        "v3": lambda thing: list(thing.stream_events(given, version="v3")),
        "av3": lambda thing: _av3(thing, given),
    }


def opened(given: Any) -> dict[str, Use]:
    """Streams that every Runnable has, unread."""
    return {"stream": lambda thing: thing.stream(given), "astream": lambda thing: thing.astream(given)}


def later(bound: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: bound(*args)


def then(use: Callable[[Any], Any], bound: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: use(bound(*args))
