"""Answers of hooks in place of a graph's run, announced to callbacks as LangGraph announces its runs."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from langgraph.pregel import main  # look up its functions later: it may be importing this module

from spanhook.instrument.langchain_core.announcing import has_loop
from spanhook.model import Args, Kwargs, first

Chunks = Callable[[], Iterator[Any]]
"""Makes the chunks of a run."""

_MARK = {"ls_integration": "langgraph"}


def run(instance: Any, args: Args, kwargs: Kwargs, state: Any, chunks: Chunks, *, is_async: bool) -> Any:
    """The stream of a run that ends with ``state``; ``None`` if nobody can be told of it."""
    config = main.ensure_config(instance.config, args[1] if len(args) > 1 else kwargs.get("config"))
    start: Mapping[str, Any] = {
        "serialized": None,
        "inputs": first(args, kwargs, "input"),
        "name": config.get("run_name", instance.get_name()),
        "run_id": config.get("run_id"),
    }
    if not is_async:
        return _run(_marked(main.get_callback_manager_for_config(config)), start, state, chunks)
    if not has_loop():
        return None
    return _arun(_marked(main.get_async_callback_manager_for_config(config)), start, state, chunks)


def _marked(manager: Any) -> Any:
    """The manager with LangGraph's mark for LangSmith, from the version on that has it (1.2)."""
    if hasattr(main, "get_sync_graph_callback_manager_for_config") and _MARK.keys().isdisjoint(manager.metadata):
        manager.add_metadata(_MARK)
    return manager


def _run(manager: Any, start: Mapping[str, Any], state: Any, chunks: Chunks) -> Iterator[Any]:
    told = manager.on_chain_start(**start)
    try:
        yield from chunks()
        told.on_chain_end(state)
    except BaseException as error:
        told.on_chain_error(error)
        raise


async def _arun(manager: Any, start: Mapping[str, Any], state: Any, chunks: Chunks) -> AsyncIterator[Any]:
    told = await manager.on_chain_start(**start)
    try:
        for chunk in chunks():
            yield chunk
        await told.on_chain_end(state)
    except BaseException as error:
        await told.on_chain_error(error)
        raise


def whole(stream: Any, result: Any, *, is_async: bool) -> Any:
    """What a call returns that reads such a stream to its end: ``result``, or an awaitable of it."""
    if is_async:
        return None if stream is None else _aread(stream, result)
    for _ in stream:
        pass
    return result


async def _aread(stream: AsyncIterator[Any], result: Any) -> Any:
    async for _ in stream:
        pass
    return result
