"""A configuration file and what it asks for. Imports what is optional only when there is one."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spanhook.config.reading import Document, Keys, check_extra, read, shown
from spanhook.gating import Hooks, placed_at
from spanhook.settings import CONTENT_VARIABLE, Settings

if TYPE_CHECKING:
    from spanhook.config.building import Built
    from spanhook.config.models import Configuration


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """A configuration file, with a hook for each of its policies.

    Attributes:
        document: What it says.
        configuration: The same, as its models have it.
        policies: The hooks that were made of its policies, in their order.
    """

    document: Document
    configuration: "Configuration"
    policies: "tuple[Built, ...]" = ()

    @property
    def path(self) -> str:
        """Where it stands, absolute."""
        return self.document.path

    @property
    def shown(self) -> str:
        """Where it stands, as messages say it."""
        return shown(self.path)

    def at(self, keys: Keys) -> str:
        """Where a key stands, as messages say it."""
        return f"{self.shown}:{self.document.line(keys)}"

    def origin(self, name: str) -> str:
        """Where one of its settings stands, or a key of its own."""
        keys: Keys = (name,) if name in self.document.data else ("settings", name)
        return self.at(keys)

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks in Python that it names, with absolute paths."""
        entry = self.configuration.hooks
        return () if entry is None else (self.document.spec(entry.path),)

    def given(self) -> dict[str, Any]:
        """The settings that it gives, by name."""
        values: dict[str, Any] = self.configuration.settings.model_dump(exclude_none=True)
        if self.configuration.mode is not None:
            values["mode"] = self.configuration.mode
        if os.environ.get(CONTENT_VARIABLE, "").strip():
            values.pop("content", None)
        return values

    def settings(self, over: Mapping[str, Any]) -> Settings:
        """Its settings, under those that options and variables give.

        Raises:
            ConfigurationError: One of them cannot be used.
        """
        return Settings(**{**self.given(), **over})

    def registry(self) -> Hooks:
        """The hooks of its policies, to be put in force together."""
        hooks = Hooks()
        for index, built in enumerate(self.policies):
            with placed_at(self.at(("policies", index))):
                hooks.add(built.hook)
        return hooks


def read_file(path: str) -> ConfigurationFile:
    """What a file says; no hook is made and nothing imported for it.

    Raises:
        ConfigurationError: There is no such file, or a package is missing that configuration files need.
        ConfigurationFileError: Something in it cannot be used.
    """
    document = read(path)
    from spanhook.config import validating

    return ConfigurationFile(document, validating.configuration_of(document))


def load_file(path: str, before: "Sequence[Built]" = ()) -> ConfigurationFile:
    """What a file says, with a hook for each of its policies.

    Args:
        path: The file.
        before: The policies that are in force; those that are as they were keep their hooks.

    Raises:
        ConfigurationError: There is no such file, or a package is missing that configuration files need.
        ConfigurationFileError: Something in it cannot be used. It has all mistakes.
    """
    document = read(path)
    from spanhook.config import checking

    return ConfigurationFile(document, *checking.built(document, before))


def schema() -> dict[str, Any]:
    """The JSON Schema of configuration files.

    Raises:
        ConfigurationError: A package is missing that configuration files need.
    """
    check_extra()
    from spanhook.config import json_schema

    return json_schema.schema()
