"""A configuration file. Optional packages are imported only when there is one."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spanhook.config.completeness import check_complete
from spanhook.config.reading import Document, Keys, check_extra, read
from spanhook.gating import Hooks, placed_at
from spanhook.settings import CONTENT_VARIABLE, Settings
from spanhook.store import parse_address

if TYPE_CHECKING:
    from spanhook.config.building import Built
    from spanhook.config.models import Configuration


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """A configuration file, with a hook for each of its policies.

    Attributes:
        document: Its content.
        configuration: The same, validated.
        policies: Its policies with their hooks, in the order of the file.
    """

    document: Document
    configuration: "Configuration"
    policies: "tuple[Built, ...]" = ()

    @property
    def path(self) -> str:
        """Its absolute path."""
        return self.document.path

    @property
    def shown(self) -> str:
        """Its path for messages."""
        return self.document.shown

    def at(self, keys: Keys) -> str:
        """The file and line of a key, for messages."""
        return f"{self.shown}:{self.document.line(keys)}"

    def origin(self, name: str) -> str:
        """The file and line of a setting, or of a key at the top level."""
        keys: Keys = (name,) if name in self.document.data else ("settings", name)
        return self.at(keys)

    @property
    def hooks(self) -> tuple[str, ...]:
        """The specs of the hooks that it names, with absolute paths."""
        entry = self.configuration.hooks
        return () if entry is None else (self.document.spec(entry.path),)

    @property
    def stores(self) -> dict[str, str]:
        """The addresses of its stores by name, without passwords."""
        return {name: parse_address(url).shown for name, url in self.store_urls.items()}

    @property
    def store_urls(self) -> dict[str, str]:
        """The addresses of its stores by name, with passwords."""
        if not self.configuration.stores:
            return {}
        from spanhook.config.stores import Stores

        return Stores(self.document).urls

    def given(self) -> dict[str, Any]:
        """The settings in the file, by name."""
        values: dict[str, Any] = self.configuration.settings.model_dump(exclude_none=True)
        if self.configuration.mode is not None:
            values["mode"] = self.configuration.mode
        if "definitions_dir" in values:
            values["definitions_dir"] = self.document.absolute(values["definitions_dir"])
        if os.environ.get(CONTENT_VARIABLE, "").strip():
            values.pop("content", None)
        return values

    def settings(self, over: Mapping[str, Any]) -> Settings:
        """The settings of the file.

        Args:
            over: Settings from options and variables, which override them.

        Raises:
            ConfigurationError: A setting cannot be used.
        """
        return Settings(**{**self.given(), **over})

    def registry(self) -> Hooks:
        """A new registry with the hooks of its policies."""
        hooks = Hooks()
        for index, built in enumerate(self.policies):
            with placed_at(self.at(("policies", index))):
                hooks.add(built.hook)
        return hooks


def read_file(path: str) -> ConfigurationFile:
    """Read a file without its policies: no hook is created, and no hook's code is imported.

    Raises:
        ConfigurationError: The file is missing or cannot be read, or a package is not installed.
        ConfigurationFileError: The file has mistakes.
    """
    document = read(path)
    from spanhook.config import validating

    return ConfigurationFile(document, validating.configuration_of(document))


def load_file(
    path: str, before: "Sequence[Built]" = (), *, active: Document | None = None, in_memory: bool = False
) -> ConfigurationFile:
    """Read a file, and create a hook for each of its policies.

    Args:
        path: The file.
        before: The policies that are active; those that did not change keep their hooks.
        active: The same file as it is active, which tells whether it was cut short since.
        in_memory: Give hooks a store of their own in memory, whatever store the file names.

    Raises:
        ConfigurationError: The file is missing or cannot be read, or a package is not installed.
        ConfigurationFileError: The file has mistakes; the error has all of them.
        IncompleteFileError: The file may have been cut short.
    """
    document = read(path)
    from spanhook.config import checking

    file = ConfigurationFile(document, *checking.built(document, before, in_memory=in_memory))
    if active is not None:
        check_complete(document, active)  # only now: mistakes tell more than what they have made of the file
    return file


def schema() -> dict[str, Any]:
    """The JSON Schema of configuration files.

    Raises:
        ConfigurationError: A package is not installed.
    """
    check_extra()
    from spanhook.config import json_schema

    return json_schema.schema()
