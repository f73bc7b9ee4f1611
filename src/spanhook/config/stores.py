"""The stores of a configuration file, by name, and which of them a policy uses."""

import os
from collections.abc import Mapping
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from spanhook.config.models import Store, StoreFrom
from spanhook.config.reading import Document
from spanhook.errors import ConfigurationError, Mistake
from spanhook.gating import STORE_ROLE
from spanhook.store import parse_address

DEFAULT = "default"
MEMORY = "memory://"

_STORE: TypeAdapter[Any] = TypeAdapter(Store)


class Stores:
    """The addresses of stores.

    Args:
        document: The file.
        in_memory: Give hooks a store of their own in memory instead.

    Attributes:
        mistakes: The addresses that cannot be used.
    """

    def __init__(self, document: Document, *, in_memory: bool = False) -> None:
        self._in_memory = in_memory
        self._folder = os.path.dirname(document.path)
        self._urls: dict[str, str] = {}
        self.mistakes: list[Mistake] = []
        given: Any = document.data.get("stores")
        for name, value in cast("dict[Any, Any]", given).items() if isinstance(given, dict) else ():
            try:
                self._urls[str(name)] = self._address(_STORE.validate_python(value))
            except ValidationError:
                continue  # it is among the mistakes of the whole file
            except ConfigurationError as error:
                self.mistakes.append(document.mistake(("stores", str(name)), str(error)))

    @property
    def urls(self) -> dict[str, str]:
        """The addresses by name, with passwords."""
        return dict(self._urls)

    def given_to(self, settings: Mapping[str, Any], config: Any) -> dict[str, Any]:
        """The settings of a hook with the address of its store, if it has one.

        Args:
            settings: The settings as they are in the file.
            config: The pydantic model of the hook's settings.

        Raises:
            ConfigurationError: The address cannot be used, or there is no such store.
        """
        fields: Mapping[str, Any] = getattr(config, "model_fields", {})
        extra: Any = getattr(fields.get("store"), "json_schema_extra", None) or {}
        role: str | None = extra.get(STORE_ROLE)
        given = settings.get("store")
        if role is None or not (given is None or isinstance(given, str)):
            return dict(settings)
        if self._in_memory:
            found = MEMORY
        elif given is None:
            found = self._urls.get(role) or self._urls.get(DEFAULT)
        elif "://" in given:
            found = parse_address(given, self._folder).url
        elif given in self._urls:
            found = self._urls[given]
        else:
            known = ", ".join(sorted(self._urls)) or "none"
            raise ConfigurationError(f"store={given!r}: stores has {known}; add it there, or write its address")
        return dict(settings) if found is None else {**settings, "store": found}

    def _address(self, value: str | StoreFrom) -> str:
        if isinstance(value, StoreFrom):
            name = value.url_env
            url = os.environ.get(name, "").strip()
            if not url:
                raise ConfigurationError(f"the environment variable {name} is not set; it has the address of the store")
            return parse_address(url, self._folder).url
        return parse_address(value, self._folder).url
