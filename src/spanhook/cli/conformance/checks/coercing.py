"""The check of what frameworks make of arguments after the gate: gates read what the body receives."""

from contextlib import suppress

from spanhook.cli.conformance.checks.cells import NONE, PATIENCE, Cell, Way, Wrong, operations_of
from spanhook.cli.conformance.subject import PLANTED, Body, coercion, settle
from spanhook.errors import Reject
from spanhook.gating import Hooks
from spanhook.model import Operation
from spanhook.testing import recorder


def coerced(way: Way) -> Cell:
    """A gate refuses what the framework makes of an argument, if hooks see that; the state says how they do."""
    if way.subject.kind != "tool.execute":
        return NONE
    hooks, body, seen_by_gate = Hooks(), Body(), list[str]()

    @hooks.before("tool.execute", timeout=PATIENCE, name="refuse")
    def refuse(op: Operation) -> None:
        arguments = repr(op.request.arguments)
        if PLANTED in arguments:
            seen_by_gate.append(arguments)
            raise Reject("no")

    call = way.take(way.subject.make(body))
    coercion.on, coercion.times = True, 0
    try:
        with recorder(hooks) as seen, suppress(Exception):  # a refusal comes out in any form
            settle(call())
    finally:
        coercion.on = False
    received = PLANTED in repr(body.seen)
    if not coercion.times or not (received or seen_by_gate):
        return NONE  # nothing is made of the arguments, or not for the body
    parts = [op._record.adapter.receiving for op in operations_of(way, seen)]
    said = {part.coerced for part in parts if part is not None}
    if received and said:
        raise Wrong("the framework made something else of an argument, and its body received what no gate had seen")
    if received:
        return Cell("as sent")
    return Cell("twice" if said == {"twice"} else "exact")  # or arguments are validated before the gate
