"""The registry of the process, into which ``Settings(definitions_dir=...)`` loads definitions."""

from spanhook.definitions.registry import HookRegistry
from spanhook.errors import ConfigurationError

_registry: HookRegistry | None = None


def get_registry() -> HookRegistry:
    """The registry of the process. It is active once ``instrument`` has loaded definitions into it."""
    global _registry
    if _registry is None:
        _registry = HookRegistry()
    return _registry


def set_registry(registry: HookRegistry) -> None:
    """Replace the registry of the process, for example to allow your own classes. Call it before ``instrument``.

    Raises:
        ConfigurationError: It is not a ``HookRegistry``.
    """
    global _registry
    if not isinstance(registry, HookRegistry):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"{registry!r} is not a HookRegistry")
    _registry = registry
