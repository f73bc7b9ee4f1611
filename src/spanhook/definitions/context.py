"""The context that middleware receives: one event of one operation, to read and to change.

Some changes apply to the operation: fields of the request are rewritten before the call, and ``result`` answers instead
of the call or replaces its result. Other changes have no effect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from spanhook.gating import HookResult, chain_of
from spanhook.model import REPLACEABLE, Operation, alike, copied


@dataclass(slots=True, kw_only=True)
class HookContext:
    """The context of one event of one operation.

    Attributes:
        event_type: The event, such as ``tool.execute.pre``; the kind alone for middleware around the whole call.
        tenant_id: The operation's tenant; empty if unknown.
        metadata: Shared by the hooks of this operation; the same dict as ``op.state``.
        abort: Set it to refuse the operation.
        abort_reason: The reason, which the caller and the model may see.
        results: What the hooks of this event have done so far.
        result: What the call returned; ``None`` before it. Set it to answer instead of the call, or to replace what it
            returned. Results of agents, steps and writes to memory are read-only.
        duration_ms: The duration of the call in milliseconds; 0 before it.
        operation: The operation, with everything else; ``None`` in a context that you created yourself.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {}
    """Fields that may be rewritten before the call, with their names in ``op.replace``."""

    event_type: str
    tenant_id: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    abort: bool = False
    abort_reason: str = ""
    results: list[HookResult] = field(default_factory=list[HookResult])
    result: Any = None
    duration_ms: float = 0.0
    operation: Operation | None = field(default=None, repr=False, compare=False)
    _given: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False, compare=False)
    _refused: bool = field(default=False, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, op: Operation, event_type: str) -> Self:
        """The context of an operation, for the hook that runs now."""
        context = cls(event_type=event_type, tenant_id=op.identity.tenant_id, metadata=op.state, operation=op)
        context._read(op)
        context._refresh(op)
        return context

    def _read(self, op: Operation) -> None:
        """Read the fields that are specific to the kind."""

    def _refresh(self, op: Operation) -> None:
        """Read again what other hooks or the call may have changed."""
        self._read_request(op)
        record = op._record
        if op.phase != "pre" or record.decided.answered:
            self.result = op.result
            self._read_result(op)
        if op.phase != "pre":
            self.duration_ms = op.duration * 1000
        chain = chain_of(record, op.phase)
        self.results = chain.results if chain is not None else []
        self._refused = record.decided.refused
        if record.decided.refused:
            self.abort, self.abort_reason = True, str(getattr(record.error, "reason", ""))
        self._given = {name: copied(getattr(self, name)) for name in (*self.REQUEST, *self._answers())}

    def _read_request(self, op: Operation) -> None:
        """Read the fields of ``REQUEST``."""

    def _read_result(self, op: Operation) -> None:
        """Read the fields of the result that are specific to the kind."""

    def _answers(self) -> tuple[str, ...]:
        """Fields that are the result, or parts of it."""
        return ("result",)

    def _apply(self, op: Operation) -> None:
        """Apply what the hook has changed since the last time.

        Raises:
            HookError: Operations of this kind do not support the change.
        """
        changed = [name for name, before in self._given.items() if not _same(getattr(self, name), before)]
        asked = {self.REQUEST[name]: getattr(self, name) for name in changed if name in self.REQUEST}
        if asked and op.phase == "pre":
            self._rewrite(op, asked)
        if any(name in self._answers() for name in changed):
            op.respond(self._answer(changed))
        for name in changed:
            self._given[name] = copied(getattr(self, name))

    def _rewrite(self, op: Operation, asked: dict[str, Any]) -> None:
        op.replace(**asked)

    def _answer(self, _changed: Sequence[str]) -> Any:
        return self.result

    @property
    def status_of_abort(self) -> int:
        """The HTTP status of an abort."""
        return 403

    @property
    def can_undo(self) -> bool:
        """Whether the result can still be withheld: not for agents, steps and writes to memory."""
        return self.operation is None or self.operation.phase == "pre" or self.operation.kind in REPLACEABLE


def _same(now: Any, before: Any) -> bool:
    return now is before or alike(now, before)
