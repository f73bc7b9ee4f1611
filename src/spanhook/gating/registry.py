"""Which hooks there are, and in which order they run for a kind of operation."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from spanhook import semconv
from spanhook.gating import registering
from spanhook.gating._checking import wait_limit
from spanhook.gating._log import Listener
from spanhook.gating.binding import AFTER, AFTER_NEXT, AROUND, BEFORE, BEFORE_NEXT, ERROR, WRAP, Bound, check_limit
from spanhook.gating.hook import Hook
from spanhook.gating.registering import Hooks
from spanhook.gating.subscription import Subscription
from spanhook.model import kinds
from spanhook.semconv import Phase
from spanhook.telemetry import Label


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
    wraps: bool = False
    """Whether one of ``pre`` is a coroutine that waits around the call."""
    hooked: bool = False
    """Whether there is anything to run, beside telling subscriptions."""
    together: tuple[Bound, ...] = ()
    """Those of ``post`` that run at the same time, after the others."""
    listeners: tuple[Listener, ...] = ()
    """Told of what each hook did."""

    def __bool__(self) -> bool:
        return self.hooked or bool(self.heard)


class Registry:
    """The hooks in force in this process: those of every ``Hooks`` given to ``instrument``, and lone ``Hook``s."""

    def __init__(self) -> None:
        self._lone = Hooks()
        self._sources: list[Hooks] = []
        self._planned: tuple[list[Bound], bool, bool, tuple[str, ...], tuple[Listener, ...]] | None = None
        """What the plans were worked out of, which need not be done again while it is the same."""
        self._ordered: list[Bound] = []
        self.plans: dict[str, Plan] = {}
        """By kind, for operations inside of others."""
        self.outer: dict[str, Plan] = {}
        """By kind, for outermost operations: the same, and the hooks that are only for these."""
        self.members: frozenset[int] = frozenset()
        self.digest = ""
        self.enforcing = True
        self.tenant_metrics = False
        self.listeners: tuple[Listener, ...] = ()
        """Told of what each hook does to operations of every kind."""
        self.examine: Callable[[list[Bound]], None] | None = None
        """Given all that is in force whenever that changes."""
        self.changed: list[Callable[[], None]] = []
        """Called when plans have changed."""
        self.include(self._lone)

    def include(self, hooks: Hooks) -> None:
        """Put the hooks of ``hooks`` in force, now and as they change.

        Raises:
            ConfigurationError: With those already in force, an event would have too many.
        """
        with registering.lock:
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
        with registering.lock:
            if not any(bound.hook is hook for source in self._sources for bound in source.bound):
                self._lone.add(hook)

    def mark(self) -> Callable[[], None]:
        """Remember what is in force now; the function returned goes back to it."""
        with registering.lock:
            sources, lone = list(self._sources), list(self._lone)

        def back() -> None:
            with registering.lock:
                self._sources = sources
                for hook in self._lone:
                    if not any(hook is one for one in lone):
                        self._lone.remove(hook)
                self.rebuild()

        return back

    def clear(self) -> None:
        """Put nothing in force."""
        with registering.lock:
            self._lone = Hooks()
            self._sources = []
        self.include(self._lone)

    def rebuild(self) -> None:
        """Work out the plan of every kind anew. Operations under way keep the one they have."""
        with registering.lock:
            bound = [one for source in self._sources for one in source.bound]
            planned = bound, self.enforcing, self.tenant_metrics, kinds(), self.listeners
            try:
                if planned != self._planned:
                    self._planned = None  # should an interrupt come between, nothing is taken for planned
                    self._plan(bound)
                    self._planned = planned
            finally:
                self.tell()
            if self.examine is not None and self.enforcing:
                self.examine(self._ordered)

    def _plan(self, bound: list[Bound]) -> None:
        unique = list({(id(one.hook), one.form, id(one.function)): one for one in bound}.values())
        ranked = sorted(enumerate(unique), key=lambda item: (item[1].priority, bool(item[1].tenant_id), item[0]))
        ordered = self._ordered = [one for _, one in ranked]
        self.members = frozenset(id(one.hook) for one in ordered)
        labelled = not self.tenant_metrics
        inner = [one for one in ordered if not one.outermost]
        listeners = self.listeners
        outer = dict(_plans(ordered, listeners, labelled=labelled)) if self.enforcing else {}
        same = len(inner) == len(ordered) or not outer
        plans = outer if same else dict(_plans(inner, listeners, labelled=labelled))
        self.outer, self.plans = outer, plans
        names = "\n".join(f"{one.name} {one.form} {one.priority} {sorted(one.kinds)}" for one in ordered)
        self.digest = hashlib.sha256(names.encode()).hexdigest()[:12] if ordered else ""

    def tell(self) -> None:
        """Call everybody who wants to know that plans have changed, one thread at a time."""
        with registering.lock:
            for changed in list(self.changed):
                changed()

    def flush(self, timeout: float | None = 5.0) -> bool:
        """Wait until subscriptions have been told of everything that has happened so far; see ``Hooks.flush``."""
        until = time.monotonic() + wait_limit(timeout)
        told = [source.flush(until - time.monotonic()) for source in list(self._sources)]
        return all(told)

    @property
    def hooks(self) -> list[Hook]:
        with registering.lock:
            return list({id(one.hook): one.hook for source in self._sources for one in source.bound}.values())


def _plans(ordered: list[Bound], listeners: tuple[Listener, ...], *, labelled: bool) -> Iterator[tuple[str, Plan]]:
    for kind in kinds() if ordered else ():
        mine = [one for one in ordered if "*" in one.kinds or kind in one.kinds]
        plan = _plan(kind, mine, listeners, labelled=labelled) if mine else None
        if plan:
            yield kind, plan


def _plan(kind: str, mine: list[Bound], listeners: tuple[Listener, ...], *, labelled: bool) -> Plan:
    pre = tuple(one for one in mine if one.form in (BEFORE, BEFORE_NEXT, AROUND, WRAP))
    post = tuple(one for one in mine if one.form in (AFTER, AFTER_NEXT))
    together = tuple(one for one in post if one.hook.together)
    error = tuple(one for one in mine if one.form == ERROR)
    heard_by = tuple(dict.fromkeys((*listeners, *(told for one in mine for told in one.hook.listeners))))
    passes = tuple(_passes(kind, one) for one in pre) if labelled and not heard_by else ()
    watching = [(one, one.hook.phases) for one in mine if isinstance(one.hook, Subscription)]
    heard: dict[Phase, tuple[Bound, ...]] = {}
    for phase in semconv.PHASES:
        told = tuple(one for one, phases in watching if phase in phases)
        if told:
            heard[phase] = told
    buffers = tuple(one for one in (*pre, *post) if one.buffers)
    results = tuple(one for one in (*pre, *post) if one.form not in (BEFORE, BEFORE_NEXT) or one.buffers)
    wraps = any(one.form == WRAP for one in pre)
    hooked = bool(pre or post or error)
    return Plan(pre, post, error, buffers, results, passes, heard, wraps, hooked, together, heard_by)


def _passes(kind: str, bound: Bound) -> Label:
    return Label.of(bound.name, kind, "pre", "allow", "enforce", "enforced", bound.closed, "")
