"""Pauses a graph by LangGraph's own interrupt, if it has a checkpointer to be resumed from."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

from spanhook.model import exact_text

_CONFIG = "langchain_core.runnables.config"
_CHECKPOINTER, _SCRATCHPAD, _NAMESPACE = "__pregel_checkpointer", "__pregel_scratchpad", "checkpoint_ns"


Found = tuple[str, Callable[[Mapping[str, Any]], Any], type[BaseException]]


def pause() -> Found | None:
    """The task that runs here, how to interrupt it, and by which exception that is done; ``None`` if there is no graph,
    or none that can be resumed. See https://docs.langchain.com/oss/python/langgraph/interrupts.
    """
    module, types, errors = (sys.modules.get(name) for name in (_CONFIG, "langgraph.types", "langgraph.errors"))
    if module is None or types is None or errors is None:
        return None
    given: Any = module.var_child_runnable_config.get()
    configurable = cast("dict[str, Any]", (given or {}).get("configurable") or {})
    if _SCRATCHPAD not in configurable or not configurable.get(_CHECKPOINTER):
        return None

    def ask(question: Mapping[str, Any]) -> Any:
        return types.interrupt(dict(question))

    thread = exact_text(configurable.get("thread_id", ""))
    return f"{thread}/{configurable.get(_NAMESPACE, '')}", ask, errors.GraphInterrupt
