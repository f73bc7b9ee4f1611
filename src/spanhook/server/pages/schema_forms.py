"""Forms for a handler's settings, from the JSON schema of its ``Config``.

Texts, numbers, switches, choices and lists of texts have fields of their own; everything else is written as JSON.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from spanhook.server.pages.forms import Fields
from spanhook.server.problems import Problem

PREFIX = "config."
OTHER = "other settings"
_LONG = 200
Sort = Literal["text", "long", "integer", "number", "switch", "choice", "lines", "json"]
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a form.

    Attributes:
        name: The setting; empty for all settings that have no field.
        label: What it is called.
        sort: How it is shown.
        value: What it has; the text ``true`` for a switch that is on.
        default: What the handler takes if it is left out.
        required: Whether it must be filled in.
        choices: What can be chosen.
        about: What it is for.
    """

    name: str
    label: str
    sort: Sort
    value: str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    about: str = ""


def fields_for(schema: Schema | None, config: dict[str, Any]) -> list[Field]:
    """The fields of a form.

    Args:
        schema: The JSON schema of the settings; ``None`` if there are none.
        config: The settings as they are.
    """
    properties: dict[str, Schema] = (schema or {}).get("properties", {})
    required, definitions = (schema or {}).get("required", []), (schema or {}).get("$defs", {})
    found = [
        _field(name, _plain(one, definitions), config, required=name in required) for name, one in properties.items()
    ]
    others = {name: value for name, value in config.items() if name not in properties}
    open_ended = bool((schema or {}).get("additionalProperties"))
    if others or open_ended:
        found.append(Field(name="", label="Other settings", sort="json", value=_json(others) if others else ""))
    return found


def config_from(form: Fields, fields: list[Field], before: dict[str, Any]) -> dict[str, Any]:
    """The settings that a form has.

    Args:
        form: What was sent.
        fields: Its fields.
        before: The settings before; what has its default stays out unless it was given before.

    Raises:
        Problem: What should be JSON is none.
    """
    config = dict[str, Any]()
    for field in fields:
        text = form.get(f"{PREFIX}{field.name or OTHER}", "").strip()
        if not field.name:
            config |= _others(text)
            continue
        value = _value(field, text)
        if value is None or (value == field.default and field.name not in before and not field.required):
            continue
        config[field.name] = value
    return config


def _others(text: str) -> dict[str, Any]:
    value: Any = _read(text, "Other settings") if text else {}
    if not isinstance(value, dict):
        raise Problem("invalid", "Other settings: expected a JSON object")
    return cast("dict[str, Any]", value)


def _value(field: Field, text: str) -> Any:
    """The value of a field; ``None`` if it was left empty."""
    if field.sort == "switch":
        return text == "true"
    if not text:
        return "" if field.required and field.sort in ("text", "long") else None
    if field.sort == "lines":
        return [line.strip() for line in text.split("\n") if line.strip()]
    if field.sort == "json":
        return _read(text, field.label)
    return _number(text) if field.sort in ("integer", "number") else text


def _number(text: str) -> Any:
    """A number; what is none stays as it is, for the handler to say what it expects."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _read(text: str, label: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Problem("invalid", f"{label}: expected JSON; {error}") from None


def _field(name: str, schema: Schema, config: dict[str, Any], *, required: bool) -> Field:
    sort, default = _sort(schema), schema.get("default")
    given = name in config
    return Field(
        name=name,
        label=name.replace("_", " ").capitalize(),
        sort=sort,
        value=_shown(config[name] if given else default, sort) if given or default is not None else "",
        default=default,
        required=required,
        choices=tuple(map(str, schema.get("enum", ()))) if sort == "choice" else (),
        about=_about(schema),
    )


def _plain(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """A schema without references, and without the alternative that there is nothing."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in definitions:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**definitions[name], **rest}
    others = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(others) == 1:
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return {**_plain(others[0], definitions), **rest}
    return schema


def _sort(schema: Schema) -> Sort:
    kind = schema.get("type")
    if "enum" in schema and kind == "string":
        return "choice"
    if kind == "string":
        return "long" if schema.get("maxLength", 0) > _LONG else "text"
    if kind == "integer" or kind == "number":
        return kind
    if kind == "boolean":
        return "switch"
    return "lines" if kind == "array" and schema.get("items", {}).get("type") == "string" else "json"


def _about(schema: Schema) -> str:
    about = str(schema.get("description", ""))
    items = schema.get("items", {})
    if schema.get("type") == "array" and isinstance(items, dict) and "enum" in items:
        one_of = ", ".join(map(str, cast("Schema", items)["enum"]))
        return f"{about} One a line: {one_of}.".strip()
    return f"{about} One a line.".strip() if _sort(schema) == "lines" else about


def _shown(value: Any, sort: Sort) -> str:
    if sort == "switch":
        return "true" if value is True else ""
    if sort == "lines" and isinstance(value, list | tuple):
        return "\n".join(map(str, cast("list[Any]", value)))
    if sort == "json":
        return "" if value is None else _json(value)
    return "" if value is None else str(value)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
