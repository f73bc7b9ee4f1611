"""The card of one agent, and its validation. This module knows neither files nor YAML."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from spanhook.errors import AgentConfigError
from spanhook.gating import is_path

HookType = Literal["on_start", "on_shutdown"]
HOOK_TYPES: tuple[HookType, ...] = get_args(HookType)
RESERVED = ("name", "instruction", "lifecycle_hooks")
"""Keys that have their own attribute; all others are in ``fields``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCard:
    """The card of one agent.

    Attributes:
        name: The agent's name; by default the name of the card's file.
        instruction: The agent's instructions: the body of a Markdown card, or the key ``instruction``.
        lifecycle_hooks: Functions to run when the agent starts (``on_start``) and shuts down (``on_shutdown``), each as
            ``file.py:function`` or ``package.module:function``. Files are relative to the card's folder.
        fields: All other keys of the card, such as the model, unchanged.
        path: The card's file. For a card created in code, ``None``: its hooks are relative to the working directory.

    Raises:
        AgentConfigError: An attribute has the wrong type, or a lifecycle hook is unknown.
    """

    name: str
    instruction: str = field(default="", repr=False)
    lifecycle_hooks: Mapping[str, str] = field(default_factory=dict[str, str])
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    path: Path | None = None

    def __post_init__(self) -> None:
        where = "AgentCard" if self.path is None else f"card {str(self.path)!r}"
        if not isinstance(self.name, str) or not self.name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise AgentConfigError(f"{where}: name is {self.name!r}; expected the agent's name, such as 'desk'")
        if not isinstance(self.instruction, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise AgentConfigError(f"{where}: instruction is {_shown(self.instruction)}; expected text")
        _check_hooks(where, self.lifecycle_hooks)
        for name in self.fields:
            if not isinstance(name, str) or name in RESERVED:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise AgentConfigError(
                    f"{where}: {name!r} cannot be one of its other fields; expected text that is none of "
                    f"{', '.join(RESERVED)}"
                )
        object.__setattr__(self, "lifecycle_hooks", dict(self.lifecycle_hooks))
        object.__setattr__(self, "fields", dict(self.fields))

    @property
    def folder(self) -> str:
        """The folder that its lifecycle hooks are relative to."""
        return str(self.path.absolute().parent) if self.path is not None else os.getcwd()


def _check_hooks(where: str, given: Any) -> None:
    if not isinstance(given, Mapping):
        raise AgentConfigError(
            f"{where}: lifecycle_hooks is {_shown(given)}; expected a mapping, such as on_start: hooks.py:start"
        )
    for key, reference in cast("Mapping[Any, Any]", given).items():
        if key not in HOOK_TYPES:
            raise AgentConfigError(f"{where}: lifecycle_hooks has {key!r}; expected {' or '.join(HOOK_TYPES)}")
        if not isinstance(reference, str) or not _names_a_function(reference):
            raise AgentConfigError(
                f"{where}: lifecycle_hooks.{key} is {_shown(reference)}; expected file.py:function or "
                "package.module:function"
            )


def _names_a_function(reference: str) -> bool:
    target, _, name = reference.rpartition(":")
    return bool(target.strip()) and name.isidentifier()


def located(reference: str, folder: str) -> str:
    """A reference with an absolute path, if it names a file; it was relative to ``folder``."""
    target, _, name = reference.rpartition(":")
    if not is_path(target):
        return reference
    return f"{os.path.normpath(os.path.join(folder, os.path.expanduser(target)))}:{name}"


def _shown(value: Any) -> str:
    """A value for a message. YAML aliases can make the values of a small card huge."""
    kind = type(value).__name__
    return f"a {kind}" if isinstance(value, Mapping | list) else repr(value)[:80]
