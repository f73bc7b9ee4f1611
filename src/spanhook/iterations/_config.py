"""Settings of iteration hooks."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from spanhook.errors import ConfigurationError
from spanhook.store import MOST_FRAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class HookConfig:
    """Settings of iteration hooks. A disabled hook reads and writes nothing and calls no handlers.

    Attributes:
        enabled: Whether any hook is enabled.
        on_iteration_start, on_iteration_end, on_error, on_completion: Whether each hook is enabled.
        context_frames: How many frames of the session are loaded when an iteration starts, at most 1,000. The
            same limit applies to errors and to decisions.
        include_errors_in_context: Also load errors from all of the tenant's sessions.
        include_decisions_in_context: Also load decisions from all of the tenant's sessions.
        max_error_context: How many characters of an error's context are stored.

    Raises:
        ConfigurationError: A setting has the wrong type or is out of bounds.
    """

    enabled: bool = True
    on_iteration_start: bool = True
    on_iteration_end: bool = True
    on_error: bool = True
    on_completion: bool = True
    context_frames: int = 10
    include_errors_in_context: bool = True
    include_decisions_in_context: bool = True
    max_error_context: int = 2000

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in _MOST:
                if type(value) is not bool:
                    raise ConfigurationError(f"HookConfig({one.name}={value!r}): expected True or False")
            elif type(value) is not int or not 0 <= value <= _MOST[one.name]:
                raise ConfigurationError(
                    f"HookConfig({one.name}={value!r}): expected a number from 0 to {_MOST[one.name]}"
                )

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """The configuration in a mapping, for example from a YAML file.

        Raises:
            ConfigurationError: A key is unknown, or a value is wrong.
        """
        known = [one.name for one in fields(cls)]
        for name in settings:
            if name not in known:
                raise ConfigurationError(
                    f"iteration hooks have no setting {name!r}; expected one of {', '.join(known)}"
                )
        return cls(**settings)


_MOST = {"context_frames": MOST_FRAMES, "max_error_context": 1_000_000}
"""Numeric settings and their maximum."""
