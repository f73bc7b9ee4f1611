"""Runs that are decided about in one place and executed in another, as servers do; see ``spanhook.model.admission``.

Both are operations without a parent: such a run is nobody's part, whatever request it was asked for in. Where it is
decided about, there is an operation to speak of only if it is refused.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from os.path import expanduser, join
from typing import Any, Literal

from spanhook.concurrency import reaper
from spanhook.diagnostics import log
from spanhook.engine._completion import afinish, interrupted, operate
from spanhook.engine._gates import apasses
from spanhook.engine._own_blocks import elsewhere
from spanhook.engine._pending import await_end
from spanhook.engine.beginning import Beginning, begin, naming, open_span
from spanhook.engine.lifecycle import fail, outcome, registry, settle
from spanhook.gating import Hooks, conclude, is_path, load_hooks
from spanhook.model import (
    Adapter,
    Admission,
    EndDetails,
    HookDecisions,
    Record,
    Shared,
    asheds,
    current,
    make_encodable,
)
from spanhook.telemetry import set_context


class AdmittedRuns:
    """Decides about runs and executes them; see ``Runs``."""

    @property
    def hooked(self) -> bool:
        return "run" in registry.outer

    def in_force(self, spec: str, folder: str) -> bool:
        target, _, name = spec.rpartition(":")
        named = load_hooks(f"{join(folder, expanduser(target))}:{name}" if is_path(target) else spec)
        return registry.has(named) if isinstance(named, Hooks) else id(named) in registry.members

    @asheds
    async def ask(self, adapter: Adapter, instance: Any, known: Mapping[str, str]) -> Admission | None:
        held = current.get()
        current.set(None)
        op = begin(adapter, instance, (), {}, traced=False, alone=True)
        assert type(op) is Record
        op.held = held
        try:
            try:
                if op.plan is None:
                    op.ended = True
                    return None
                op.plan = op.plan.deciding
                current.set(op)
                if await apasses(op):
                    op.ended, op.runner = True, None
                    return _admission(op, known)
                open_span(op, naming(op.adapter, op.attributes), plain=make_encodable(op.attributes))
                await afinish(op)
            finally:
                current.set(held)
        except BaseException as error:
            _broken(op, error)
            raise
        return outcome(op)

    def executing(self, adapter: Adapter, instance: Any, admission: Admission | None) -> "Execution":
        return Execution(adapter, instance, admission)


def _admission(op: Record, known: Mapping[str, str]) -> Admission:
    state: dict[str, Any] = op.shared.state or {}
    run_state: dict[str, Any] = op.__dict__.get("run_state") or {}
    return Admission(
        op.given["run_id"],
        op.given.get("user_id", ""),
        registry.digest,
        state=state,
        run_state=run_state,
        decisions=op.decided.records,
        known=known,
    )


def _broken(op: Record, error: BaseException) -> None:
    """Let the reaper end an operation whose driver was interrupted."""
    if op.ended and op.error is None:
        return
    op.ended = True
    if not op.reported and not op.handed:
        reaper.put((interrupted, op, True, None, error))
        await_end(op)


class Execution:
    """A run that is executed; see ``Executing``."""

    _hand: Callable[[], Any] = int
    __del__: Any = property(attrgetter("_hand"))  # not a Python function, which could be interrupted

    def __init__(self, adapter: Adapter, instance: Any, admission: Admission | None) -> None:
        self._call = adapter, instance, admission
        self._op: Record | None = None

    @asheds
    async def enter(self) -> None:
        op: Any = await operate(self._begin, self._enter, is_async=True)
        if self._op is None:
            outcome(op)

    def _begin(self) -> Beginning:
        adapter, instance, _ = self._call
        held = current.get()
        current.set(None)
        op = begin(adapter, instance, (), {}, alone=True)
        assert type(op) is Record
        op.held = held
        return op

    async def _enter(self, op: Record) -> bool:
        _admit(op, self._call[2])
        if await apasses(op):
            op.called = True
            self._op = op
            reaper.start()
            self._hand = partial(reaper.put, (interrupted, op, True, None, GeneratorExit()))
            return True
        await afinish(op)
        return False

    def leave(
        self,
        result: Any = None,
        error: BaseException | None = None,
        *,
        left: Literal["", "interrupted", "abandoned"] = "",
    ) -> BaseException | None:
        op = self._op
        if op is None:
            return None
        if error is None:
            settle(op, result)
            op.part(EndDetails).left = left
        else:
            fail(op, error)
        conclude(op)
        op.phase, op.status = "pre", ""  # what comes after the call is yet to be run
        return None if op.error is error else op.error

    async def end(self, error: BaseException | None = None) -> None:
        if self._op is not None and error is not None:
            fail(self._op, error)
        await self._end()

    async def hand_back(self) -> None:
        op = self._op
        if op is None:
            return
        if op.runner is not None:
            op.runner.drop()
        ending = op.part(EndDetails)
        op.error, ending.left = None, "interrupted"
        op.published = True  # subscribers hear of the end from whoever goes on with it
        await self._end()

    async def _end(self) -> None:
        op, self._op = self._op, None
        if op is None:
            return
        try:
            try:
                self._hand = int
                await afinish(op)
            finally:
                if not elsewhere(op):
                    _restore(op)
        except BaseException as failure:
            _broken(op, failure)
            raise


def _admit(op: Record, admission: Admission | None) -> None:
    """Take what was decided before for the answer of the gates, if it is about this run."""
    if admission is None or op.plan is None:
        return
    if not admission.binds(op.given.get("run_id", ""), op.given.get("user_id", ""), registry.digest):
        log.warning(
            "spanhook: what was decided about run %s is not for it or these hooks; asked again", op.identity.run_id
        )
        return
    op.plan = op.plan.decided or None
    op.part(Shared).state = dict(admission.state)
    op.__dict__["run_state"] = dict(admission.run_state)
    op.part(HookDecisions).records = admission.decisions


def _restore(op: Record) -> None:
    try:
        set_context(op.before)
    finally:
        current.set(op.held)
