"""Overrides that ask for something else than they were asked for, and hooks that refuse that."""

from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.semconv import Kind
from spanhook.testing import recorder

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


def expect_asked_again(kind: Kind, run: Callable[[], Any]) -> None:
    """Run what asks for tea, and in an override for milk: the hooks are asked about both, and refuse the second."""
    hooks, asked = refusing_milk(kind)
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        run()
    assert asked == [False, True]
