"""The active hooks, and the order in which they run for a kind of operation."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator

from spanhook import semconv
from spanhook.gating import registering
from spanhook.gating._checking import wait_limit
from spanhook.gating._delegations import delegations
from spanhook.gating.auditing import auditors_of
from spanhook.gating.binding import AFTER, AFTER_NEXT, ERROR, WATCH, Bound
from spanhook.gating.hook import Hook
from spanhook.gating.limits import Limits
from spanhook.gating.log import ResultListener
from spanhook.gating.loosening import Enforcement
from spanhook.gating.plan import Heard, Plan, plan_of
from spanhook.gating.registering import Hooks
from spanhook.gating.shadow import Shadow
from spanhook.gating.subscription import Subscription
from spanhook.model import ASKING_FOR_RUNS, kinds
from spanhook.semconv import Phase
from spanhook.settings import Mode
from spanhook.telemetry import Concealer, telemetry, use_concealers


class Registry:
    """The active hooks of this process: those of every ``Hooks`` given to ``instrument``, and single ``Hook``s."""

    def __init__(self) -> None:
        self._lone = Hooks()
        self._sources: list[Hooks] = []
        self._planned: tuple[list[Bound], Mode, Limits, bool, tuple[str, ...], tuple[ResultListener, ...]] | None = None
        """The input of the current plans; while it is the same, they are not computed again."""
        self._ordered: list[Bound] = []
        self._shadows: dict[int, Shadow] = {}
        """Hooks in shadow, by their id."""
        self.plans: dict[str, Plan] = {}
        """By kind, for operations inside others."""
        self.outer: dict[str, Plan] = {}
        """By kind, for outermost operations: also has the hooks that are only for these."""
        self.members: frozenset[int] = frozenset()
        self.digest = ""
        self.mode: Mode = "enforce"
        self.limits = Limits()
        self.tenant_metrics = False
        self.auditors: tuple[Bound, ...] = ()
        """Hooks that are told of every operation when it has ended."""
        self.listeners: tuple[ResultListener, ...] = ()
        """Called with each hook's result on operations of every kind."""
        self.examine: Callable[[list[Bound]], None] | None = None
        """Called with all active hooks whenever these change."""
        self.changed: list[Callable[[], None]] = []
        """Called when plans have changed."""
        self.include(self._lone)

    def include(self, hooks: Hooks) -> None:
        """Activate the hooks of ``hooks``, now and as they change.

        Raises:
            ConfigurationError: Together with the active hooks, an event would have too many.
        """
        self.swap(None, hooks)

    def swap(self, out: Hooks | None, hooks: Hooks | None) -> None:
        """Activate ``hooks`` in place of ``out``. Either may be ``None``, and ``hooks`` may be active already.

        Raises:
            ConfigurationError: Together with the others, an event would have too many hooks; nothing changes then.
        """
        self.exchange([one for one in (out,) if one is not None], [one for one in (hooks,) if one is not None])
        self.rebuild()

    def exchange(self, out: Iterable[Hooks], into: Iterable[Hooks], limits: Limits | None = None) -> Callable[[], None]:
        """Replace some registries with others; this takes effect with the next ``rebuild``.

        Args:
            out: The registries to remove; those that are not active are ignored.
            into: The registries to add, in place of the first one removed. An active one keeps its place.
            limits: The limits to check them with; by default the current ones.

        Returns:
            A function that restores the earlier state.

        Raises:
            ConfigurationError: Together with the others, an event would have too many hooks; nothing changes then.
        """
        gone = list(out)
        with registering.lock:
            before = self._sources
            places = [index for index, source in enumerate(before) if any(source is one for one in gone)]
            at = places[0] if places else len(before)
            kept = [(index, source) for index, source in enumerate(before) if index not in places]
            added = [one for one in into if not any(one is source for _, source in kept)]
            sources = [
                *(source for index, source in kept if index < at),
                *added,
                *(source for index, source in kept if index > at),
            ]
            (limits or self.limits).check(one for source in sources for one in source.bound)
            self._sources = sources
            for hooks in added:
                hooks.watch(self)

        def back() -> None:
            with registering.lock:
                self._sources = before
                self.rebuild()

        return back

    def has(self, hooks: Hooks) -> bool:
        """Whether ``hooks`` are active."""
        return any(source is hooks for source in self._sources)

    def check(self, hooks: Hooks, bound: list[Bound]) -> None:
        """Check whether ``hooks`` may become ``bound``, if they are active here.

        Raises:
            ConfigurationError: An event would have too many.
        """
        if any(source is hooks for source in self._sources):
            others = [one for source in self._sources if source is not hooks for one in source.bound]
            self.limits.check([*others, *bound])

    def join(self, hook: Hook) -> None:
        """Activate one hook, unless this very object is active already."""
        with registering.lock:
            if not any(bound.hook is hook for source in self._sources for bound in source.bound):
                self._lone.add(hook)

    def mark(self) -> Callable[[], None]:
        """Remember what is active now; the returned function restores it."""
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
        """Deactivate all hooks."""
        with registering.lock:
            self._lone = Hooks()
            self._sources = []
        self.include(self._lone)

    def rebuild(self) -> None:
        """Compute the plan of every kind again. Operations in progress keep theirs."""
        with registering.lock:
            bound = [one for source in self._sources for one in source.bound]
            planned = bound, self.mode, self.limits, self.tenant_metrics, kinds(), self.listeners
            try:
                if planned != self._planned:
                    self._planned = None  # if an interrupt comes now, the plans count as outdated
                    self._plan(bound)
                    self._planned = planned
            finally:
                self.tell()
            if self.examine is not None and self.mode == "enforce":
                self.examine(self._ordered)

    def _plan(self, bound: list[Bound]) -> None:
        unique = list({(id(one.hook), one.form, id(one.function)): one for one in bound}.values())
        ranked = sorted(enumerate(unique), key=_place)
        ordered = self._ordered = [self.limits.applied(one) for _, one in ranked]
        self.auditors = auditors_of(ordered) if self.mode != "off" else ()
        self.members = frozenset(id(one.hook) for one in ordered)
        shadowed = {id(one.hook): one.name for one in ordered if self._is_shadow(one)}
        self._shadows = {known: self._shadows.get(known) or Shadow(name) for known, name in shadowed.items()}
        use_concealers(tuple(self._concealers(ordered)))
        telemetry.usage_is_limited = self.mode == "enforce" and any(
            one.hook.limits_usage and one.mode == "enforce" for one in ordered
        )
        inner = [one for one in ordered if not one.outermost]
        outer = dict(self._plans(ordered)) if self.mode != "off" else {}
        plans = outer if len(inner) == len(ordered) or not outer else dict(self._plans(inner))
        self.outer, self.plans = outer, plans
        names = "\n".join(f"{one.name} {one.form} {one.priority} {sorted(one.kinds)} {one.mode}" for one in ordered)
        self.digest = hashlib.sha256(names.encode()).hexdigest()[:12] if ordered else ""

    def _concealers(self, ordered: list[Bound]) -> Iterator[Concealer]:
        """What enforced hooks do to recorded text, in their order."""
        enforced = {id(one.hook): one for one in reversed(ordered) if self.mode == "enforce" and one.mode == "enforce"}
        for bound in reversed(enforced.values()):
            if type(bound.hook).conceal is not Hook.conceal:
                yield Concealer(bound.hook.conceal, bound.tenant_id)

    def _is_shadow(self, bound: Bound) -> bool:
        return bound.form != WATCH and (self.mode == "shadow" or bound.mode == "shadow")

    def _plans(self, ordered: list[Bound]) -> Iterator[tuple[str, Plan]]:
        listening = [one for one in ordered if isinstance(one.hook, Subscription)]
        for kind in kinds() if ordered else ():
            mine = [one for one in ordered if "*" in one.kinds or kind in one.kinds]
            if kind in ASKING_FOR_RUNS:
                mine = [one for one in mine if not one.outermost]
            delegated = delegations(kind, listening)
            plan = self._plan_of(kind, mine, delegated) if mine or delegated else None
            if plan:
                yield kind, plan

    def _plan_of(self, kind: str, mine: list[Bound], delegated: dict[Phase, list[Heard]]) -> Plan:
        heard: dict[Phase, list[Heard]] = {}
        shadowed: dict[int, list[Bound]] = {}
        for one in mine:
            if isinstance(one.hook, Subscription):
                for phase in one.hook.topic.phases_of(kind):
                    heard.setdefault(phase, []).append((one, one.hook.listener.put))
            elif self._is_shadow(one):
                shadowed.setdefault(id(one.hook), []).append(one)
        for known, functions in shadowed.items():
            shadow = self._shadows[known]
            shadow.plans[kind] = plan_of(kind, functions, {}, self.listeners, labelled=False)
            for phase in _phases(functions):
                heard.setdefault(phase, []).append((functions[0], shadow.put))
        for phase, those in delegated.items():
            own = heard.get(phase, [])
            heard[phase] = [*those, *own] if phase == "pre" else [*own, *those]
        enforced = [one for one in mine if one.form != WATCH and id(one.hook) not in shadowed]
        told: dict[Phase, tuple[Heard, ...]] = {phase: tuple(those) for phase, those in heard.items()}
        return plan_of(kind, enforced, told, self.listeners, labelled=not self.tenant_metrics)

    def tell(self) -> None:
        """Call the listeners for changed plans, one thread at a time."""
        with registering.lock:
            for changed in list(self.changed):
                changed()

    def in_shadow(self, kind: str) -> list[Plan]:
        """What hooks in shadow mode run for operations of a kind, a plan for each hook."""
        with registering.lock:
            plans = [shadow.plans.get(kind) for shadow in self._shadows.values()]
        return [plan for plan in plans if plan is not None]

    def flush(self, timeout: float | None = 5.0) -> bool:
        """Wait until subscriptions and hooks in shadow have seen everything so far; see ``Hooks.flush``."""
        until = time.monotonic() + wait_limit(timeout)
        told = [source.flush(until - time.monotonic()) for source in list(self._sources)]
        return all(told) and self.flush_shadows(until - time.monotonic())

    def flush_shadows(self, seconds: float) -> bool:
        """Wait until hooks in shadow have seen everything so far; returns whether they did in time."""
        until = time.monotonic() + seconds
        seen = [shadow.listener.flush(until - time.monotonic()) for shadow in list(self._shadows.values())]
        return all(seen)

    @property
    def enforcement(self) -> Enforcement:
        """What is enforced now."""
        with registering.lock:
            return Enforcement(self.mode, tuple(self._ordered), telemetry.settings)

    @property
    def hooks(self) -> list[Hook]:
        with registering.lock:
            return list({id(one.hook): one.hook for source in self._sources for one in source.bound}.values())

    @property
    def priorities(self) -> dict[int, int]:
        """Where the first function of each active hook stands, by the hook's ``id``."""
        with registering.lock:
            found = sorted(
                ((id(one.hook), one.priority) for source in self._sources for one in source.bound), reverse=True
            )
        return dict(found)


def _place(item: tuple[int, Bound]) -> tuple[bool, int, bool, int]:
    """What the order of hooks goes by; the number is that of registration."""
    number, bound = item
    return bound.hook._last, bound.priority, bool(bound.tenant_id), number


def _phases(functions: Iterable[Bound]) -> tuple[Phase, ...]:
    """The phases that a hook in shadow receives: the beginning too, if it has anything to run there."""
    after: dict[str, Phase] = {AFTER: "post", AFTER_NEXT: "post", ERROR: "error"}
    phases: set[Phase] = {after.get(one.form, "pre") for one in functions}
    return semconv.PHASES if "pre" in phases else tuple(phases)
