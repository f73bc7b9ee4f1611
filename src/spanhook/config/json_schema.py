"""The JSON Schema of configuration files. Imported only when it is asked for: pydantic is optional."""

from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic.json_schema import models_json_schema

from spanhook.config.models import Configuration, Policy, SettingsEntry
from spanhook.gating import find, handler_of, named

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OURS = "spanhook.hooks."


def schema() -> dict[str, Any]:
    """JSON Schema, version 2020-12, with the settings of spanhook's own ready-made hooks."""
    configs = dict(_configs())
    models = [Configuration, *configs.values()]
    references, made = models_json_schema([(model, "validation") for model in models], by_alias=True)
    definitions = made["$defs"]
    _add_prefixed(definitions[SettingsEntry.__name__]["properties"])
    definitions[Policy.__name__]["allOf"] = [
        {
            "if": {"properties": {"use": {"const": name}}},
            "then": {"properties": {"with": references[config, "validation"]}},
        }
        for name, config in configs.items()
    ]
    top = definitions.pop(Configuration.__name__)
    return {"$schema": DIALECT, **top, "$defs": definitions}


def _configs() -> list[tuple[str, type[BaseModel]]]:
    """The settings of spanhook's own ready-made hooks, by short name."""
    ours = sorted(name for name, reference in named().items() if reference.startswith(_OURS))
    marked = ((name, handler_of(find(name))) for name in ours)
    return [(name, one.config) for name, one in marked if one is not None and one.config is not None]


def _add_prefixed(settings: dict[str, Any]) -> None:
    """Add the other names of settings."""
    for name, field in SettingsEntry.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices):
            for other in field.validation_alias.choices:
                if other != name:
                    settings[str(other)] = {"$ref": f"#/$defs/{SettingsEntry.__name__}/properties/{name}"}
