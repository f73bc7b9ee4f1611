"""Resolves hooks into functions for the chain, at registration.

Mistakes in a hook's functions are found here, mistakes in its settings in ``_checking``.
"""

import dis
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from spanhook.diagnostics import Repeats
from spanhook.errors import ConfigurationError
from spanhook.gating._checking import Checked, check_signature, checked
from spanhook.gating.hook import UNSET, FailMode, FunctionHook, Hook, StreamMode
from spanhook.model import FILTERING, HookMode, Operation, Record

GATE_PRIORITY, OBSERVER_PRIORITY, OPEN_FROM = 75, 500, 100

BEFORE, AROUND, WRAP, AFTER, ERROR, WATCH = "before", "around", "wrap", "after", "error", "watch"
BEFORE_NEXT, AFTER_NEXT = "before_next", "after_next"
"""Forms: ``around`` is a generator, ``wrap`` is async with ``call_next``, ``watch`` is a subscription. The last two are
async with ``call_next`` too, which runs what follows in the same phase, but not the call.
"""


@dataclass(frozen=True, slots=True, eq=False)
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
    stream: StreamMode | None
    slow: bool
    """Async or blocking: may suspend, so its duration is worth a histogram."""
    names: frozenset[str] | None
    models: frozenset[str] | None
    agents: frozenset[str] | None
    tenant_id: str
    when: Callable[[Operation], bool] | None
    selective: bool
    reads: bool
    """A generator that uses the value of its ``yield``, which then has to be copied."""
    plain: bool
    """A plain function or generator with a time limit; it runs on the fast path."""
    timeout_set: bool
    fail_mode_set: bool
    """Whether its author said so, or it is a default."""
    outermost: bool
    """Only for operations that are not inside another."""
    budgeted: bool
    """Its time counts towards the chain's budget; it is skipped once that budget is spent."""
    mode: HookMode
    place: str
    """Where it was registered."""
    repeats: Repeats = field(default_factory=Repeats, compare=False, repr=False)

    @property
    def fail_mode(self) -> FailMode:
        return "closed" if self.closed else "open"

    @property
    def gate(self) -> bool:
        """Whether it runs before the call or decides about its outcome; observers may be skipped."""
        return self.closed or self.form in (BEFORE, AROUND, WRAP, BEFORE_NEXT)

    @property
    def asked_again(self) -> bool:
        """Whether it runs again after a later rewrite. Hooks that fail open and await ``call_next`` do not."""
        return self.form == BEFORE or (self.form == BEFORE_NEXT and self.closed)

    @property
    def acts_once(self) -> bool:
        """Whether it waits for the last look at a call; see ``Hook._acts_once``."""
        return self.hook._acts_once and self.form == BEFORE

    @property
    def buffers(self) -> bool:
        """Whether streams are held back for it: if it asks for that, or must decide about results in time.

        Hooks that fail closed only because a setting says so for all do not hold back every stream.
        """
        says_so = self.fail_mode_set or self.priority < OPEN_FROM
        if self.stream is not None:
            return self.stream == "buffer"
        return self.form in (AFTER, AFTER_NEXT) and self.closed and says_so

    @property
    def windows(self) -> bool:
        """Whether the text of streams is shown to it before it goes out."""
        return self.stream == "window" and self.form in (AFTER, AFTER_NEXT, AROUND, WRAP)

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


def bindings(hook: Hook, place: str) -> Iterator[Bound]:
    """The functions of a hook.

    Args:
        hook: The hook.
        place: Where it was registered.

    Raises:
        ConfigurationError: It overrides nothing, or one of its functions or settings cannot be used.
    """
    given = checked(hook)
    if isinstance(hook, FunctionHook):
        yield bind(hook, hook.form, hook.function, place, given)
        return
    found = False
    for method, form in (("before", BEFORE), ("around", AROUND), ("after", AFTER), ("on_error", ERROR)):
        if getattr(type(hook), method) is not getattr(Hook, method):
            found = True
            yield bind(hook, form, getattr(hook, method), place, given)
    if not found:
        raise ConfigurationError(
            f"{type(hook).__qualname__} overrides none of before, after, on_error, around; it would never do anything"
        )


def bind(hook: Hook, form: str, function: Callable[..., Any], place: str, given: Checked) -> Bound:
    name = given.name
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
    goes_on = form in (WRAP, BEFORE_NEXT, AFTER_NEXT)
    check_signature(name, function, ("op", "call_next") if goes_on else ("op",))
    observes = form in (AFTER, AFTER_NEXT, ERROR, WATCH)
    priority = hook.priority if hook.priority is not None else OBSERVER_PRIORITY if observes else GATE_PRIORITY
    if type(priority) is not int or not 0 <= priority <= 1000:
        raise ConfigurationError(f"hook {name!r}: priority={hook.priority!r}, expected a whole number from 0 to 1000")
    if given.blocking and is_async:
        raise ConfigurationError(f"hook {name!r}: blocking=True is for plain functions; an async one needs no thread")
    closed = hook.fail_mode == "closed" if hook.fail_mode else priority < OPEN_FROM
    if given.stream == "window" and not closed and form in (AFTER, AROUND, WRAP):
        raise ConfigurationError(
            f"hook {name!r}: stream='window' needs fail_mode='closed' or a priority below {OPEN_FROM}: text that a "
            "hook could not see, because it failed, must not go out"
        )
    names, models, agents = given.names, given.models, given.agents
    return Bound(
        hook=hook,
        form=form,
        function=function,
        kinds=given.kinds,
        name=name,
        priority=priority,
        timeout_ns=given.timeout_ns,
        closed=closed and form != WATCH,
        blocking=given.blocking,
        stream=given.stream,
        slow=given.blocking or is_async,
        tenant_id=given.tenant_id,
        when=given.when,
        plain=form in (BEFORE, AROUND, AFTER, ERROR)
        and not given.blocking
        and not is_async
        and given.timeout_ns is not None
        and hook._budgeted,
        reads=form == AROUND and _uses_yield(target),
        selective=bool(given.tenant_id or given.when or any(one is not None for one in (names, models, agents))),
        names=names,
        models=models,
        agents=agents,
        timeout_set=hook.timeout is not UNSET,
        fail_mode_set=hook.fail_mode is not None,
        outermost=given.outermost,
        budgeted=hook._budgeted,
        mode=given.mode,
        place=place,
    )


def _uses_yield(function: Any) -> bool:
    """Whether a generator function uses the value of its ``yield``; true if that cannot be determined."""
    code = getattr(function, "__code__", None)
    if code is None:
        return True
    names = [one.opname for one in dis.get_instructions(code) if one.opname not in _NO_USE]
    after = [names[index + 1] for index, name in enumerate(names[:-1]) if name == "YIELD_VALUE"]
    return set(after) != {"POP_TOP"}


_NO_USE = frozenset(("RESUME", "NOP", "CACHE", "EXTENDED_ARG"))
