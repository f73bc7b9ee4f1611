"""Registering hooks on a ``Hooks``. It does not know which hooks are active."""

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import MethodType
from typing import Any, Protocol, TypeVar, Unpack, overload

from spanhook.errors import ConfigurationError
from spanhook.fork import after_fork
from spanhook.gating._checking import kept, wait_limit
from spanhook.gating._topics import parse_event, parse_level
from spanhook.gating.binding import AFTER, AROUND, BEFORE, ERROR, Bound, bindings
from spanhook.gating.hook import UNSET, FunctionHook, Hook, HookSettings
from spanhook.gating.places import Placed, place
from spanhook.gating.subscription import Subscription
from spanhook.model import Event, Level

F = TypeVar("F", bound=Callable[..., Any])
H = TypeVar("H", bound=Hook)

lock = threading.RLock()
"""Held while registered or active hooks are being changed."""


def _renew() -> None:
    """A fork may have copied the lock while another thread held it."""
    global lock
    lock = threading.RLock()


after_fork("hooks", _renew)


class Watcher(Protocol):
    """Something that is notified of changes."""

    def check(self, hooks: "Hooks", bound: list[Bound]) -> None:
        """Check whether ``hooks`` may become ``bound``."""

    def rebuild(self) -> None:
        """Notify that something has changed."""

    def flush_shadows(self, seconds: float) -> bool:
        """Wait until hooks in shadow have seen everything so far; returns whether they did in time."""
        ...


class Hooks:
    """A registry of hooks. Give it to ``spanhook.instrument`` or name it in ``spanhook run --hooks file.py:hooks``.

    Hooks may be added and removed at any time; a change takes effect with the next operation.

    Args:
        hooks: The first hooks.
        level: How much a subscription to ``"*"`` receives unless it has its own level; see ``on``.

    Raises:
        ConfigurationError: One of the hooks cannot be used, or the level is unknown.
    """

    def __init__(self, *hooks: Hook, level: Level = "summary") -> None:
        with Placed():
            self._level: Level = parse_level(level)
        self._bound: list[Bound] = []
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
        for hook in hooks:
            self.add(hook)

    def before(self, *kinds: str, **settings: Unpack[HookSettings]) -> Callable[[F], F]:
        """Decorate a function ``(op)`` to run before operations of these kinds. Settings: see ``Hook``."""
        return self._decorator(BEFORE, kinds, settings)

    def around(self, *kinds: str, **settings: Unpack[HookSettings]) -> Callable[[F], F]:
        """Decorate a generator ``(op)`` or an ``async def (op, call_next)`` to run around operations."""
        return self._decorator(AROUND, kinds, settings)

    def after(self, *kinds: str, **settings: Unpack[HookSettings]) -> Callable[[F], F]:
        """Decorate a function ``(op)`` to run after operations that were neither refused nor failed."""
        return self._decorator(AFTER, kinds, settings)

    def on_error(self, *kinds: str, **settings: Unpack[HookSettings]) -> Callable[[F], F]:
        """Decorate a function ``(op)`` to run after operations that failed, were refused or cancelled."""
        return self._decorator(ERROR, kinds, settings)

    @overload
    def on(
        self,
        event: str,
        function: Callable[[Event], Any],
        *,
        level: Level | None = None,
        **settings: Unpack[HookSettings],
    ) -> Callable[[], None]: ...

    @overload
    def on(self, event: str, *, level: Level | None = None, **settings: Unpack[HookSettings]) -> Callable[[F], F]: ...

    def on(
        self, event: str, function: Any = UNSET, *, level: Level | None = None, **settings: Unpack[HookSettings]
    ) -> Any:
        """Subscribe to an event such as ``agent.invoke.post`` or ``agent:end``, all events of a kind, or ``"*"``.

        A handler only observes. It runs on its own thread and receives events in order, so no call waits for it. Its
        exceptions are logged and counted. If it is too slow, events are dropped, which is counted too.

        Args:
            event: The event to subscribe to.
            function: Called with each ``Event``; may be async.
            level: What ``"*"`` covers: agents, jobs and schedules at ``"summary"``, everything at ``"trace"``; by
                default the registry's level. Events subscribed to by name are delivered at either.
            settings: See ``Hook``.

        Returns:
            A function that ends the subscription; without ``function``, a decorator, and ``remove`` ends it.

        Raises:
            ConfigurationError: The event or level is unknown, or the handler or a setting cannot be used.
        """
        with Placed():
            topic = parse_event(event, self._level if level is None else parse_level(level))
            given = kept(settings)

        def subscribe(function: F) -> F:
            self._register(Subscription(function, topic, given))
            return function

        if function is UNSET:
            return subscribe
        added = Subscription(function, topic, given)
        self._register(added)
        return lambda: self._remove(added)

    def flush(self, timeout: float | None = 5.0) -> bool:
        """Wait until subscriptions and hooks in shadow have seen everything that has happened so far.

        Args:
            timeout: The most seconds to wait, for all of them together; ``None`` for no limit.

        Returns:
            Whether they did in time. Called in a handler, it does not wait for that handler, and returns false.

        Raises:
            ConfigurationError: ``timeout`` is not a number of seconds.
        """
        with Placed():
            until = time.monotonic() + wait_limit(timeout)
        waited = [one.hook.flush(until - time.monotonic()) for one in self.bound if isinstance(one.hook, Subscription)]
        seen = [registry.flush_shadows(until - time.monotonic()) for registry in list(self._watchers)]
        return all(waited) and all(seen)

    def add(self, hook: H) -> H:
        """Add a ``Hook``; adding it again changes nothing.

        Raises:
            ConfigurationError: It is not a ``Hook``, overrides nothing, or has a setting that cannot be used.
        """
        with Placed(hook):
            if not isinstance(hook, Hook):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigurationError(f"{hook!r} is not a spanhook.Hook; {_instead(hook)}")
            with lock:
                if not any(bound.hook is hook for bound in self._bound):
                    self._register(hook)
        return hook

    def exchange(self, old: Iterable[Hook], new: Iterable[Hook]) -> None:
        """Replace hooks with others in one step.

        An operation that begins meanwhile gets either all old hooks or all new ones.

        Args:
            old: The hooks to remove.
            new: The hooks to add after the remaining ones, in this order. A hook that is already here stays as it is.

        Raises:
            ConfigurationError: A hook cannot be used, or an event would have too many; then nothing has changed.
        """
        with Placed(), lock:
            given = list(new)
            out = {id(hook) for hook in (*old, *given)}
            bound = [one for one in self._bound if id(one.hook) not in out]
            for hook in given:
                known = [one for one in self._bound if one.hook is hook]
                bound += known or bindings(hook, place())
            for registry in list(self._watchers):
                registry.check(self, bound)
            self._bound = bound
        self._changed()

    def remove(self, hook: Hook | type[Hook] | Callable[..., Any]) -> bool:
        """Remove a hook, however often it was added.

        Args:
            hook: A ``Hook``, a decorated function or method, or a subscription's handler; or a class, to remove all
                of its objects.

        Returns:
            Whether there was anything to remove.

        Raises:
            ConfigurationError: It is not something that can be registered; for example, it is a hook's name.
        """
        with Placed():
            if not callable(hook) and not isinstance(hook, Hook):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigurationError(
                    f"{hook!r} cannot be removed; give the Hook, its class, or the function that was registered"
                )
        return self._remove(hook)

    def _remove(self, hook: Any) -> bool:
        with lock:
            out = [one for one in self._bound if _is(one, hook)]
            inner = hook
            for _ in range(20):  # it may have been decorated again after it was registered
                inner = getattr(inner, "__wrapped__", None)
                if out or inner is None:
                    break
                out = [one for one in self._bound if _is(one, inner)]
            self._bound = [one for one in self._bound if not any(one is gone for gone in out)]
        self._changed()
        return bool(out)

    def reread(self) -> None:
        """Apply settings that have changed since the hooks were added; takes effect at once.

        Raises:
            ConfigurationError: A setting cannot be used; then nothing changes.
        """
        with lock:
            read = {id(one.hook): one.place for one in self._bound}
            hooks = {id(one.hook): one.hook for one in self._bound}
            self._bound = [one for known, place in read.items() for one in bindings(hooks[known], place)]
        self._changed()

    def __iter__(self) -> Iterator[Hook]:
        return iter(list({id(bound.hook): bound.hook for bound in self._bound}.values()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def bound(self) -> list[Bound]:
        """Every function of every hook, in registration order."""
        return list(self._bound)

    def watch(self, registry: Watcher) -> None:
        """Notify ``registry`` of every change from now on; it is held weakly."""
        self._watchers.add(registry)

    def _decorator(self, form: str, kinds: tuple[str, ...], settings: HookSettings) -> Callable[[F], F]:
        name = "on_error" if form == ERROR else form
        with Placed():
            if len(kinds) == 1 and callable(kinds[0]):
                raise ConfigurationError(
                    f"{kinds[0]!r}: write the kind in parentheses, such as @hooks.{name}('tool.execute')"
                )
            given = kept(settings)

        def decorate(function: F) -> F:
            self._register(FunctionHook(form, function, kinds or ("*",), given))
            return function

        return decorate

    def _register(self, hook: Hook) -> None:
        with Placed(hook), lock:
            bound = [*self._bound, *bindings(hook, place())]
            for registry in list(self._watchers):
                registry.check(self, bound)
            self._bound = bound
        self._changed()

    def _changed(self) -> None:
        for registry in list(self._watchers):
            registry.rebuild()


def _instead(given: Any) -> str:
    if isinstance(given, type) and issubclass(given, Hook):
        return f"it is a class; add an object of it, such as {given.__name__}()"
    return "subclass Hook or use a decorator such as @hooks.before"


def _is(bound: Bound, hook: Any) -> bool:
    """Whether ``hook`` was registered as ``given``: as itself, by its class, or by its function."""
    if bound.hook is hook or type(bound.hook) is hook:
        return True
    if not isinstance(bound.hook, FunctionHook):
        return False
    function = bound.function
    if isinstance(function, staticmethod):
        function = function.__func__
    if isinstance(function, MethodType):
        return (
            isinstance(hook, MethodType) and function.__self__ is hook.__self__ and function.__func__ is hook.__func__
        )
    return function is hook
