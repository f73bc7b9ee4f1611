"""Objects built on hooks, which can be given wherever hooks can."""

from typing import Protocol

from spanhook.gating.hook import Hook
from spanhook.gating.registering import Hooks


class Offers(Protocol):
    """An object built on hooks, which can be given wherever a ``Hooks`` can."""

    def __spanhook_hooks__(self) -> Hooks | Hook:
        """The hooks to activate; the same object on every call."""
        ...


def hooks_of(given: object) -> Hooks | Hook | None:
    """The hooks to activate: ``given`` itself or what it offers; ``None`` if it is neither hooks nor offers any."""
    if isinstance(given, Hooks | Hook):
        return given
    offer = None if isinstance(given, type) else getattr(given, "__spanhook_hooks__", None)
    offered = offer() if callable(offer) else None
    return offered if isinstance(offered, Hooks | Hook) else None
