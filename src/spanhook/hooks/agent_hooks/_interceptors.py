"""Interceptors, resolvers and functions as users give them: objects, functions, where these are, or services."""

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, cast

from spanhook.errors import ConfigurationError
from spanhook.gating import load_object
from spanhook.hooks.agent_hooks._config import Interceptor
from spanhook.hooks.agent_hooks._services import Service

instantly: ContextVar[bool] = ContextVar("spanhook_agent_hooks_instantly", default=False)
"""Whether nobody can be waited for."""


def _at_once(found: Any) -> Any:
    """What is no awaitable, or may be one.

    Raises:
        TypeError: It would have to be waited for, which is impossible.
    """
    if instantly.get() and inspect.isawaitable(found):
        close = getattr(found, "close", None)
        if close is not None:
            close()
        raise TypeError("it would have to be waited for")
    return found


class AtOnce:
    """An interceptor that fails if it would have to be waited for where that is impossible."""

    def __init__(self, asked: Any) -> None:
        self.asked = asked

    def intercept(self, context: Any) -> Any:
        return _at_once(self.asked.intercept(context))


def loaded(given: Any) -> Any:
    """An object that was given, or that a text names."""
    return load_object(given) if isinstance(given, str) else given


def interceptor(given: Interceptor, timeout: float | None) -> Any:
    """What has a method ``intercept``.

    Raises:
        ConfigurationError: It cannot be found or used.
    """
    if isinstance(given.use, str) and given.use.startswith(("http://", "https://")):
        return Service(given, timeout)
    if given.headers or given.headers_env:
        raise ConfigurationError("headers and headers_env are for interceptors with an address")
    return with_method("intercept", given.use)


def resolver(given: Any, resolution: type[Any]) -> Any:
    """What has a method ``resolve`` that returns a resolution, or fails.

    Raises:
        ConfigurationError: It cannot be found or used.
    """
    asked = with_method("resolve", given)

    def checked(found: Any) -> Any:
        if not isinstance(found, resolution):
            raise TypeError("expected a resolution of the contract")
        return found

    async def waited(found: Any) -> Any:
        return checked(await found)

    def resolve(request: Any) -> Any:
        found = _at_once(asked.resolve(request))
        return waited(found) if inspect.isawaitable(found) else checked(found)

    return SimpleNamespace(resolve=resolve)


def function(given: Any, what: str) -> Callable[..., Any]:
    """A function.

    Raises:
        ConfigurationError: It cannot be found or called.
    """
    found = loaded(given)
    if not callable(found):
        raise ConfigurationError(f"{what}: {given!r} cannot be called; name a function")
    return found


def with_method(method: str, given: Any) -> Any:
    """An object that has a method, or a function as such an object; of a class, an object."""
    found = loaded(given)
    if inspect.isclass(found):
        found = cast("Any", found)()
    if callable(getattr(found, method, None)):
        return found
    if not callable(found):
        raise ConfigurationError(f"{given!r} has no method {method!r}, and cannot be called")
    return SimpleNamespace(**{method: found})
