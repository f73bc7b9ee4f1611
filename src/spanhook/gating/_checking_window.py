"""Checks the settings of hooks that see streamed text."""

import inspect
from typing import Any

from spanhook.errors import ConfigurationError
from spanhook.gating.hook import FunctionHook, Hook
from spanhook.gating.text_filters import MOST


def check_window(name: str, hook: Hook) -> None:
    """Refuse a hook with ``stream="window"`` that would not see text, or would let it go.

    Raises:
        ConfigurationError: One of its settings or methods cannot be used.
    """
    if hook.stream != "window":
        if hook.window:
            raise ConfigurationError(f"hook {name!r}: window={hook.window!r} has no effect without stream='window'")
        return
    if isinstance(hook, FunctionHook):
        raise ConfigurationError(
            f"hook {name!r}: stream='window' is for classes; subclass Hook, and override text() and after()"
        )
    has_filter = _overrides(hook, "text_filter")
    if not has_filter and not _overrides(hook, "text"):
        raise ConfigurationError(f"hook {name!r}: stream='window', but it overrides neither text nor text_filter")
    if not _overrides(hook, "after") and not _overrides(hook, "around"):
        raise ConfigurationError(
            f"hook {name!r}: stream='window', but it overrides neither after nor around, which decide about results "
            "that are not streamed, and about streams whose text cannot be read as it arrives"
        )
    method: Any = hook.text_filter if has_filter else hook.text
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise ConfigurationError(
            f"hook {name!r}: {method.__name__}() must be a plain function, as it is called for every piece of a "
            "stream; to await something, use stream='buffer'"
        )
    window: Any = hook.window
    if not has_filter and (type(window) is not int or not 0 < window <= MOST // 2):
        raise ConfigurationError(
            f"hook {name!r}: window={window!r}, expected how many characters to hold back, from 1 to {MOST // 2}: "
            "as many as the longest text that text() must see in one piece"
        )


def _overrides(hook: Hook, method: str) -> bool:
    return getattr(type(hook), method) is not getattr(Hook, method)
