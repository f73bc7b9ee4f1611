"""From what an author wrote to what a chain runs: one function of one hook, with everything about it resolved.

All mistakes in a hook are found here, at registration, and named together with their fix.
"""

import dis
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from spanhook import semconv
from spanhook.encoding import encodable
from spanhook.errors import ConfigurationError, Repeats
from spanhook.hook import UNSET, FailMode, FunctionHook, Hook, HookSettings
from spanhook.operation import FILTERING, Operation
from spanhook.record import Record
from spanhook.semconv import Phase

MAX_PER_EVENT = 20
GATE_PRIORITY, OBSERVER_PRIORITY, OPEN_FROM = 75, 500, 100
TIMEOUT, RUN_TIMEOUT = 0.2, 10.0

BEFORE, AROUND, WRAP, AFTER, ERROR, WATCH = "before", "around", "wrap", "after", "error", "watch"
"""Forms: ``around`` is a generator, ``wrap`` is async with ``call_next``, ``watch`` is a subscription."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One function of one hook, with everything about it resolved."""

    hook: Hook
    form: str
    function: Callable[..., Any]
    kinds: frozenset[str]
    name: str
    priority: int
    timeout_ns: int | None
    closed: bool
    blocking: bool
    buffer: bool
    slow: bool
    """Async or blocking: may suspend, so its duration is worth a histogram."""
    names: frozenset[str] | None
    models: frozenset[str] | None
    agents: frozenset[str] | None
    tenant_id: str
    when: Callable[[Operation], bool] | None
    selective: bool
    reads: bool
    """A generator that uses what its ``yield`` gives it, which then has to be copied."""
    plain: bool
    """A gate that is a plain function with a time limit: the chain runs those without ceremony."""
    repeats: Repeats = field(default_factory=Repeats, compare=False, repr=False)

    @property
    def fail_mode(self) -> FailMode:
        return "closed" if self.closed else "open"

    @property
    def gate(self) -> bool:
        """Whether it stands before the call, or decides about what came of it; observers may be skipped."""
        return self.closed or self.form in (BEFORE, AROUND, WRAP)

    @property
    def buffers(self) -> bool:
        """Whether streams are held back for it: if it asks, or decides about results and must not come too late."""
        return self.buffer or (self.form == AFTER and self.closed)

    def matches(self, op: Record) -> bool:
        """Whether its filters let ``op`` through. What ``when`` raises is the caller's to handle."""
        if not self.concerns(op):
            return False
        if self.when is None:
            return True
        view = Operation(op)
        view._locked = FILTERING
        return bool(self.when(view))

    def concerns(self, op: Record) -> bool:
        """``matches``, as far as it can be said without asking ``when``.

        An operation that could not be described concerns every hook that fails closed, whatever it is named.
        """
        return (not self.tenant_id or self.tenant_id == op.identity.tenant_id) and (
            (
                (self.names is None or op.works_on(self.names))
                and (self.models is None or op.model in self.models)
                and (self.agents is None or op.agent in self.agents)
            )
            or (op.undescribed and self.closed)
        )


def check_limit(bound: Iterable[Bound]) -> None:
    """Refuse more than ``MAX_PER_EVENT`` hooks for one event and tenant.

    Raises:
        ConfigurationError: There would be more.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for one in bound:
        phase = {AFTER: "post", ERROR: "error", WATCH: "watch"}.get(one.form, "pre")
        for kind in semconv.KINDS if "*" in one.kinds else one.kinds:
            counts[kind, phase, one.tenant_id] += 1
            if counts[kind, phase, one.tenant_id] > MAX_PER_EVENT:
                whose = f"tenant {one.tenant_id!r}" if one.tenant_id else "system hooks"
                raise ConfigurationError(
                    f"hook {one.name!r} is the {MAX_PER_EVENT + 1}th on {kind}.{phase} for {whose}; "
                    f"at most {MAX_PER_EVENT} are allowed: merge some, or narrow their kinds"
                )


def bindings(hook: Hook) -> Iterator[Bound]:
    if isinstance(hook, FunctionHook):
        yield bind(hook, hook.form, hook.function)
        return
    _check_attributes(hook)
    found = False
    for method, form in (("before", BEFORE), ("around", AROUND), ("after", AFTER), ("on_error", ERROR)):
        if getattr(type(hook), method) is not getattr(Hook, method):
            found = True
            yield bind(hook, form, getattr(hook, method))
    if not found:
        raise ConfigurationError(
            f"{type(hook).__qualname__} overrides none of before, after, on_error, around; it would never do anything"
        )


def _check_attributes(hook: Hook) -> None:
    """Refuse a misspelt setting of a class, which would widen the hook in silence."""
    settings = {"kinds", *HookSettings.__annotations__}
    for kind in type(hook).__mro__:
        if kind is Hook:
            return
        for name, value in vars(kind).items():
            close = () if name.startswith("_") or callable(value) else get_close_matches(name, settings, 1, 0.75)
            for meant in close:
                if name not in settings:
                    raise ConfigurationError(
                        f"hook {kind.__qualname__}: {name!r} is no setting of a hook; did you mean {meant!r}? "
                        "(If it is something of your own, name it otherwise.)"
                    )


def bind(hook: Hook, form: str, function: Callable[..., Any]) -> Bound:
    name = encodable(hook.name or type(hook).__name__)
    if not callable(function):
        raise ConfigurationError(f"hook {name!r}: {function!r} is not callable")
    target = inspect.unwrap(function)
    if not inspect.isroutine(target) and not isinstance(target, type):
        target = getattr(target, "__call__", target)  # noqa: B004 - an object with an async __call__ is async too
    if inspect.isasyncgenfunction(target):
        raise ConfigurationError(
            f"hook {name!r} is an async generator, which cannot be resumed safely; "
            "write `async def around(op, call_next)` or a plain generator"
        )
    is_async = inspect.iscoroutinefunction(target)
    if form == AROUND:
        form = WRAP if is_async else AROUND
        if form == AROUND and not inspect.isgeneratorfunction(target):
            raise ConfigurationError(
                f"hook {name!r} is used as around but never yields; write a generator with one `yield`, "
                "or `async def around(op, call_next)`"
            )
    elif inspect.isgeneratorfunction(target):
        raise ConfigurationError(f"hook {name!r} yields, but is not an around hook; use @hooks.around")
    _check_signature(name, function, ("op", "call_next") if form == WRAP else ("op",))
    observes = form in (AFTER, ERROR, WATCH)
    priority = hook.priority if hook.priority is not None else OBSERVER_PRIORITY if observes else GATE_PRIORITY
    if type(priority) is not int or not 0 <= priority <= 1000:
        raise ConfigurationError(f"hook {name!r}: priority={hook.priority!r}, expected a whole number from 0 to 1000")
    if hook.fail_mode not in (None, "open", "closed"):
        raise ConfigurationError(f"hook {name!r}: fail_mode={hook.fail_mode!r}, expected 'open' or 'closed'")
    if hook.blocking and is_async:
        raise ConfigurationError(f"hook {name!r}: blocking=True is for plain functions; an async one needs no thread")
    kinds = _kinds(name, hook.kinds)
    closed = hook.fail_mode == "closed" if hook.fail_mode else priority < OPEN_FROM
    names, models, agents = (_filter(name, label, getattr(hook, label)) for label in ("names", "models", "agents"))
    if hook.when is not None and not callable(hook.when):
        raise ConfigurationError(f"hook {name!r}: when={hook.when!r}, expected a function of the operation")
    if not isinstance(hook.tenant_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"hook {name!r}: tenant_id={hook.tenant_id!r}, expected a string")
    return Bound(
        hook=hook,
        form=form,
        function=function,
        kinds=kinds,
        name=name,
        priority=priority,
        timeout_ns=_timeout(name, hook.timeout, kinds),
        closed=closed and form != WATCH,
        blocking=hook.blocking,
        buffer=hook.buffer,
        slow=hook.blocking or is_async,
        tenant_id=hook.tenant_id,
        when=hook.when,
        plain=form == BEFORE and not hook.blocking and not is_async and hook.timeout is not None,
        reads=form == AROUND and _uses_yield(target),
        selective=bool(hook.tenant_id or hook.when or any(one is not None for one in (names, models, agents))),
        names=names,
        models=models,
        agents=agents,
    )


def _uses_yield(function: Any) -> bool:
    """Whether a generator function does anything with what its ``yield`` gives; true where that is not to be seen."""
    code = getattr(function, "__code__", None)
    if code is None:
        return True
    names = [one.opname for one in dis.get_instructions(code) if one.opname not in _NO_USE]
    after = [names[index + 1] for index, name in enumerate(names[:-1]) if name == "YIELD_VALUE"]
    return set(after) != {"POP_TOP"}


_NO_USE = frozenset(("RESUME", "NOP", "CACHE", "EXTENDED_ARG"))


def _kinds(name: str, given: Collection[str]) -> frozenset[str]:
    if isinstance(given, str):
        given = (given,)
    for kind in given:
        if kind != "*" and kind not in semconv.KINDS:
            start, _, phase = kind.rpartition(".")
            meant = f" (an event; write {start!r})" if phase in semconv.PHASES and start in semconv.KINDS else ""
            raise ConfigurationError(
                f"hook {name!r}: unknown kind {kind!r}{meant}; expected '*' or one of {', '.join(semconv.KINDS)}"
            )
    return frozenset(given) or frozenset("*")


def parse_event(event: str) -> tuple[str, tuple[Phase, ...]]:
    kind, _, phase = event.rpartition(".")
    if phase in semconv.PHASES and (kind in semconv.KINDS or kind == "*"):
        return kind, (phase,)
    if event in semconv.KINDS or event == "*":
        return event, semconv.PHASES
    raise ConfigurationError(f"unknown event {event!r}; expected '*', a kind, or a kind with .pre, .post or .error")


def _timeout(name: str, given: Any, kinds: frozenset[str]) -> int | None:
    if given is None:
        return None
    if given is UNSET:
        given = RUN_TIMEOUT if kinds == frozenset(("run",)) else TIMEOUT
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise ConfigurationError(f"hook {name!r}: timeout={given!r}, expected seconds above 0, or None for no limit")
    return int(given * 1e9)


def _filter(name: str, label: str, given: Any) -> frozenset[str] | None:
    if given is None:
        return None
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise ConfigurationError(f"hook {name!r}: {label}={given!r}, expected a set of strings such as {{'search'}}")
    return frozenset(given)


def _check_signature(name: str, function: Callable[..., Any], expected: tuple[str, ...]) -> None:
    wanted = f"({', '.join(expected)})"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*expected)
    except TypeError:
        raise ConfigurationError(f"hook {name!r} takes {signature}; it is called with {wanted}") from None
