"""Overrides that ask for something else than they were asked for, and hooks that refuse that."""

from spanhook import Hooks, Operation, Reject
from spanhook.semconv import Kind

REFUSED = "no milk"


def refusing_milk(kind: Kind) -> tuple[Hooks, list[bool]]:
    """Hooks that refuse whoever asks for milk, and whether each operation did."""
    hooks, asked = Hooks(), list[bool]()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        given = op.request
        asked.append("milk" in repr((given.messages, given.arguments, given.inputs)))
        if asked[-1]:
            raise Reject(REFUSED)

    return hooks, asked
