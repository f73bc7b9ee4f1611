"""The JSON Schema of configuration files. Imported only where it is asked for: pydantic is optional."""

from typing import Any

from pydantic import AliasChoices

from spanhook.config.models import Configuration, SettingsEntry

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """What may stand in a configuration file, as JSON Schema of the version 2020-12."""
    made = Configuration.model_json_schema(by_alias=True)
    settings = made["$defs"][SettingsEntry.__name__]["properties"]
    for name, field in SettingsEntry.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices):
            for other in field.validation_alias.choices:
                if other != name:
                    settings[other] = {"$ref": f"#/$defs/{SettingsEntry.__name__}/properties/{name}"}
    return {"$schema": DIALECT, **made}
