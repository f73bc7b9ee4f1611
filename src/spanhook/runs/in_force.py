"""The hooks of runs that a server has set for its process."""

import threading

from spanhook.engine import registry
from spanhook.errors import ConfigurationError
from spanhook.fork import after_fork
from spanhook.gating import UNSET, Placed, time_limit
from spanhook.runs.hooks import TIMEOUT, RunHooks

_set: RunHooks | None = None
_lock = threading.Lock()


def _renew() -> None:
    """A fork may have copied the lock while another thread held it."""
    global _lock
    _lock = threading.Lock()


after_fork("runs", _renew)


def set_hooks(hooks: RunHooks | None, timeout: float | None = UNSET) -> None:
    """Put hooks in force in this process, in place of those set before; ``None`` puts none.

    Runs of libraries reach them once ``spanhook.instrument()`` has been called, runs of one's own code without it.
    Runs under way go on with the hooks that they began with.

    Args:
        hooks: Which.
        timeout: Seconds that each of them may take, or ``None`` for no limit; as they are unless given.

    Raises:
        ConfigurationError: ``hooks`` are no ``RunHooks``, ``timeout`` is no number of seconds, or an event would have
            too many hooks.
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
    """The hooks that ``set_hooks`` has put in force; ``None`` where there are none, or none any more."""
    found = _set
    return found if found is not None and registry.has(found.__spanhook_hooks__()) else None


def get_hooks_timeout() -> float | None:
    """Seconds that each of these hooks may take; ``None`` is no limit."""
    found = get_hooks()
    return TIMEOUT if found is None else found.timeout
