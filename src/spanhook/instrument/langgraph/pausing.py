"""Pauses a graph by LangGraph's own interrupt, if it has a checkpointer to be resumed from."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

_CONFIG = "langchain_core.runnables.config"
_CHECKPOINTER, _SCRATCHPAD, _NAMESPACE = "__pregel_checkpointer", "__pregel_scratchpad", "checkpoint_ns"


def pause() -> tuple[str, Callable[[Mapping[str, Any]], Any]] | None:
    """The task that runs here, and how to interrupt it: https://docs.langchain.com/oss/python/langgraph/interrupts.

    ``None`` if there is no graph, or none that can be resumed.
    """
    module, types = sys.modules.get(_CONFIG), sys.modules.get("langgraph.types")
    if module is None or types is None:
        return None
    given: Any = module.var_child_runnable_config.get()
    configurable = cast("dict[str, Any]", (given or {}).get("configurable") or {})
    if _SCRATCHPAD not in configurable or not configurable.get(_CHECKPOINTER):
        return None
    interrupt: Callable[[Any], Any] = types.interrupt
    return f"{configurable.get('thread_id', '')}/{configurable.get(_NAMESPACE, '')}", lambda question: interrupt(
        dict(question)
    )
