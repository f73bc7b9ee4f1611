"""Ctrl-C at any instruction: what was running ends, nothing stays current, and what comes next is as if nothing was."""

from collections.abc import Iterator

from spanhook import Hooks, Operation, Reject


class Guard:
    """Hooks of every form, which remember what they saw begin and refuse when told to."""

    def __init__(self) -> None:
        self.begun: list[Operation] = []
        self.refuse = False
        self.hooks = Hooks()

        @self.hooks.before("*", priority=1)
        def before(op: Operation) -> None:
            self.begun.append(op)
            if self.refuse:
                raise Reject("no", scope="run")

        @self.hooks.around("*")
        def around(_op: Operation) -> Iterator[None]:
            yield

        @self.hooks.after("*")
        def after(_op: Operation) -> None: ...

        @self.hooks.on_error("*")
        def failed(_op: Operation) -> None: ...
