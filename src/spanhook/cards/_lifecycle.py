"""A card's lifecycle hooks: the functions, and the context that each one receives."""

import inspect
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from spanhook.cards.card import AgentCard, HookType, located
from spanhook.errors import AgentConfigError, ConfigurationError
from spanhook.gating import load_object

A = TypeVar("A")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class AgentLifecycleContext(Generic[A, C]):
    """The argument of a lifecycle hook. Annotate it as ``AgentLifecycleContext[YourAgent, YourContext]``.

    Attributes:
        agent: The agent that starts or shuts down: the object passed to ``agent_scope``, or else the ``AgentScope``.
        config: The agent's card.
        context: What the agent runs in, as passed to ``agent_scope``, or ``None``.
        hook_type: ``"on_start"`` or ``"on_shutdown"``.
        agent_name: The agent's name.
    """

    agent: A
    config: AgentCard
    context: C | None
    hook_type: HookType
    agent_name: str

    @property
    def has_context(self) -> bool:
        """Whether there is a ``context``."""
        return self.context is not None


class LifecycleHook(Protocol):
    """A function that a card refers to; sync or async."""

    def __call__(self, ctx: AgentLifecycleContext[Any, Any], /) -> Awaitable[None] | None: ...


@dataclass(frozen=True, slots=True)
class LifecycleHooks:
    """The functions that one card refers to."""

    on_start: LifecycleHook | None = None
    on_shutdown: LifecycleHook | None = None

    def named(self, hook_type: HookType) -> LifecycleHook | None:
        return self.on_start if hook_type == "on_start" else self.on_shutdown


def load_lifecycle_hooks(card: AgentCard) -> LifecycleHooks:
    """Import the functions that a card refers to. A file is imported once per process.

    Raises:
        AgentConfigError: One cannot be imported, or is not a function that takes one argument.
    """
    return LifecycleHooks(**{key: _load(card, key, reference) for key, reference in card.lifecycle_hooks.items()})


def _load(card: AgentCard, key: str, reference: str) -> LifecycleHook:
    try:
        found = load_object(located(reference, card.folder))
    except ConfigurationError as error:
        raise AgentConfigError(f"agent {card.name!r}: {key}: {error}") from error
    wrong = _wrong_with(found)
    if wrong:
        raise AgentConfigError(
            f"agent {card.name!r}: {key} {reference!r} {wrong}; expected a function (ctx), def or async"
        )
    return found


def _wrong_with(found: Any) -> str:
    if isinstance(found, type) or not callable(found):
        return "is a class" if isinstance(found, type) else f"is {found!r:.80}"
    called: Any = found if inspect.isroutine(found) else getattr(found, "__call__", found)  # noqa: B004
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        return "is a generator"
    try:
        inspect.signature(found).bind(None)
    except TypeError as error:
        return f"cannot be called with a context: {error}"
    except ValueError:  # a function of C that does not say what it takes
        pass
    return ""
