"""The life of an agent as a ``with`` block: it starts on entry and shuts down on exit."""

import copy
from collections.abc import Awaitable
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from types import TracebackType
from typing import Any, Self

from spanhook.cards._lifecycle import AgentLifecycleContext, LifecycleHooks, load_lifecycle_hooks
from spanhook.cards.card import AgentCard, HookType
from spanhook.concurrency import OwnLoop, block_on, drive, is_cancellation, shielded_for
from spanhook.diagnostics import log
from spanhook.engine import OperationBlock, operation_for
from spanhook.errors import AgentConfigError, ConfigurationError, OperationError, Reject, RunStopped
from spanhook.gating import control
from spanhook.model import asheds, sheds, words
from spanhook.semconv import LIFECYCLE_PHASE, LifecyclePhase

SHUTDOWN_S = 10.0
"""How long a cancelled agent may take to shut down under Trio and AnyIO, which cancel every further await."""

_SAME: Any = object()


def agent_scope(card: AgentCard, *, agent: Any = None, context: Any = None, name: str = "") -> "AgentScope":
    """Create the block in which an agent lives, for ``with`` or ``async with``. It can be entered once.

    The card's ``on_start`` runs on entry, its ``on_shutdown`` on exit, also if the block fails. An agent that did not
    start is not shut down. Each is an operation of the kind ``agent.lifecycle``.

    Args:
        card: The agent's card.
        agent: The agent object that hooks receive; by default the ``AgentScope``.
        context: What the agent runs in; passed to its hooks.
        name: The agent's name; by default the card's.

    Raises:
        ConfigurationError: ``card`` is not an ``AgentCard``, or ``name`` is not text.
    """
    if not isinstance(card, AgentCard):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"agent_scope({card!r}): expected an AgentCard; give it load_card(path)")
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"agent_scope(name={name!r}): expected text")
    return AgentScope(card, agent, context, name or card.name)


class AgentScope:
    """One agent and its block, as created by ``agent_scope``.

    Attributes:
        card: The agent's card.
        name: The agent's name.
        context: What the agent runs in.
        agent: The agent object, or this scope.
    """

    def __init__(self, card: AgentCard, agent: Any, context: Any, name: str) -> None:
        self.card, self.name, self.context = card, name, context
        self.agent: Any = self if agent is None else agent
        self._entries = count()
        self._living: list[bool] = []
        self._hooks = LifecycleHooks()
        self._started = self._shut_down = False
        self._home: OwnLoop | None = None

    def clone(self, *, agent: Any = None, context: Any = _SAME, name: str = "") -> "AgentScope":
        """Create a detached clone: an agent of the same card that starts and shuts down on its own.

        Args:
            agent: The clone's agent object; by default a shallow copy of this one.
            context: What the clone runs in; by default this agent's context.
            name: The clone's name; by default this agent's.

        Raises:
            AgentConfigError: The agent cannot be copied.
        """
        if agent is None and self.agent is not self:
            try:
                agent = copy.copy(self.agent)
            except Exception as error:
                raise AgentConfigError(
                    f"agent {self.name!r} cannot be copied: {type(error).__name__}: {words(error)}; "
                    "give the clone its own: scope.clone(agent=...)"
                ) from error
        return AgentScope(self.card, agent, self.context if context is _SAME else context, name or self.name)

    # ----------------------------------------------------------------- the block

    @sheds
    def __enter__(self) -> Self:
        drive(self._enter(is_async=False))
        return self

    @asheds
    async def __aenter__(self) -> Self:
        await self._enter(is_async=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._check_living()
        drive(self._leave(error, is_async=False))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._check_living()
        await self._leave(error, is_async=True)

    def _check_living(self) -> None:
        """Make sure that an agent is shut down only once, and only after it has started."""
        try:
            self._living.pop()
        except IndexError:
            raise OperationError(f"agent {self.name!r} cannot be shut down: it is not running") from None

    async def _enter(self, *, is_async: bool) -> None:
        if next(self._entries):
            raise OperationError(
                f"agent {self.name!r} has been started before; make another with agent_scope() or scope.clone()"
            )
        try:
            await self._operate("start", is_async=is_async)
        except BaseException as error:
            if self._started:  # and was refused afterwards, or cancelled
                await self._leave(error, is_async=is_async)
            passes = isinstance(error, Reject | AgentConfigError) or control(error) is not None
            if passes or not isinstance(error, Exception):
                raise
            reference = self.card.lifecycle_hooks.get("on_start", "")
            raise AgentConfigError(
                f"agent {self.name!r}: on_start {reference!r} failed: {type(error).__name__}: {words(error)}"
            ) from error
        self._living.append(True)

    async def _leave(self, error: BaseException | None, *, is_async: bool) -> None:
        """Shut down. Failures are logged."""
        shield: AbstractContextManager[Any] = nullcontext()
        if is_async and is_cancellation(error):
            shield = shielded_for(SHUTDOWN_S)
        with shield:
            try:
                await self._operate("shutdown", is_async=is_async)
                self._shut_down = True  # a hook may have answered instead
            except (Exception, RunStopped) as failure:
                self._log(failure)
            finally:
                if not self._shut_down:  # it was refused, but what the agent holds must be released
                    await self._shut_down_unasked(is_async=is_async)
        if getattr(shield, "cancelled_caught", False):
            log.error("spanhook: agent %r did not shut down within %s s of being cancelled", self.name, SHUTDOWN_S)

    async def _shut_down_unasked(self, *, is_async: bool) -> None:
        try:
            if is_async:
                await self._arun("on_shutdown")
            else:
                self._run("on_shutdown")
        except Exception as failure:
            self._log(failure)

    def _log(self, failure: BaseException) -> None:
        reference = self.card.lifecycle_hooks.get("on_shutdown", "")
        if not self._shut_down and isinstance(failure, Reject | RunStopped):
            log.warning(
                "spanhook: agent %r: its shutdown was refused (%s); on_shutdown %r runs anyway",
                self.name,
                words(failure),
                reference,
            )
        else:
            log.error("spanhook: agent %r: on_shutdown %r failed", self.name, reference, exc_info=failure)

    # ----------------------------------------------------------------- one end of its life

    async def _operate(self, phase: LifecyclePhase, *, is_async: bool) -> None:
        hook_type: HookType = "on_start" if phase == "start" else "on_shutdown"
        block = self._block(phase, hook_type)
        if is_async:
            async with block as op:
                await op.acall(self._arun, hook_type)
        else:
            with block as op:
                op.call(self._run, hook_type)

    def _block(self, phase: LifecyclePhase, hook_type: HookType) -> OperationBlock:
        return operation_for(
            "agent.lifecycle",
            self.name,
            verb="" if phase == "start" else "shutdown_agent",
            request={"inputs": {"hook_type": hook_type}},
            attributes={LIFECYCLE_PHASE: phase},
        )

    def _run(self, hook_type: HookType) -> None:
        came = self._call(hook_type)
        if came is not None:
            self._home = block_on(came, self._home)
        self._ran(hook_type)

    async def _arun(self, hook_type: HookType) -> None:
        came = self._call(hook_type)
        if came is not None:
            await came
        self._ran(hook_type)

    def _call(self, hook_type: HookType) -> Awaitable[None] | None:
        """Call the card's hook, and return what remains to be awaited."""
        if hook_type == "on_start":
            self._hooks = load_lifecycle_hooks(self.card)
        else:
            self._shut_down = True
        hook = self._hooks.named(hook_type)
        if hook is None:
            return None
        came = hook(AgentLifecycleContext(self.agent, self.card, self.context, hook_type, self.name))
        return came if isinstance(came, Awaitable) else None

    def _ran(self, hook_type: HookType) -> None:
        if hook_type == "on_start":
            self._started = True
