"""LangGraph's control-flow exceptions, which pass through everything that runs in a graph.

Recognized by name, so that unrelated exceptions cause no import.
"""

from typing import Any, Literal

PARENT = "__parent__"
"""The target graph of a ``Command`` that leaves its own graph. LangGraph replaces it with the namespace of the parent
graph, which is empty if there is none."""


def control(error: BaseException) -> Literal["interrupted", "success"] | None:
    """A hand-off is a success if an enclosing graph takes it; everything else is a pause."""
    names = {cls.__name__ for cls in type(error).__mro__}
    if "GraphBubbleUp" not in names:
        return None
    if "ParentCommand" not in names:
        return "interrupted"
    command: Any = error.args[0] if error.args else None
    return "success" if getattr(command, "graph", None) else None
