"""The hooks to replay, as ``spanhook run`` would load them, but none that changes anything outside of this process."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from spanhook.bootstrap import read_environment
from spanhook.config import limits_of, load_file, load_hooks, load_own
from spanhook.errors import ConfigurationError
from spanhook.gating import Hook, Hooks, Registry
from spanhook.telemetry import prices

MEMORY = "memory://"
_DISABLED = "OTEL_SDK_DISABLED"


def loaded(**given: Any) -> Registry:
    """A registry with the hooks that options and environment name.

    Policies of a configuration file get stores in memory, whatever the file says. ``mode`` is ignored for all but
    single hooks.

    Args:
        given: ``hooks`` and ``config`` as given to ``spanhook run``.

    Raises:
        ConfigurationError: A hook cannot be loaded, or there is none, or one uses a store outside of this process.
    """
    wanted = read_environment(os.environ, **given).anchored()
    file = load_file(wanted.config, in_memory=True) if wanted.config else None
    settings = wanted.settings if file is None else file.settings(wanted.over)
    prices.load()  # now, as in enforcement, and not in the time of the first hook that asks for one
    registry = Registry()
    registry.limits = limits_of(settings)
    for spec in dict.fromkeys(wanted.hooks):
        found = load_hooks(spec)
        registry.include(Hooks(found) if isinstance(found, Hook) else found)
    if file is not None:
        own = load_own(file)
        own.apply()
        for hooks in () if wanted.hooks else own.registries:
            registry.include(hooks)
        registry.include(file.registry())
    if settings.definitions_dir is not None:
        from spanhook.definitions import get_registry

        definitions = get_registry()
        definitions.load(settings.definitions_dir)
        registry.include(definitions.hooks)
    if not registry.hooks:
        raise ConfigurationError("there are no hooks to replay; name them with --hooks or in a configuration file")
    for hook in registry.hooks:
        _check_store(hook)
    return registry


def _check_store(hook: Hook) -> None:
    store = getattr(getattr(hook, "_config", None), "store", MEMORY)
    if isinstance(store, str) and not store.startswith(MEMORY) and not hook._not_replayed:
        raise ConfigurationError(
            f"hook {hook.name!r} counts in {store.partition('://')[0]}://, which a replay would change; "
            "give it store='memory://' for the replay, or configure it as a policy"
        )


@contextmanager
def silence() -> Generator[None]:
    """Let nothing be exported, even if the hooks' module sets up the OpenTelemetry SDK, and find hooks in the working
    directory.
    """
    before, path = os.environ.get(_DISABLED), list(sys.path)
    os.environ[_DISABLED] = "true"
    if not sys.flags.safe_path and os.getcwd() not in path:
        sys.path.append(os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = path
        if before is None:
            del os.environ[_DISABLED]
        else:
            os.environ[_DISABLED] = before
