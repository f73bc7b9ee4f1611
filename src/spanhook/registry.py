"""Which hooks there are, and in which order they run for a kind of operation."""

import hashlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MethodType
from typing import Any, TypeVar, Unpack, overload

from spanhook import semconv
from spanhook.binding import AFTER, AROUND, BEFORE, ERROR, WRAP, Bound, bindings, check_limit
from spanhook.checking import Placed, kept, parse_event, place, wait_limit
from spanhook.errors import ConfigurationError
from spanhook.hook import UNSET, FunctionHook, Hook, HookSettings
from spanhook.metrics import Label
from spanhook.operation import Operation
from spanhook.semconv import Phase
from spanhook.subscription import Subscription

F = TypeVar("F", bound=Callable[..., Any])
H = TypeVar("H", bound=Hook)

_registering = threading.RLock()


def _renew() -> None:
    """A fork may have copied the lock while another thread held it."""
    global _registering
    _registering = threading.RLock()


os.register_at_fork(after_in_child=_renew)


@dataclass(frozen=True, slots=True)
class Plan:
    """The hooks of one kind, in order."""

    pre: tuple[Bound, ...] = ()
    post: tuple[Bound, ...] = ()
    error: tuple[Bound, ...] = ()
    buffers: tuple[Bound, ...] = ()
    """Those for which streams are held back."""
    passes: tuple[Label, ...] = ()
    """What ``allow`` of each of ``pre`` is counted under."""
    heard: Mapping[Phase, tuple[Bound, ...]] = field(default_factory=dict[Phase, tuple[Bound, ...]])
    """Subscriptions by the phase they are told of."""
    hooked: bool = False
    """Whether there is anything to run, beside telling subscriptions."""

    def __bool__(self) -> bool:
        return self.hooked or bool(self.heard)


class Hooks:
    """A registry of hooks. Give it to ``spanhook.instrument`` or name it in ``spanhook run --hooks file.py:hooks``.

    Hooks may be added and removed at any time; a change takes effect with the next operation.
    """

    def __init__(self, *hooks: Hook) -> None:
        self._bound: list[Bound] = []
        self._watchers: weakref.WeakSet[Registry] = weakref.WeakSet()
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
        self, event: str, function: Callable[[Operation], Any], **settings: Unpack[HookSettings]
    ) -> Callable[[], None]: ...

    @overload
    def on(self, event: str, **settings: Unpack[HookSettings]) -> Callable[[F], F]: ...

    def on(self, event: str, function: Any = UNSET, **settings: Unpack[HookSettings]) -> Any:
        """Subscribe to an event such as ``agent.invoke.post``, all events of a kind, or ``"*"``.

        A handler only watches. It is told on a thread of its own, in the order of events, so no call waits for it;
        what it raises is logged and counted, and so are events that come faster than it takes them.

        Returns:
            A function that ends the subscription. Without ``function``, a decorator; ``remove`` ends it then.

        Raises:
            ConfigurationError: There is no such event, or the handler or one of its settings is unusable.
        """
        with Placed():
            kind, phases = parse_event(event)
            given = kept(settings)

        def subscribe(function: F) -> F:
            self._register(Subscription(function, (kind,), phases, given))
            return function

        if function is UNSET:
            return subscribe
        added = Subscription(function, (kind,), phases, given)
        self._register(added)
        return lambda: self._remove(added)

    def flush(self, timeout: float | None = 5.0) -> bool:
        """Wait until subscriptions have been told of everything that has happened so far.

        Args:
            timeout: Seconds to wait at most, for all of them together; ``None`` for no limit.

        Returns:
            Whether they had been in time. Called in a handler, it does not wait for that one, and returns false.

        Raises:
            ConfigurationError: ``timeout`` is no number of seconds.
        """
        with Placed():
            until = time.monotonic() + wait_limit(timeout)
        waited = [one.hook.flush(until - time.monotonic()) for one in self.bound if isinstance(one.hook, Subscription)]
        return all(waited)

    def add(self, hook: H) -> H:
        """Add a ``Hook``; one that is already here is left alone.

        Raises:
            ConfigurationError: It is no ``Hook``, overrides nothing, or one of its settings is unusable.
        """
        with Placed(hook):
            if not isinstance(hook, Hook):  # pyright: ignore[reportUnnecessaryIsInstance]
                fix = "subclass Hook or use a decorator such as @hooks.before"
                if isinstance(hook, type) and issubclass(hook, Hook):
                    fix = f"it is a class; add an object of it, such as {hook.__name__}()"
                raise ConfigurationError(f"{hook!r} is no spanhook.Hook; {fix}")
            with _registering:
                if not any(bound.hook is hook for bound in self._bound):
                    self._register(hook)
        return hook

    def remove(self, hook: Hook | type[Hook] | Callable[..., Any]) -> bool:
        """Take a hook out, as often as it is here; one that is not here is fine.

        Args:
            hook: What was registered: a ``Hook``, a decorated function or method, a subscription's handler; or a
                class, of which all objects are taken out.

        Returns:
            Whether there was anything to take out.

        Raises:
            ConfigurationError: It is nothing that can be registered, such as a hook's name.
        """
        with Placed():
            if not callable(hook) and not isinstance(hook, Hook):
                raise ConfigurationError(
                    f"{hook!r} cannot be removed; give the Hook, its class, or the function that was registered"
                )
        return self._remove(hook)

    def _remove(self, hook: Any) -> bool:
        with _registering:
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

    def __iter__(self) -> Iterator[Hook]:
        return iter(list({id(bound.hook): bound.hook for bound in self._bound}.values()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def bound(self) -> list[Bound]:
        """Every function of every hook, in registration order."""
        return list(self._bound)

    def watch(self, registry: "Registry") -> None:
        """Tell ``registry`` of every change from now on; it is held weakly."""
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
        with Placed(hook), _registering:
            bound = [*self._bound, *bindings(hook, place())]
            check_limit(bound)
            for registry in list(self._watchers):
                registry.check(self, bound)
            self._bound = bound
        self._changed()

    def _changed(self) -> None:
        for registry in list(self._watchers):
            registry.rebuild()


def _is(bound: Bound, hook: Any) -> bool:
    """Whether this is what was registered: the hook, its class, or its function, of methods by what they are bound to."""
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


class Registry:
    """The hooks in force in this process: those of every ``Hooks`` given to ``instrument``, and lone ``Hook``s."""

    def __init__(self) -> None:
        self._lone = Hooks()
        self._sources: list[Hooks] = []
        self.plans: dict[str, Plan] = {}
        self.members: frozenset[int] = frozenset()
        self.digest = ""
        self.enforcing = True
        self.tenant_metrics = False
        self.tell: Callable[[list[Bound]], None] | None = None
        """Told of all that is in force whenever that changes."""
        self.include(self._lone)

    def include(self, hooks: Hooks) -> None:
        """Put the hooks of ``hooks`` in force, now and as they change.

        Raises:
            ConfigurationError: With those already in force, an event would have too many.
        """
        with _registering:
            if not any(source is hooks for source in self._sources):
                check_limit(one for source in (*self._sources, hooks) for one in source.bound)
                self._sources.append(hooks)
                hooks.watch(self)
        self.rebuild()

    def check(self, hooks: Hooks, bound: list[Bound]) -> None:
        """Find out whether ``hooks`` may become ``bound``, if they are in force here.

        Raises:
            ConfigurationError: An event would have too many.
        """
        if any(source is hooks for source in self._sources):
            others = [one for source in self._sources if source is not hooks for one in source.bound]
            check_limit([*others, *bound])

    def join(self, hook: Hook) -> None:
        """Put one hook in force, unless it is already, by identity."""
        with _registering:
            if not any(bound.hook is hook for source in self._sources for bound in source.bound):
                self._lone.add(hook)

    def mark(self) -> Callable[[], None]:
        """Remember what is in force now; the function returned goes back to it."""
        with _registering:
            sources, lone = list(self._sources), list(self._lone)

        def back() -> None:
            with _registering:
                self._sources = sources
                for hook in self._lone:
                    if not any(hook is one for one in lone):
                        self._lone.remove(hook)
                self.rebuild()

        return back

    def clear(self) -> None:
        """Put nothing in force."""
        with _registering:
            self._lone = Hooks()
            self._sources = []
        self.include(self._lone)

    def rebuild(self) -> None:
        """Work out the plan of every kind anew. Operations under way keep the one they have."""
        with _registering:
            bound = [one for source in self._sources for one in source.bound]
            unique = list({(id(one.hook), one.form, id(one.function)): one for one in bound}.values())
            ranked = sorted(enumerate(unique), key=lambda item: (item[1].priority, bool(item[1].tenant_id), item[0]))
            ordered = [one for _, one in ranked]
            plans = {kind: _plan(kind, ordered, labelled=not self.tenant_metrics) for kind in semconv.KINDS}
            self.members = frozenset(id(one.hook) for one in ordered)
            self.plans = {kind: plan for kind, plan in plans.items() if plan and self.enforcing}
            names = "\n".join(f"{one.name} {one.form} {one.priority} {sorted(one.kinds)}" for one in ordered)
            if self.tell is not None and self.enforcing:
                self.tell(ordered)
            self.digest = hashlib.sha256(names.encode()).hexdigest()[:12] if ordered else ""

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until subscriptions have been told of everything that has happened so far; see ``Hooks.flush``."""
        until = time.monotonic() + timeout
        told = [source.flush(until - time.monotonic()) for source in list(self._sources)]
        return all(told)

    @property
    def hooks(self) -> list[Hook]:
        with _registering:
            return list({id(one.hook): one.hook for source in self._sources for one in source.bound}.values())


def _plan(kind: str, ordered: Iterable[Bound], *, labelled: bool) -> Plan:
    mine = [one for one in ordered if "*" in one.kinds or kind in one.kinds]
    pre = tuple(one for one in mine if one.form in (BEFORE, AROUND, WRAP))
    post = tuple(one for one in mine if one.form == AFTER)
    error = tuple(one for one in mine if one.form == ERROR)
    passes = tuple(_passes(kind, one) for one in pre) if labelled else ()
    watching = [(one, one.hook.phases) for one in mine if isinstance(one.hook, Subscription)]
    heard: dict[Phase, tuple[Bound, ...]] = {}
    for phase in semconv.PHASES:
        told = tuple(one for one, phases in watching if phase in phases)
        if told:
            heard[phase] = told
    buffers = tuple(one for one in (*pre, *post) if one.buffers)
    return Plan(pre, post, error, buffers, passes, heard, bool(pre or post or error))


def _passes(kind: str, bound: Bound) -> Label:
    return Label.of(bound.name, kind, "pre", "allow", "enforce", "enforced", bound.closed, "")
