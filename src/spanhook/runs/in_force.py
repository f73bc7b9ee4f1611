"""The run hooks that are set for this process."""

import threading

from spanhook.engine import registry
from spanhook.errors import ConfigurationError
from spanhook.fork import after_fork
from spanhook.gating import UNSET, Placed, time_limit
from spanhook.runs.hooks import TIMEOUT, RunHooks

_set: RunHooks | None = None
_lock = threading.Lock()


def _renew() -> None:
    """Replace the lock: a fork may have copied it while another thread held it."""
    global _lock
    _lock = threading.Lock()


after_fork("runs", _renew)


def set_hooks(hooks: RunHooks | None, timeout: float | None = UNSET) -> None:
    """Activate hooks in this process, in place of those set before; ``None`` only removes those.

    They apply to your own code at once, and to libraries once ``spanhook.instrument()`` was called. Runs in progress
    keep the hooks that they started with.

    Args:
        hooks: The hooks.
        timeout: Seconds that each of them may take, or ``None`` for no limit; unless given, their
            timeout stays as it is.

    Raises:
        ConfigurationError: ``hooks`` is not a ``RunHooks``, ``timeout`` is not a number of seconds, or an event would
            have too many hooks.
    """
    global _set
    with Placed():
        if hooks is not None and not isinstance(hooks, RunHooks):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"set_hooks({hooks!r}): expected a RunHooks, or None")
        if timeout is not UNSET:
            time_limit("set_hooks", timeout)
    with _lock:
        registry.swap(
            None if _set is None else _set.__spanhook_hooks__(), None if hooks is None else hooks.__spanhook_hooks__()
        )
        _set = hooks
        if hooks is not None and timeout is not UNSET:
            hooks.timeout = timeout


def get_hooks() -> RunHooks | None:
    """The hooks that ``set_hooks`` activated; ``None`` if there are none, or if ``uninstrument`` removed them."""
    found = _set
    return found if found is not None and registry.has(found.__spanhook_hooks__()) else None


def get_hooks_timeout() -> float | None:
    """Seconds that each of these hooks may take; ``None`` means no limit."""
    found = get_hooks()
    return TIMEOUT if found is None else found.timeout
