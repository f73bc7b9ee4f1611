"""The check of names that are members of an ``Enum``: filters know them by their characters, which is what is sent."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spanhook.cli.conformance.checks.cells import NONE, OK, PATIENCE, Cell, Way, Wrong, brief, ways_of
from spanhook.cli.conformance.checks.refusing import expect_refused, refuse
from spanhook.cli.conformance.checks.watching import TENANT, unwatched
from spanhook.cli.conformance.renaming import SHOWN, members, renamed
from spanhook.cli.conformance.subject import Body, settle
from spanhook.gating import Hooks
from spanhook.model import Operation, context
from spanhook.testing import Recorder


def named(way: Way) -> Cell:
    """If model, tool, agent and tenant are members of an ``Enum``, hooks for their characters refuse the call."""
    if not way.library:  # of no module that could be loaded with other names
        return NONE
    plain = _Names.of(unwatched(way).operations)
    try:
        twin = _renamed(way, plain)
    except Exception as error:
        raise Wrong(f"its ways of calling cannot be loaded with other names: {brief(repr(error))}") from None
    hooks = Hooks()
    hooks.before(way.subject.kind, timeout=PATIENCE, name="refuse", **plain.filters)(refuse)
    try:
        with context(tenant_id=members([TENANT])[TENANT]):
            seen = expect_refused(twin, hooks)
    except Exception:
        if not _is_taken(twin):
            return NONE
        raise
    _expect_characters(seen)
    return Cell(OK)


@dataclass(frozen=True)
class _Names:
    """What the operations of one way of calling are named, and around them."""

    names: frozenset[str]
    models: frozenset[str]
    agents: frozenset[str]
    tenant: str

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> "_Names":
        found = [*operations]
        tenant = TENANT if all(op.identity.tenant_id == TENANT for op in found) else ""
        return cls(
            frozenset(op.name for op in found),
            frozenset(op.model for op in found),
            frozenset(op.agent for op in found),
            tenant,
        )

    @property
    def every(self) -> frozenset[str]:
        return (self.names | self.models | self.agents) - {""}

    @property
    def filters(self) -> dict[str, Any]:
        """Filters for all of these, as far as there are any."""
        given = {"names": self.names, "models": self.models, "agents": self.agents}
        return {"tenant_id": self.tenant, **{label: one for label, one in given.items() if one - {""}}}


def _renamed(way: Way, plain: _Names) -> Way:
    """The same way of calling, with members of an ``Enum`` for its names."""
    module: Any = renamed(way.library, plain.every)
    subjects = (*module.SUBJECTS, *getattr(module, "MORE", ()))
    subject = next(one for one in subjects if one.name == way.subject.name)
    return next(one for one in ways_of(subject, way.library) if one.name == way.name)


def _is_taken(way: Way) -> bool:
    """Whether the library itself makes a call with such names."""
    body = Body()
    try:
        settle(way.take(way.subject.make(body))())
    except Exception:
        return False
    return body.runs > 0


def _expect_characters(seen: Recorder) -> None:
    for op in seen.operations:
        for name in (op.name, op.model, op.agent, *op.identity[:5]):
            if type(name) is not str or SHOWN.search(name):
                raise Wrong(f"hooks get {brief(repr(name))}, which is not what is sent")
    for span in seen.spans:
        for value in (span.name, *(span.attributes or {}).values()):
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and (type(text) is not str or SHOWN.search(text)):
                    raise Wrong(f"the span {span.name!r} has {brief(repr(text))}, which is not what is sent")
