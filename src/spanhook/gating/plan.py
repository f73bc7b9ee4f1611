"""The hooks for operations of one kind, in order. This module does not know which hooks are active."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, repeat, takewhile
from typing import Any

from spanhook.gating.binding import AFTER, AFTER_NEXT, AROUND, BEFORE, BEFORE_NEXT, ERROR, WRAP, Bound
from spanhook.gating.listener import Delivery
from spanhook.gating.log import ResultListener
from spanhook.semconv import Phase
from spanhook.telemetry import counts

FastHook = tuple[int, Bound, Callable[..., Any], int, int, bool, bool]
"""A plain hook: how many have had their turn once it has, the hook itself, its function, the slot for its ``allow``,
its limit in nanoseconds, whether it has filters, and whether it is a generator, or, after the call, only observes.
"""
Heard = tuple[Bound, Callable[[Delivery], Any]]
"""A listener: a hook, for its filters, and the function that notifies it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The hooks of one kind, in order."""

    pre: tuple[Bound, ...] = ()
    post: tuple[Bound, ...] = ()
    error: tuple[Bound, ...] = ()
    buffers: tuple[Bound, ...] = ()
    """Hooks for which streams, and other parts of a result, are held back."""
    windows: tuple[Bound, ...] = ()
    """Hooks to which the text of streams is shown before it goes out; one function of each."""
    results: tuple[Bound, ...] = ()
    """Hooks that see a result and may refuse or replace it."""
    fast: tuple[FastHook, ...] = ()
    """The first of ``pre`` that are plain functions or generators; empty if results of hooks have listeners."""
    fast_post: tuple[FastHook, ...] = ()
    """The first of ``post``, likewise."""
    fast_error: tuple[FastHook, ...] = ()
    """The first of ``error``, likewise."""
    afterwards: bool = False
    """Whether any ``after`` or ``on_error`` hooks have to run."""
    reach: int = 0
    """The last index in ``counts.decisions.cells`` that they count in."""
    heard: Mapping[Phase, tuple[Heard, ...]] = field(default_factory=dict[Phase, tuple[Heard, ...]])
    """Subscriptions and hooks in shadow, by the phase that they receive."""
    wraps: bool = False
    """Whether one of ``pre`` is a coroutine that waits around the call."""
    hooked: bool = False
    """Whether there is anything to run besides notifying listeners."""
    together: tuple[Bound, ...] = ()
    """``after`` hooks that run at the same time, once ``post`` has run."""
    listeners: tuple[ResultListener, ...] = ()
    """Called with the result of each hook."""
    bodies: tuple[Bound, ...] = ()
    """Hooks and listeners that ask for bodies of requests."""
    once: tuple[Bound, ...] = ()
    """Those of ``pre`` that act once, at the last look at a call."""
    early: "Plan | None" = None
    """The plan without those, for calls that are looked at once more; ``None`` if there are none."""

    def __bool__(self) -> bool:
        return self.hooked or bool(self.heard)

    @property
    def looks_again(self) -> bool:
        """Whether any gate looks at a call once more if a framework has changed it."""
        return any(one.asked_again for one in self.pre)

    @property
    def deciding(self) -> "Plan":
        """For a call that begins later, if at all: the gates that only decide whether it may, and what a refusal leads
        to.
        """
        pre = tuple(one for one in self.pre if one.form in (BEFORE, BEFORE_NEXT))
        fast = tuple(takewhile(lambda one: one[1].form == BEFORE, self.fast))
        heard = {phase: heard for phase, heard in self.heard.items() if phase == "error"}
        return replace(
            self,
            pre=pre,
            fast=fast,
            fast_post=(),
            post=(),
            together=(),
            wraps=False,
            heard=heard,
            hooked=bool(pre),
        )

    @property
    def decided(self) -> "Plan":
        """For such a call when it begins: everything but those gates."""
        pre = tuple(one for one in self.pre if one.form in (AROUND, WRAP))
        hooked = bool(pre or self.post or self.together or self.error)
        return replace(self, pre=pre, fast=(), hooked=hooked)


def plan_of(
    kind: str,
    hooks: Iterable[Bound],
    heard: Mapping[Phase, tuple[Heard, ...]],
    listeners: tuple[ResultListener, ...] = (),
    *,
    labelled: bool,
) -> Plan:
    """The plan of one kind.

    Args:
        kind: The kind of operation.
        hooks: Functions of hooks that are enforced, in order.
        heard: The listeners, by phase.
        listeners: Called with the result of each hook, in addition to the hooks' own listeners.
        labelled: Whether ``allow`` is counted under one label for all tenants.
    """
    mine = tuple(hooks)
    once = tuple(one for one in mine if one.acts_once)
    others = [one for one in mine if not one.acts_once]
    early = plan_of(kind, others, heard, listeners, labelled=labelled) if once else None
    pre = tuple(one for one in mine if one.form in (BEFORE, BEFORE_NEXT, AROUND, WRAP))
    after = tuple(one for one in mine if one.form in (AFTER, AFTER_NEXT))
    post = tuple(one for one in after if not one.hook._together)
    together = tuple(one for one in after if one.hook._together)
    error = tuple(one for one in mine if one.form == ERROR)
    told = tuple(dict.fromkeys((*listeners, *(told for one in mine for told in one.hook._listeners))))
    fast, fast_post, fast_error = (
        tuple(map(_fast, count(1), repeat(kind), takewhile(_is_plain, hooks))) if labelled and not told else ()
        for hooks in (pre, post, error)
    )
    buffers = tuple(one for one in (*pre, *after) if one.buffers)
    seen = {id(one.hook): one for one in reversed((*pre, *after)) if one.windows}
    windows = tuple(reversed(seen.values()))
    results = tuple(one for one in (*pre, *after) if one.form not in (BEFORE, BEFORE_NEXT) or one.buffers)
    wraps = any(one.form == WRAP for one in pre)
    hooked = bool(pre or after or error)
    reach = max((one[3] + 1 for one in (*fast, *fast_post, *fast_error)), default=0)
    bodies = tuple(one for one in (*mine, *(one for ones in heard.values() for one, _ in ones)) if one.hook.body)
    return Plan(
        pre=pre,
        post=post,
        error=error,
        buffers=buffers,
        windows=windows,
        results=results,
        fast=fast,
        fast_post=fast_post,
        fast_error=fast_error,
        afterwards=bool(after or error),
        reach=reach,
        heard=heard,
        wraps=wraps,
        hooked=hooked,
        together=together,
        listeners=told,
        bodies=bodies,
        once=once,
        early=early,
    )


_PHASES: Mapping[str, Phase] = {BEFORE: "pre", AROUND: "post", AFTER: "post", ERROR: "error"}
"""When a hook lets a call pass, by its form: a generator does once it has ended."""


def _is_plain(bound: Bound) -> bool:
    return bound.plain


def _fast(turn: int, kind: str, bound: Bound) -> FastHook:
    phase = _PHASES[bound.form]
    special = bound.form == AROUND or (bound.form != BEFORE and not bound.gate)
    slot = counts.decisions.slot((bound.name, kind, phase, "allow", "enforce", "enforced", bound.closed, ""))
    return turn, bound, bound.function, slot, bound.timeout_ns or 0, bound.selective, special
