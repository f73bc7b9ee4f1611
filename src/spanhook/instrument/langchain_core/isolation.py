"""Keeps hooks in shadow mode away from the run: what LangChain and LangGraph pass on in the context is the run's own.

From that context come the callbacks that are told of model calls, the stream that nodes write to, and the answers that
resume an interrupt.
"""

import sys
from typing import Any, cast

_CONFIG = "langchain_core.runnables.config"
_SCRATCHPAD = "__pregel_scratchpad"
_NAMESPACE = "checkpoint_ns"


class Unanswered:
    """What ``interrupt()`` of LangGraph looks at in a task that nobody has resumed."""

    resume: tuple[Any, ...] = ()

    def interrupt_counter(self) -> int:
        return 0

    def get_null_resume(self, _consume: bool) -> None:
        return None


def isolate() -> None:
    """Replace the configuration in this context by one of its own, in which only ``interrupt()`` still works."""
    module = sys.modules.get(_CONFIG)
    if module is None:
        return
    held: Any = module.var_child_runnable_config
    given = held.get()
    if given is None:
        return
    configurable = cast("dict[str, Any]", given.get("configurable") or {})
    if _SCRATCHPAD in configurable:
        namespace = str(configurable.get(_NAMESPACE) or "")
        held.set({"configurable": {_SCRATCHPAD: Unanswered(), _NAMESPACE: namespace}})
    else:
        held.set(None)
