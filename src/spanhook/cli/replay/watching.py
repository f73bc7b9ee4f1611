"""Watches hooks for what they read: the decision of a hook that reads what is not recorded is ``unknown``.

The functions of hooks are wrapped before they are given to the chain, which runs them as it always does.
"""

import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from spanhook.cli.replay.content import Extras, NotRecorded, Unrecorded, missed
from spanhook.gating import AFTER, AFTER_NEXT, AROUND, BEFORE, BEFORE_NEXT, WRAP, Auditor, Bound, Plan
from spanhook.model import Operation

Unknown = Callable[[Operation, Bound, str], None]
"""Called with what a hook has read that is not recorded; raises the refusal if the hook refused the operation then."""


def watched(plan: Plan, unknown: Unknown) -> Plan:
    """The plan of a kind with every hook watched, without subscriptions and audit logs, which only write down."""
    known: dict[int, Bound] = {}

    def watch(bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
        return tuple(
            known.setdefault(id(one), _watch(one, unknown)) for one in bounds if not isinstance(one.hook, Auditor)
        )

    return replace(
        plan,
        pre=watch(plan.pre),
        post=watch(plan.post),
        error=watch(plan.error),
        together=watch(plan.together),
        fast=(),
        fast_post=(),
        fast_error=(),
        heard={},
        listeners=(),
    )


@contextmanager
def _noting(op: Operation, found: list[str] | None) -> Generator[None]:
    """Note in ``found`` what the block reads that is not recorded; once there is any, nothing is raised."""
    op._extras = Extras(op._facts)
    token = missed.set(found)
    try:
        yield
    except NotRecorded as error:  # also where the hook has read it in a thread
        if found is None:
            raise
        found.append(error.what)
    except BaseException as error:
        if not found or isinstance(error, KeyboardInterrupt):
            raise
    finally:
        missed.reset(token)


def _watch(bound: Bound, unknown: Unknown) -> Bound:
    """The same hook, watched, with all its filters as one."""
    filtered = replace(
        bound, names=None, models=None, agents=None, tenant_id="", when=_filter(bound, unknown), reads=False
    )
    why = bound.hook._not_replayed
    if why:
        form = _ASKED.get(bound.form, bound.form)
        return replace(filtered, function=_plain(bound, _asking(why), unknown), form=form, slow=False, blocking=False)
    wrap = _generator if bound.form == AROUND else _calling_next if bound.form in _NEXT else _plain
    return replace(filtered, function=wrap(bound, bound.function, unknown))


_NEXT = (WRAP, BEFORE_NEXT, AFTER_NEXT)
_ASKED = {AROUND: BEFORE, WRAP: BEFORE, BEFORE_NEXT: BEFORE, AFTER_NEXT: AFTER}
"""The forms in which a hook that is not run is asked."""


def _asking(why: str) -> Callable[..., Any]:
    """A hook that only says why it is not run."""

    def ask(_op: Operation) -> None:
        found = missed.get()
        if found is not None:
            found.append(why)

    return ask


def _filter(bound: Bound, unknown: Unknown) -> Callable[[Operation], bool] | None:
    """All filters of a hook as one, as they may read what is not recorded."""
    if not bound.selective:
        return None

    def matches(op: Operation) -> bool:
        found: list[str] = []
        matching = False
        with _noting(op, found):
            matching = bound.matches(op._record)
        if found:
            unknown(op, bound, found[0])
            return False
        return matching

    return matches


def _judge(op: Operation, bound: Bound, found: list[str], unknown: Unknown) -> None:
    """Take back what a hook has asked for that could not know."""
    op._take()
    unknown(op, bound, found[0])


def _plain(bound: Bound, function: Callable[..., Any], unknown: Unknown) -> Callable[..., Any]:
    async def awaited(op: Operation, value: Any, found: list[str]) -> Any:
        with _noting(op, found):
            value = await value
        if found:
            _judge(op, bound, found, unknown)
            return None
        return value

    @functools.wraps(function)
    def run(op: Operation) -> Any:
        found: list[str] = []
        value = None
        with _noting(op, found):
            value = function(op)
        if not found and value is not None and hasattr(value, "__await__"):
            return awaited(op, value, found)
        if found:
            _judge(op, bound, found, unknown)
            return None
        return value

    return run


def _generator(bound: Bound, function: Callable[..., Any], unknown: Unknown) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(op: Operation) -> Generator[Any, Any, Any]:
        found: list[str] = []
        generator = cast("Generator[Any, Any, Any]", function(op))
        given: Any = None
        error: BaseException | None = None
        for turn in range(2):
            yielded = None
            try:
                with _noting(op, found):
                    yielded = generator.send(given) if error is None else generator.throw(error)
            except StopIteration as stop:
                return None if turn and type(stop.value) is Unrecorded else stop.value
            if found:
                with _noting(op, found):
                    generator.close()
                _judge(op, bound, found, unknown)
                if turn == 0:
                    yield
                return None
            error = None
            try:
                yield yielded
                given = _handed(op) if bound.reads else None
            except BaseException as thrown:
                error = thrown
        return None

    return run


def _handed(op: Operation) -> Any:
    """What a hook around a call gets as its result."""
    answer = op._record.decided.answer
    return answer if op._record.decided.answered or op._record.decided.replaced else Unrecorded("op.result")


def _calling_next(bound: Bound, function: Callable[..., Any], unknown: Unknown) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(op: Operation, call_next: Callable[[], Any]) -> Any:
        found: list[str] = []
        called = False

        async def go_on() -> Any:
            nonlocal called
            called = True
            with _noting(op, None):
                await call_next()
            return _handed(op)

        value = None
        with _noting(op, found):
            value = await function(op, go_on)
        if found:
            _judge(op, bound, found, unknown)
            if not called:
                await call_next()
            return None
        return None if called and type(value) is Unrecorded else value

    return run
