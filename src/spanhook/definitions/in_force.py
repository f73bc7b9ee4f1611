"""The registry of the process, into which ``Settings(definitions_dir=...)`` loads definitions."""

from spanhook.definitions.registry import HookRegistry
from spanhook.errors import ConfigurationError

_registry: HookRegistry | None = None


def get_registry() -> HookRegistry:
    """The registry of the process. It is in force once ``instrument`` has loaded definitions into it."""
    global _registry
    if _registry is None:
        _registry = HookRegistry()
    return _registry


def set_registry(registry: HookRegistry) -> None:
    """Have another registry of the process, such as one with an allow-list of its own; before ``instrument``.

    Raises:
        ConfigurationError: It is no registry.
    """
    global _registry
    if not isinstance(registry, HookRegistry):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"{registry!r} is no HookRegistry")
    _registry = registry
