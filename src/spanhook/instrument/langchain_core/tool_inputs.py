"""A tool's input as hooks read it: by argument name, without what the framework injects (state, store, runtime)."""

from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.tools import BaseTool

_injected: "WeakKeyDictionary[type, frozenset[str]]" = WeakKeyDictionary()
"""The fields of a schema that its annotations say are injected; LangChain reads the annotations at every call."""
_hide = getattr(BaseTool, "_filter_injected_args", None)


def visible(instance: Any, given: Any) -> dict[str, Any]:
    """A tool's arguments that hooks see."""
    if isinstance(given, str):
        return {text_name(instance): given}
    hide = getattr(instance, "_filter_injected_args", None)
    if hide is not None:
        schema, own = instance.args_schema, getattr(instance, "_injected_args_keys", None)
        if own is None or not isinstance(schema, type) or type(instance)._filter_injected_args is not _hide:
            return dict(hide(given))
        hidden = _injected.get(schema)
        if hidden is None:
            names = dict.fromkeys(_names(schema))
            hidden = _injected[schema] = frozenset(names.keys() - hide(names).keys() - own)
        return {
            name: value
            for name, value in given.items()
            if name not in hidden and name not in own and name not in _FILTERED
        }
    shown, whole = instance.tool_call_schema, instance.get_input_schema()
    injected = getattr(whole, "model_fields", {}).keys() - getattr(shown, "model_fields", given).keys()
    return {name: value for name, value in given.items() if name not in injected}


def text_name(instance: Any) -> str:
    """The name of the argument that text stands for."""
    return next(iter(instance.args), "input")


def _names(schema: Any) -> set[str]:
    return {name for cls in schema.__mro__ for name in getattr(cls, "__annotations__", {})}


_FILTERED = ("run_manager", "callbacks")
"""What LangChain hides of any tool's input."""
