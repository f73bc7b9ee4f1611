"""LangGraph's control flow, which passes through whatever runs in a graph.

Told by names, so that nothing is imported for an exception of somebody else's.
"""

from typing import Any, Literal

PARENT = "__parent__"
"""The graph of a ``Command`` that leaves the graph it is given in. LangGraph puts the namespace of that graph's parent
in its place, which is empty where there is none."""


def control(error: BaseException) -> Literal["interrupted", "success"] | None:
    """A hand-off has succeeded, if there is a graph around to take it; all else is a pause."""
    names = {cls.__name__ for cls in type(error).__mro__}
    if "GraphBubbleUp" not in names:
        return None
    if "ParentCommand" not in names:
        return "interrupted"
    command: Any = error.args[0] if error.args else None
    return "success" if getattr(command, "graph", None) else None
