"""What iteration hooks do, and how much they keep."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from spanhook.errors import ConfigurationError
from spanhook.store import MOST_FRAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class HookConfig:
    """What iteration hooks do. A hook that is off writes nothing, loads nothing and calls no handler.

    Attributes:
        enabled: All of them.
        on_iteration_start, on_iteration_end, on_error, on_completion: Each of them.
        context_frames: How many frames of the session the start of an iteration loads, at most 1,000. As many errors
            and as many decisions come with them, if those are asked for.
        include_errors_in_context: Load errors too, of all the tenant's sessions.
        include_decisions_in_context: Load decisions too, of all the tenant's sessions.
        max_error_context: How many characters of an error's context are kept.

    Raises:
        ConfigurationError: One of them is of the wrong type, or out of bounds.
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
        """The configuration that a mapping says, such as one read from YAML.

        Raises:
            ConfigurationError: It has a key that is none of these, or one of the values is wrong.
        """
        known = [one.name for one in fields(cls)]
        for name in settings:
            if name not in known:
                raise ConfigurationError(
                    f"iteration hooks have no setting {name!r}; expected one of {', '.join(known)}"
                )
        return cls(**settings)


_MOST = {"context_frames": MOST_FRAMES, "max_error_context": 1_000_000}
"""Settings that are numbers, and how much they may be."""
