"""What the wrappers of blocks do: let the library say where in a call its operations open and end."""

from collections.abc import Callable
from functools import partial
from typing import Any

from spanhook.engine import AdmittedRuns, OperationContext, registry
from spanhook.instrument._points import Make, load
from spanhook.instrument._wrapping import Binding
from spanhook.model import Adapter, Args, Block


class Openings:
    """Opens the operations of a block; see ``Opening``."""

    runs = AdmittedRuns()

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @property
    def hooked(self) -> bool:
        return self._kind in registry.plans or self._kind in registry.outer

    def reads_body(self, name: str) -> bool:
        plan = registry.outer.get(self._kind)
        return plan is not None and any(one.names is None or name in one.names for one in plan.bodies)

    def __call__(self, adapter: Adapter, call: Callable[..., Any], instance: Any, args: Args) -> OperationContext:
        return OperationContext(adapter, call, instance, args, {})


def driven(block: Block) -> Make:
    """The wrapper of a function whose operations open and end inside of its call."""
    drive, adapter = partial(load, block.drive), partial(load, block.adapter)

    def make(binding: Binding) -> Callable[..., Any]:
        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if not binding.on:
                return binding.beyond(wrapped, instance)(*args, **kwargs)
            return drive()(Openings(adapter().kind), wrapped, instance, args, kwargs)

        return wrapper

    return make
