"""What the card names: it runs as the agent, or a clone of it, starts and shuts down."""

from typing import Any

from openai import AsyncOpenAI

from spanhook.cards import AgentLifecycleContext


async def start_agent(ctx: AgentLifecycleContext[Any, None]) -> None:
    ctx.agent.client = AsyncOpenAI()
    print(f"{ctx.agent_name} starts on {ctx.config.fields['model']}")


async def stop_agent(ctx: AgentLifecycleContext[Any, None]) -> None:
    await ctx.agent.client.close()
    print(f"{ctx.agent_name} shuts down")
