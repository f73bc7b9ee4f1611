"""Which hooks there are, and in which order they run for a kind of operation."""

import hashlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, Unpack

from spanhook import semconv
from spanhook.binding import AFTER, AROUND, BEFORE, ERROR, WATCH, WRAP, Bound, bind, bindings, check_limit, parse_event
from spanhook.errors import ConfigurationError
from spanhook.hook import FunctionHook, Hook, HookSettings
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
    """Those for which streams, and all else that tells parts of a result, are held back."""
    results: tuple[Bound, ...] = ()
    """Those that see a result and may refuse or replace it."""
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

    def on(
        self, event: str, function: Callable[[Operation], Any], **settings: Unpack[HookSettings]
    ) -> Callable[[], None]:
        """Subscribe to an event such as ``agent.invoke.post``, all events of a kind, or ``"*"``.

        A handler only watches. It is told on a thread of its own, in the order of events, so no call waits for it;
        what it raises is logged and counted, and so are events that come faster than it takes them.

        Returns:
            A function that ends the subscription.
        """
        kind, phases = parse_event(event)
        added = Subscription(function, (kind,), phases, settings)
        self._register([bind(added, WATCH, function)])
        return lambda: self.remove(added)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until subscriptions have been told of everything that has happened so far.

        Args:
            timeout: Seconds to wait at most, for all of them together.

        Returns:
            Whether they had been in time. Called in a handler, it does not wait for that one, and returns false.
        """
        until = time.monotonic() + timeout
        waited = [one.hook.flush(until - time.monotonic()) for one in self.bound if isinstance(one.hook, Subscription)]
        return all(waited)

    def add(self, hook: H) -> H:
        """Add a ``Hook``; one that is already here is left alone.

        Raises:
            ConfigurationError: It is no ``Hook``, overrides nothing, or one of its settings is unusable.
        """
        if not isinstance(hook, Hook):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"{hook!r} is no spanhook.Hook; subclass Hook or use a decorator such as @hooks.before"
            )
        with _registering:
            if not any(bound.hook is hook for bound in self._bound):
                self._register(list(bindings(hook)))
        return hook

    def remove(self, hook: Hook) -> None:
        """Take a hook out; one that is not here is fine."""
        with _registering:
            self._bound = [bound for bound in self._bound if bound.hook is not hook]
        self._changed()

    def __iter__(self) -> Iterator[Hook]:
        return iter(list(dict.fromkeys(bound.hook for bound in self._bound)))

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
        if len(kinds) == 1 and callable(kinds[0]):
            raise ConfigurationError(
                f"{kinds[0]!r}: write the kind in parentheses, such as @hooks.before('tool.execute')"
            )

        def decorate(function: F) -> F:
            hook = FunctionHook(form, function, kinds or ("*",), settings)
            self._register([bind(hook, form, function)])
            return function

        return decorate

    def _register(self, added: list[Bound]) -> None:
        with _registering:
            bound = [*self._bound, *added]
            check_limit(bound)
            for registry in list(self._watchers):
                registry.check(self, bound)
            self._bound = bound
        self._changed()

    def _changed(self) -> None:
        for registry in list(self._watchers):
            registry.rebuild()


class Registry:
    """The hooks in force in this process: those of every ``Hooks`` given to ``instrument``, and lone ``Hook``s."""

    def __init__(self) -> None:
        self._lone = Hooks()
        self._sources: list[Hooks] = []
        self.plans: dict[str, Plan] = {}
        self.members: frozenset[Hook] = frozenset()
        self.digest = ""
        self.enforcing = True
        self.tenant_metrics = False
        self.changed: list[Callable[[], None]] = []
        """Called when plans have changed."""
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
                    if hook not in lone:
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
            self.members = frozenset(one.hook for one in ordered)
            self.plans = {kind: plan for kind, plan in plans.items() if plan and self.enforcing}
            names = "\n".join(f"{one.name} {one.form} {one.priority} {sorted(one.kinds)}" for one in ordered)
            self.digest = hashlib.sha256(names.encode()).hexdigest()[:12] if ordered else ""
            self.tell()

    def tell(self) -> None:
        """Call everybody who wants to know that plans have changed, one thread at a time."""
        with _registering:
            for changed in list(self.changed):
                changed()

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until subscriptions have been told of everything that has happened so far; see ``Hooks.flush``."""
        until = time.monotonic() + timeout
        told = [source.flush(until - time.monotonic()) for source in list(self._sources)]
        return all(told)

    @property
    def hooks(self) -> list[Hook]:
        with _registering:
            return list(dict.fromkeys(one.hook for source in self._sources for one in source.bound))


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
    results = tuple(one for one in (*pre, *post) if one.form != BEFORE or one.buffers)
    return Plan(pre, post, error, buffers, results, passes, heard, bool(pre or post or error))


def _passes(kind: str, bound: Bound) -> Label:
    return Label.of(bound.name, kind, "pre", "allow", "enforce", "enforced", bound.closed, "")
