"""Functions of the application that the configuration names as tools and agents, bound as points of libraries are."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from spanhook.diagnostics import log
from spanhook.engine import function_driver
from spanhook.instrument._states import BOUND, WAITING
from spanhook.instrument._wrapping import Binding
from spanhook.model import Args, Kwargs, TableEntry, shed
from spanhook.semconv import Kind


@dataclass(frozen=True, kw_only=True)
class BoundFunction(TableEntry):
    """A function of the application.

    Attributes:
        module: The module to import it from.
        name: Its name there, or ``Class.method``.
        kind: ``tool.execute`` or ``agent.invoke``.
        label: The name of the tool or agent; the function's own unless given.
    """

    kind: Kind
    label: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    def make(self, binding: Binding) -> Callable[..., Any]:
        """The wrapper of the function.

        Raises:
            ConfigurationError: It is no function, or is decorated as an operation.
        """
        drive = function_driver(self.kind, self.label, binding.original)

        def wrapper(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
            try:
                if not binding.on:
                    return binding.beyond(wrapped, instance)(*args, **kwargs)
                return drive(wrapped, instance, args, kwargs)
            except BaseException as error:
                shed(error)
                raise

        return wrapper


def import_bound(entries: Iterable[BoundFunction], states: dict[str, str]) -> dict[str, str]:
    """Import the modules of functions; returns why those that are not bound then are not.

    Args:
        entries: The functions.
        states: The states of their points.
    """
    reasons = dict[str, str]()
    for entry in entries:
        try:
            importlib.import_module(entry.module)
        except (Exception, SystemExit) as error:  # whatever the module does when it is imported
            log.debug("spanhook: %s: %s", entry.module, error)
            reasons[str(entry)] = f"{type(error).__name__}: {error}"
        if states.get(str(entry)) == BOUND:
            reasons.pop(str(entry), None)
        elif states.get(str(entry)) == WAITING:
            reasons.setdefault(str(entry), f"{entry.module} is not imported")
        else:
            reasons[str(entry)] = f"{entry.module} has no function {entry.name}"
    return reasons
