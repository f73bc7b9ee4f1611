"""Makes the application a host of the agent-hooks contract: its interceptors decide about agents, models and tools.

The contract's own SDK composes verdicts and makes records; here are the points, and what is done at them. See
https://github.com/responsibleai/agent-hooks.
"""

from spanhook.hooks.agent_hooks._hook import AgentHooks

__all__ = ["AgentHooks"]
