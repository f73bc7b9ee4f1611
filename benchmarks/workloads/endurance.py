"""Work that is repeated many times, to see whether it leaves anything in memory."""

from contextlib import suppress
from itertools import count
from typing import Any

from benchmarks.workloads import Operation
from benchmarks.workloads.models import PROMPT, Scripted, calc, search


def calls() -> Operation:
    """A model call and a tool call."""
    model = Scripted()

    def operation() -> None:
        model.invoke(PROMPT)
        search.invoke("six times seven")

    return operation


def streams() -> Operation:
    """A stream read to its end; now and then one is dropped or closed half way."""
    model, numbers = Scripted(), count()

    def operation() -> None:
        number, stream = next(numbers), model.stream(PROMPT)
        if number % 4 == 0:
            next(stream)
            del stream
        elif number % 4 == 1:
            next(stream)
            getattr(stream, "close", lambda: None)()
        else:
            for _ in stream:
                pass

    return operation


def failures() -> Operation:
    """A model call that fails, a stream that is cut off, and a tool call that a hook rejects if there is one."""
    broken = Scripted(fails=True)

    def operation() -> None:
        with suppress(ConnectionError):
            broken.invoke(PROMPT)
        with suppress(ConnectionError):
            for _ in broken.stream(PROMPT):
                pass
        with suppress(Exception):
            calc.invoke("6*7")

    return operation


def rejecting() -> Any:
    """Hooks that refuse one of the tools, and every other time the whole run as well."""
    from spanhook import Hooks, Operation, Reject

    hooks, numbers = Hooks(), count()

    @hooks.before("tool.execute", names={calc.name})
    def refuse(op: Operation) -> None:
        raise Reject(f"{op.name} is not allowed", scope="run" if next(numbers) % 2 else "operation")

    return hooks
