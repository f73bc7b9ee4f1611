"""The input of a graph that is served: a text becomes a message where the graph keeps messages."""

from collections.abc import Mapping
from typing import Any, cast

from spanhook.errors import Reject

_MESSAGES = "messages"
_ROOT = "__root__"
"""The key of a state that is not a mapping."""


def graph_input(graph: Any, value: Any) -> Any:
    """What a graph is invoked with.

    Args:
        graph: A LangGraph graph.
        value: The input of its run: JSON.

    Raises:
        Reject: The state of the graph has keys, and the input has none; the reason names the keys.
    """
    keys = _keys(graph)
    if not keys or _ROOT in keys or value is None or _has_keys(value):
        return value
    if isinstance(value, str) and _MESSAGES in keys:
        return {_MESSAGES: [{"role": "user", "content": value}]}
    expected = ", ".join(f'"{key}": ...' for key in keys)
    text = ", or text" if _MESSAGES in keys else ""
    kind = "text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a value without keys"
    raise Reject(f"The input is {kind}, but the agent takes {{{expected}}}{text}", status_code=422)


def _has_keys(value: Any) -> bool:
    return isinstance(value, Mapping)


def _keys(graph: Any) -> list[str]:
    """The keys of a state graph's input; none if it is of another kind, which takes any input."""
    builder = getattr(graph, "builder", None)
    schemas: Any = getattr(builder, "schemas", None)
    if not isinstance(schemas, Mapping):
        return []
    return list(cast("Mapping[Any, Mapping[str, Any]]", schemas).get(getattr(builder, "input_schema", None), ()))
