"""Logs why the host denies by itself: records have a code alone, and nothing that leads to the mistake."""

import inspect
from collections.abc import Awaitable
from typing import Any

from spanhook.diagnostics import Repeats, log
from spanhook.hooks.agent_hooks._interceptors import AtOnce

_HOST = "host_error:"
_repeats = Repeats()


class Heard:
    """An interceptor, and the error of its one call.

    Attributes:
        error: What it raised.
    """

    def __init__(self, asked: Any) -> None:
        self._asked = asked
        self.error: Exception | None = None

    def intercept(self, context: Any) -> Any:
        """What the interceptor returns; what it raises is kept, and raised."""
        try:
            found = self._asked.intercept(context)
        except Exception as error:
            self.error = error
            raise
        return self._waited(found) if inspect.isawaitable(found) else found

    async def _waited(self, found: Awaitable[Any]) -> Any:
        try:
            return await found
        except Exception as error:
            self.error = error
            raise


def tell_failure(bound: Any, point: str, verdict: Any, error: Exception | None) -> None:
    """Log that an interceptor has given no verdict, at most once a minute for each cause."""
    code: str = verdict.reason or ""
    if not code.startswith(_HOST):
        return
    why = code.removeprefix(_HOST) if error is None else f"interceptor_failed: {type(error).__name__}"
    if error is None and verdict.message:
        why += ": " + verdict.message.removeprefix(f"{code}: ")
    who = f"interceptor {_name(bound)!r} of agent_hooks has given no verdict at {point}"
    _say(f"{who}: {code}", f"{who}: {why}", error)


def tell_unbound(point: str) -> None:
    """Log that a point is denied as nobody is bound to it, at most once a minute."""
    what = f"no interceptor of agent_hooks runs at {point}, so it is denied; with unbound: allow, it passes"
    _say(what, what, None)


def _say(cause: str, what: str, error: Exception | None) -> None:
    if _repeats.due(cause) is not None:
        log.warning("spanhook: %s", what, exc_info=error)


def _name(bound: Any) -> str:
    asked = bound.interceptor.asked if isinstance(bound.interceptor, AtOnce) else bound.interceptor
    return bound.name or getattr(asked.intercept, "__qualname__", type(asked).__qualname__)
