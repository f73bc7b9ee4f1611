"""Definitions of the tools offered to a model: from the forms of providers and frameworks to the conventions' form.

For tools that run at the provider, only type, name and description are given: their options may hold credentials.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from spanhook.model.encoding import exact_text

Definition = dict[str, Any]
Fields = Mapping[str, Any]

_NO_FIELDS: Fields = {}
_NESTED = {"function": "function", "custom": "custom", "toolSpec": "function"}
"""Keys under which a definition may be nested, and its type."""
_USUAL = {"type", "function"}
"""The keys of a definition in OpenAI's form, which most frameworks send."""
_LISTS = ("function_declarations", "functionDeclarations")
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
_LABELS = ("server_label",)


def tool_definitions(given: Iterable[Any]) -> list[Definition]:
    """Each tool once, in the order offered."""
    found: list[Definition] = []
    for tool in given:
        found.extend(one for one in _definitions(tool) if one not in found)
    return found


def _definitions(tool: Any) -> Iterator[Definition]:
    told = _fields(tool)
    if len(told) == 2 and told.keys() >= _USUAL and told["type"] == "function" and type(told["function"]) is dict:
        yield _definition(cast("Fields", told["function"]), "function")
        return
    for name in _LISTS:
        for one in cast("Iterable[Any]", told.get(name) or ()):
            yield _definition(_fields(one), "function")
    if not any(told.get(name) for name in _LISTS):
        inner = next((name for name in _NESTED if _fields(told.get(name))), "")
        kind = _NESTED.get(inner) or str(told.get("type") or "function")
        yield _definition(_fields(told[inner]) if inner else told, kind)


def _definition(told: Fields, kind: str) -> Definition:
    schema = next((told[name] for name in _SCHEMAS if told.get(name) is not None), None)
    if kind == "custom" and schema is not None:
        kind = "function"  # Anthropic's type for tools that the application runs
    name = told.get("name") or next((told[label] for label in _LABELS if told.get(label)), kind)
    found: Definition = {"type": kind, "name": exact_text(name)}
    if told.get("description"):
        found["description"] = str(told["description"])
    if kind == "function" and schema is not None:
        found["parameters"] = _fields(schema).get("json", schema)  # nested, as in Bedrock
    return found


def _fields(tool: Any) -> Fields:
    """The fields of a tool given as a mapping, an object with a name, or a function."""
    if isinstance(tool, Mapping):
        return cast("Fields", tool)
    if tool is None or isinstance(tool, str):
        return _NO_FIELDS if tool is None else {"name": tool}
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None) or type(tool).__name__
    about = getattr(tool, "description", None) or getattr(tool, "__doc__", None)
    return {"name": name, "description": about.strip() if isinstance(about, str) else ""}
