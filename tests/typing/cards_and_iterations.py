"""Agent cards and iterations, used the way users do. Type-checked and never run, so that their types stay."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Awaitable
from typing import Any, assert_type

from spanhook import ConfigurationError, Operation
from spanhook.cards import (
    AgentCard,
    AgentConfigError,
    AgentLifecycleContext,
    AgentScope,
    LifecycleHook,
    agent_scope,
    dump_card,
    load_card,
)
from spanhook.iterations import (
    Frame,
    FrameMemory,
    HookConfig,
    HookContext,
    HookEvent,
    HookResult,
    Iteration,
    IterationHooks,
    MemoryFrames,
    SessionStatistics,
    SQLiteFrames,
)

# ----------------------------------------------------------------------------------------------- cards


class Desk:
    orders: int = 0


async def start(ctx: AgentLifecycleContext[Desk, str]) -> None:
    assert_type(ctx.agent.orders, int)
    assert_type(ctx.context, str | None)
    assert_type(ctx.config, AgentCard)
    assert_type(ctx.agent_name, str)


def stop(ctx: AgentLifecycleContext[Any, None]) -> None:
    assert_type(ctx.has_context, bool)


hooks: list[LifecycleHook] = [start, stop]


async def life() -> None:
    card = load_card("desk.md")
    assert_type(dump_card(card, "copy.yaml"), str)
    async with agent_scope(card, agent=Desk(), context="acme") as scope, scope.clone(name="clone") as clone:
        assert_type(clone, AgentScope)
    with agent_scope(card, name="till") as scope:
        assert_type(scope.card, AgentCard)


def failure(error: AgentConfigError) -> ConfigurationError:
    return error


# ----------------------------------------------------------------------------------------------- iterations


def by_hand(session: str) -> None:
    memory: FrameMemory = SQLiteFrames("frames.db")
    known = IterationHooks(memory, HookConfig(context_frames=5))
    started = known.on_iteration_start(session, 1)
    assert_type(started, HookResult)
    assert_type(started.frames, tuple[Frame, ...])
    assert_type(known.statistics(session), SessionStatistics)


def told(context: HookContext) -> Awaitable[None] | None:
    assert_type(context.event, HookEvent)
    return None


async def turns() -> None:
    known = IterationHooks(MemoryFrames())
    known.register_handler(HookEvent.ERROR, told)
    assert_type(known.unregister_handler(HookEvent.ERROR, told), bool)
    async with known.iteration("s", 0) as turn:
        assert_type(turn, Iteration)
        assert_type(turn.operation, Operation)
        turn.output = "done"
    with known.iteration("s", 1, name="planner"):
        pass
    assert_type(await known.aon_completion("s", summary="done"), HookResult)
