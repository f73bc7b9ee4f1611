"""Ready-made hooks: classes that definitions and configuration files may name, and hooks created from settings.

A class is such a hook if it is marked with ``handler``. It is named by its reference (``package.module:Class``) or by
the short name that its distribution gave it in the entry-point group ``spanhook_hook``. Knows nothing of files, and
imports pydantic nowhere: a ``Config`` brings it.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import metadata
from typing import Any, Protocol, TypeVar, overload

from spanhook.errors import ConfigurationError
from spanhook.gating._checking import kept
from spanhook.gating.hook import Hook, once
from spanhook.gating.validating import one_line, shortened, validated

T = TypeVar("T")

GROUP = "spanhook_hook"
"""The entry-point group for hooks of installed distributions."""

_MARK = "__spanhook_handler__"


@dataclass(frozen=True)
class Marked:
    """A class marked with ``handler``.

    Attributes:
        cls: The class.
        config: The pydantic model of its settings; ``None`` if it takes none.
    """

    cls: type[Any]
    config: type[Any] | None

    def build(self, config: Mapping[str, Any]) -> Any:
        """Create an object of the class, with validated settings as keyword arguments.

        Raises:
            ConfigurationError: A setting is unknown, missing or wrong, or the class refuses it. Its ``__cause__`` is
                pydantic's ``ValidationError`` if there is one, with the place of each mistake.
        """
        name = self.cls.__name__
        settings = self._settings(config)
        try:
            made = self.cls(**self._values(settings))
        except Exception as error:
            raise ConfigurationError(f"hook {name!r} cannot be made: {one_line(error)}") from error
        with suppress(AttributeError, TypeError):  # not of a hook, which has it
            object.__setattr__(made, "_made_with", settings)
        return made

    def _settings(self, config: Any) -> Any:
        """The validated settings; ``None`` if the hook takes none."""
        name = self.cls.__name__
        if not isinstance(config, Mapping):
            raise ConfigurationError(f"hook {name!r}: its settings are {shortened(config)}, expected a mapping")
        given: dict[str, Any] = dict(config)  # pyright: ignore[reportUnknownArgumentType]
        if self.config is None:
            if given:
                raise ConfigurationError(
                    f"hook {name!r} takes no settings, but was given {', '.join(map(repr, given))}"
                )
            return None
        return validated(self.config, given, name)

    def _values(self, valid: Any) -> dict[str, Any]:
        if valid is None or self.config is None:
            return {}
        values = {field: getattr(valid, field) for field in self.config.model_fields}
        return {**values, **(valid.model_extra or {})}


class Model(Protocol):
    """The methods of a pydantic model that are used here."""

    @classmethod
    def model_validate(cls, obj: Any, /) -> Any: ...


@overload
def handler(given: type[Model], /) -> Callable[[type[T]], type[T]]: ...  # pyright: ignore[reportOverlappingOverload]


@overload
def handler(given: type[T], /) -> type[T]: ...


def handler(given: Any, /) -> Any:
    """Mark a class as a hook that definitions and configuration files may name.

    ``@handler`` takes the pydantic model of its settings from a nested class ``Config``; without one, the hook has no
    settings. ``@handler(Config)`` names the model. Subclasses are not marked.

    Raises:
        ConfigurationError: It is not a class, or ``Config`` is not a pydantic model or has a field that the class does
            not take as a keyword argument.
    """
    if _is_model(given) and not issubclass(given, Hook):
        return partial(_mark, config=given)
    return _mark(given, getattr(given, "Config", None))


def handler_of(cls: object) -> Marked | None:
    """The mark of this very class; ``None`` if it is not marked."""
    return vars(cls).get(_MARK) if isinstance(cls, type) else None


def make(cls: Any, config: Mapping[str, Any] | None = None, /, **settings: Any) -> Hook:
    """Create a hook from a marked class.

    Args:
        cls: The class.
        config: Its own settings, validated by its ``Config`` and passed as keyword arguments.
        **settings: Settings that every hook has, such as ``priority``, ``names`` and ``kinds``; see ``Hook``. The
            class's own apply unless given.

    Raises:
        ConfigurationError: The class is not marked or is not a ``Hook``, or a setting cannot be used.
    """
    marked = handler_of(cls)
    if marked is None:
        raise ConfigurationError(f"{cls!r} is not marked as a hook that may be named; decorate the class with @handler")
    hook = marked.build({} if config is None else config)
    if not isinstance(hook, Hook):
        raise ConfigurationError(f"{cls!r} makes no spanhook.Hook; subclass Hook")
    return set_up(hook, **settings)


def set_up(hook: Hook, /, **settings: Any) -> Hook:
    """Set settings that every hook has; see ``make``. Values are checked when the hook is registered.

    Raises:
        ConfigurationError: A setting is unknown.
    """
    kinds = settings.pop("kinds", None)
    for name, value in kept(settings).items():
        setattr(hook, name, value)
    if kinds is not None:
        hook.kinds = once(kinds)
    return hook


def named() -> dict[str, str]:
    """References to the hooks of installed distributions, such as ``a.module:Class``, by short name.

    Raises:
        ConfigurationError: Two distributions give different hooks the same name.
    """
    found: dict[str, str] = {}
    for entry in metadata.entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry.value)
        if other != entry.value:
            raise ConfigurationError(
                f"two installed distributions have a hook {entry.name!r}: {other} and {entry.value}; uninstall one"
            )
    return found


def find(name: str) -> type[Any]:
    """The marked class that an installed distribution has under this short name.

    Raises:
        ConfigurationError: There is no such hook, or it cannot be imported or is not marked.
    """
    known = named()
    if name not in known:
        close = get_close_matches(str(name), known, 1, 0.6)
        meant = f" (did you mean {close[0]!r}?)" if close else ""
        raise ConfigurationError(
            f"there is no hook {name!r}{meant}; expected one of {', '.join(sorted(known)) or 'none: none is installed'}"
        )
    entry = metadata.EntryPoint(name, known[name], GROUP)
    try:
        cls = entry.load()
    except Exception as error:
        raise ConfigurationError(f"hook {name!r} ({entry.value}) cannot be imported: {one_line(error)}") from error
    if handler_of(cls) is None:
        raise ConfigurationError(f"hook {name!r} ({entry.value}) is not marked; decorate the class with @handler")
    return cls


# --------------------------------------------------------------------------------------------------- marking


def _mark(cls: Any, config: Any) -> Any:
    if not isinstance(cls, type):
        raise ConfigurationError(f"@handler marks classes, and {cls!r} is none")
    if config is not None:
        if not _is_model(config):
            raise ConfigurationError(f"hook {cls.__name__!r}: Config is {config!r}, expected a pydantic model")
        _check_taken(cls, config)
    setattr(cls, _MARK, Marked(cls, config))
    return cls


def _is_model(given: Any) -> bool:
    return isinstance(given, type) and hasattr(given, "model_fields") and hasattr(given, "model_validate")


def _check_taken(cls: type[Any], config: Any) -> None:
    """Refuse a class that does not take the fields of its own ``Config``."""
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(**dict.fromkeys(config.model_fields))
    except TypeError as error:
        raise ConfigurationError(
            f"hook {cls.__name__!r} takes {signature}, which does not fit the fields of its Config: {error}"
        ) from None
