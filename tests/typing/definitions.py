"""What authors of middleware and definitions write, for the type checker; never run."""

from typing import Any, assert_type

from pydantic import BaseModel

import spanhook
from spanhook.definitions import (
    CallNext,
    HookContext,
    HookDefinition,
    HookExecutionLog,
    HookRegistry,
    HookResult,
    RegisteredHook,
    RegistryStatistics,
    ToolContext,
    ToolHookContext,
    handler,
    load_definitions,
)


@handler
class Limit:
    class Config(BaseModel):
        amount: int = 50

    def __init__(self, amount: int) -> None:
        self.amount = amount

    async def execute(self, context: ToolHookContext, call_next: CallNext) -> HookContext:
        assert_type(context.arguments, dict[str, Any])
        assert_type(context.tool_context, ToolContext | None)
        assert_type(context.results, list[HookResult])
        return await call_next(context)


class Plain:
    event_type = "tool.execute.post"

    def execute(self, context: ToolHookContext, call_next: CallNext) -> Any:
        return call_next(context)


registry = HookRegistry(allowed=["acme.hooks"], max_per_event=5, concurrent=["agent.invoke.post"])
assert_type(registry.register(Plain(), priority=10), RegisteredHook)
assert_type(registry.register(Limit(50), event_type="tool.execute.pre"), RegisteredHook)
assert_type(registry.get("a"), RegisteredHook | None)
assert_type(registry.registered(enabled=True), list[RegisteredHook])
assert_type(registry.update("a", priority=5), RegisteredHook)
assert_type(registry.deregister("a"), bool)
assert_type(registry.statistics(), RegistryStatistics)
assert_type(registry.logs(), list[HookExecutionLog])
assert_type(load_definitions("hook-definitions"), list[HookDefinition])
spanhook.instrument(registry)

registry.register(object())  # pyright: ignore[reportArgumentType]
HookRegistry(concurrent=5)  # pyright: ignore[reportArgumentType]
