"""A tool's input as hooks read it: by argument name, without what the framework injects (state, store, runtime)."""

from contextlib import suppress
from typing import Any

from langchain_core.tools import BaseTool, base

from spanhook.identity import ByIdentity

_injected = ByIdentity[type, frozenset[str]]()
"""The fields of a schema that its annotations say are injected; LangChain reads the annotations at every call."""
_hide = getattr(BaseTool, "_filter_injected_args", None)


def visible(instance: Any, given: Any) -> dict[str, Any]:
    """A tool's arguments that hooks see."""
    if isinstance(given, str):
        return {text_name(instance): given}
    hide, schema = getattr(instance, "_filter_injected_args", None), instance.args_schema
    if hide is not None and type(instance)._filter_injected_args is not _hide:
        return dict(hide(given))
    if hide is None and schema is None:  # in older versions, that of the body says so
        schema = instance.get_input_schema()
    hidden = _injected_by(schema) if isinstance(schema, type) else frozenset[str]()
    own: frozenset[str] = getattr(instance, "_injected_args_keys", frozenset[str]())
    return {
        name: value for name, value in given.items() if name not in hidden and name not in own and name not in _FILTERED
    }


def _injected_by(schema: type[Any]) -> frozenset[str]:
    known = _injected.get(schema)
    if known is None:
        found: list[str] = []
        with suppress(Exception):  # annotations that cannot be resolved: LangChain hides nothing then
            annotations = base.get_all_basemodel_annotations(schema)
            found = [name for name, kind in annotations.items() if base._is_injected_arg_type(kind)]
        known = _injected[schema] = frozenset(found)
    return known


def text_name(instance: Any) -> str:
    """The name of the argument that text stands for."""
    return next(iter(instance.args), "input")


_FILTERED = ("run_manager", "callbacks")
"""What LangChain hides of any tool's input."""
